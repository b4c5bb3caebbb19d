/* Dynamic parallelism: kernels that launch kernels, built as relocatable device code. */
#include "gpu.h"

__global__ static void child(unsigned *state, unsigned a)
{
    state[threadIdx.x] = turn(state[threadIdx.x], a);
}

__global__ static void parent(unsigned *state, unsigned a)
{
    child<<<1, 64>>>(state, a);
    child<<<1, 64>>>(state, a + 1);
}

static int nested(void)
{
    unsigned *state = device_zeros<unsigned>(64);
    OK(cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, 4096));
    for (unsigned k = 0; k < 1000; k++) {
        parent<<<1, 1>>>(state, k % 20);
        child<<<1, 64>>>(state, k % 10);
    }
    print_hash("state", state, 256);
    return 0;
}

/* Counts itself and launches two of its kind into a stream of the device's own, which waits for no other. */
__global__ static void descend(unsigned *count, int depth)
{
    cudaStream_t stream;
    atomicAdd(count, 1);
    if (depth == 0)
        return;
    if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) {
        atomicAdd(count + 1, 1);
        return;
    }
    for (int k = 0; k < 2; k++) {
        descend<<<1, 1, 0, stream>>>(count, depth - 1);
        if (cudaGetLastError() != cudaSuccess)
            atomicAdd(count + 1, 1);
    }
    cudaStreamDestroy(stream);
}

/* All that a kernel launches is over when the device was waited for, also in streams made on the device. */
static int device_streams(void)
{
    enum { BLOCKS = 32, DEPTH = 3, LAUNCHES = 200 };
    unsigned *count = device_zeros<unsigned>(2), now[2];
    unsigned expected = 0;
    int wrong = 0;
    OK(cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, 8192));
    for (int k = 0; k < LAUNCHES; k++) {
        descend<<<BLOCKS, 1>>>(count, DEPTH);
        OK(cudaDeviceSynchronize());
        OK(cudaMemcpy(now, count, sizeof now, cudaMemcpyDeviceToHost));
        expected += BLOCKS * ((2u << DEPTH) - 1);
        wrong += now[0] != expected || now[1] != 0;
    }
    printf("%d launches, %d wrong, counted %u of %u, refused %u\n", LAUNCHES, wrong, now[0], expected, now[1]);
    return wrong != 0;
}

static const struct test tests[] = {
        {"nested", nested},
        {"device_streams", device_streams},
};
TESTS_MAIN(tests)
