/* Host and kernel take turns on one word of mapped memory; between launch and answer the host makes no CUDA call, so
 * only a driver (or a shim) that starts work by itself lets this finish. */
#include "samples/sample.h"

#include <stdio.h>
#include <time.h>

#define LIMIT_NS 5000000000ull

const struct sample sample_defaults = {.name = "mapped_poll", .iterations = 100, .kernels = 1};

static bool wait_until(const unsigned int *flag, unsigned int value)
{
    uint64_t start = sample_now_ns();
    while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != value)
        if (sample_now_ns() - start > LIMIT_NS)
            return false;
    return true;
}

bool sample_run(struct sample *sample)
{
    CUfunction turn = sample_kernel(sample, "turn");
    unsigned long long limit = LIMIT_NS;
    unsigned int *flag;
    CUdeviceptr mapped;
    CUstream stream;
    bool ok = true;
    CHECK(cuMemHostAlloc((void **)&flag, sizeof(*flag), CU_MEMHOSTALLOC_DEVICEMAP));
    CHECK(cuMemHostGetDevicePointer(&mapped, flag, 0));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    sample_start(sample);
    for (unsigned int i = 0; i < sample->iterations && ok; i++) {
        __atomic_store_n(flag, 0, __ATOMIC_RELEASE);
        void *args[] = {&mapped, &limit};
        sample_launch(sample, turn, 1, 1, stream, args);
        ok = wait_until(flag, 1);
        __atomic_store_n(flag, 2, __ATOMIC_RELEASE);
        ok = ok && wait_until(flag, 3);
        if (!ok)
            fprintf(stderr, "%s: round %u got stuck\n", sample->name, i);
    }
    CHECK(cuStreamSynchronize(stream));
    sample_finish(sample);
    sample_mix_checksum(sample, flag, sizeof(*flag));
    CHECK(cuStreamDestroy(stream));
    CHECK(cuMemFreeHost(flag));
    return ok;
}
