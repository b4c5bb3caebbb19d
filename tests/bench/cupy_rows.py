"""cupy_rows.py ROW[,ROW...] [--seconds S] [--graph]: CuPy loops, one line each, as torch_rows.py prints them."""
import sys

import cupy as cp

import loop


def cupy_ufuncs(o):
    """Element-wise kernels with temporaries from the memory pool."""
    state = {"x": cp.linspace(0, 1, 4096, dtype=cp.float32), "y": cp.ones(4096, dtype=cp.float32)}

    def step():
        x, y = state["x"], state["y"]
        for _ in range(10):
            x = cp.sin(x) * y + 0.5
            y = y * 0.999 + x * 0.001
        state["x"], state["y"] = x, y

    return loop.Row(step, lambda: [cp.asnumpy(state["x"])], cp.cuda.Device().synchronize)


def cupy_raw(o):
    """A kernel of the program's own, written into preallocated arrays: a graph can hold it."""
    kernel = cp.RawKernel(
        'extern "C" __global__ void turn(unsigned* x, unsigned a) { x[threadIdx.x] = x[threadIdx.x] * 1664525u + a; }', "turn")
    x = cp.arange(256, dtype=cp.uint32)
    stream = cp.cuda.Stream(non_blocking=True)

    def launches():
        for k in range(100):
            kernel((1,), (256,), (x, cp.uint32(k)))

    def step():
        with stream:
            launches()

    def captured():
        with stream:
            launches()
            stream.begin_capture()
            launches()
            graph = stream.end_capture()
        return lambda: graph.launch(stream)

    return loop.Row(step, lambda: [cp.asnumpy(x)], cp.cuda.Device().synchronize, captured)


if __name__ == "__main__":
    sys.exit(loop.main({"cupy_ufuncs": cupy_ufuncs, "cupy_raw": cupy_raw}, __doc__))
