"""CuPy: element-wise kernels with pooled temporaries, a kernel of its own, streams, and a capture."""
import common

cp = common.need("cupy")
import hashlib

try:
    cp.cuda.runtime.getDeviceCount()
except cp.cuda.runtime.CUDARuntimeError as error:
    common.skip(f"CuPy sees no GPU: {error}")


def show(name, array):
    print(name, hashlib.sha256(cp.asnumpy(array).tobytes()).hexdigest()[:32])


x, y = cp.linspace(0, 1, 4096, dtype=cp.float32), cp.ones(4096, dtype=cp.float32)
for k in range(200):
    x = cp.sin(x) * y + 0.5
    y = y * 0.999 + x * 0.001
show("ufuncs", x)
turn = cp.RawKernel(
    'extern "C" __global__ void turn(unsigned* x, unsigned a) { x[threadIdx.x] = x[threadIdx.x] * 1664525u + a; }', "turn")
z = cp.arange(256, dtype=cp.uint32)
for k in range(3000):
    turn((1,), (256,), (z, cp.uint32(k % 50)))
show("raw", z)
stream = cp.cuda.Stream(non_blocking=True)
with stream:
    for round_ in range(20):
        for k in range(20):
            turn((1,), (256,), (z, cp.uint32(k)))
        stream.begin_capture()
        for k in range(20):
            turn((1,), (256,), (z, cp.uint32(k)))
        graph = stream.end_capture()
        graph.launch(stream)
stream.synchronize()
show("captured", z)
