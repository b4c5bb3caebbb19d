/* A profiler sees every kernel under its name: attached from the start (loop, with count_kernels.c injected) and later.
 */
#include "gpu.h"
#include <dlfcn.h>
#include <string>

__global__ static void other_step(unsigned *state, unsigned a)
{
    state[threadIdx.x] = turn(state[threadIdx.x], a + 7);
}

static void mixed(unsigned *state, cudaStream_t stream, unsigned launches)
{
    for (unsigned k = 0; k < launches; k++)
        if (k % 5 == 3)
            other_step<<<1, 64, 0, stream>>>(state, k % 10);
        else
            step<<<1, 64, 0, stream>>>(state, k % 20);
}

static int loop(void)
{
    unsigned *state = device_zeros<unsigned>(64);
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    mixed(state, stream, 1000);
    print_hash("state", state, 256);
    return 0;
}

/* The profiler comes in the middle of a loop that has been replayed, goes, and comes again. */
static int halfway(void)
{
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    std::string path(self, length > 0 ? (size_t)length : 0);
    path = path.substr(0, path.rfind('/') + 1) + "libcount_kernels.so";
    if (access(path.c_str(), R_OK)) {
        printf("# libcount_kernels.so is not built\n");
        return SKIP;
    }
    unsigned *state = device_zeros<unsigned>(64);
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    mixed(state, stream, 1000);
    OK(cudaStreamSynchronize(stream));
    void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    int (*begin)(void) = handle ? (int (*)(void))dlsym(handle, "count_begin") : nullptr;
    void (*end)(void) = handle ? (void (*)(void))dlsym(handle, "count_end") : nullptr;
    if (!begin || !end) {
        printf("# %s\n", dlerror());
        return SKIP;
    }
    for (int round = 0; round < 2; round++) {
        printf("attached: %d\n", begin());
        mixed(state, stream, 1000);
        OK(cudaDeviceSynchronize());
        end();
        mixed(state, stream, 500);
        print_hash("state", state, 256);
    }
    return 0;
}

static const struct test tests[] = {{"loop", loop}, {"halfway", halfway}};
TESTS_MAIN(tests)
