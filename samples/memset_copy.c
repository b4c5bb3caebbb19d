/* Memsets, device-to-device copies and pinned host-to-device copies between kernels. The pinned source is rewritten
 * only after the copy's event, as it must be: the copy reads it when it runs. */
#include "samples/sample.h"

#include <string.h>

#define COUNT 64
#define BYTES (COUNT * sizeof(unsigned int))

const struct sample sample_defaults = {.name = "memset_copy", .iterations = 50, .kernels = 8};

bool sample_run(struct sample *sample)
{
    CUfunction step = sample_kernel(sample, "step"), mix = sample_kernel(sample, "mix");
    CUdeviceptr a = sample_buffer(BYTES), b = sample_buffer(BYTES);
    unsigned int host_a[COUNT] = {0}, host_b[COUNT] = {0}, count = COUNT;
    unsigned int *pinned;
    CUstream stream;
    CUevent copied;
    CHECK(cuMemHostAlloc((void **)&pinned, 2 * BYTES, 0));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&copied, CU_EVENT_DISABLE_TIMING));
    sample_start(sample);
    for (unsigned int i = 0; i < sample->iterations; i++) {
        unsigned int *source = pinned + (i % 2) * COUNT;
        if (i >= 2)
            CHECK(cuEventSynchronize(copied));
        for (unsigned int w = 0; w < COUNT; w++)
            source[w] = i * 100 + w;
        CHECK(cuMemcpyHtoDAsync(b, source, BYTES / 2, stream));
        CHECK(cuEventRecord(copied, stream));
        CHECK(cuMemsetD32Async(a + BYTES / 2, i, COUNT / 4, stream));
        for (unsigned int k = 0; k < sample->kernels; k++) {
            void *args[] = {&a, &k, &count};
            sample_launch(sample, step, 1, COUNT, stream, args);
        }
        void *mix_args[] = {&b, &a, &i, &count};
        sample_launch(sample, mix, 1, COUNT, stream, mix_args);
        CHECK(cuMemcpyDtoDAsync(a, b + BYTES / 2, BYTES / 2, stream));
        CHECK(cuMemsetD8Async(b, (unsigned char)(i + 1), 16, stream));
        sample->launches += 4;
    }
    CHECK(cuStreamSynchronize(stream));
    sample_finish(sample);
    for (unsigned int i = 0; i < sample->iterations; i++) {
        for (unsigned int w = 0; w < COUNT / 2; w++)
            host_b[w] = i * 100 + w;
        for (unsigned int w = 0; w < COUNT / 4; w++)
            host_a[COUNT / 2 + w] = i;
        for (unsigned int k = 0; k < sample->kernels; k++)
            host_step(host_a, k, COUNT);
        host_mix(host_b, host_a, i, COUNT);
        memcpy(host_a, host_b + COUNT / 2, BYTES / 2);
        memset(host_b, (int)(i + 1) & 0xff, 16);
    }
    bool ok = sample_compare(sample, a, host_a, COUNT);
    ok = sample_compare(sample, b, host_b, COUNT) && ok;
    CHECK(cuEventDestroy(copied));
    CHECK(cuStreamDestroy(stream));
    CHECK(cuMemFreeHost(pinned));
    CHECK(cuMemFree(a));
    CHECK(cuMemFree(b));
    return ok;
}
