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

static const struct test tests[] = {{"nested", nested}};
TESTS_MAIN(tests)
