/* Synchronises after every k launches (--every k): how early is held work submitted, and what does it cost? */
#include "samples/sample.h"

#define COUNT 64

const struct sample sample_defaults = {.name = "sync_every", .iterations = 20, .kernels = 100, .every = 20};

bool sample_run(struct sample *sample)
{
    CUfunction step = sample_kernel(sample, "step");
    CUdeviceptr data = sample_buffer(COUNT * sizeof(unsigned int));
    unsigned int expected[COUNT] = {0}, count = COUNT, n = 0;
    CUstream stream;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    sample_start(sample);
    for (unsigned int i = 0; i < sample->iterations; i++) {
        for (unsigned int k = 0; k < sample->kernels; k++) {
            unsigned int value = i + k;
            void *args[] = {&data, &value, &count};
            sample_launch(sample, step, 1, COUNT, stream, args);
            if (++n % sample->every == 0)
                CHECK(cuStreamSynchronize(stream));
        }
    }
    CHECK(cuStreamSynchronize(stream));
    sample_finish(sample);
    for (unsigned int i = 0; i < sample->iterations; i++)
        for (unsigned int k = 0; k < sample->kernels; k++)
            host_step(expected, i + k, COUNT);
    bool ok = sample_compare(sample, data, expected, COUNT);
    CHECK(cuStreamDestroy(stream));
    CHECK(cuMemFree(data));
    return ok;
}
