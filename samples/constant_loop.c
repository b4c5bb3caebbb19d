/* The ideal case: the same hundred tiny kernels with the same arguments in every iteration, one synchronisation at the
 * end. */
#include "samples/sample.h"

#include <stdlib.h>

#define COUNT 64

const struct sample sample_defaults = {.name = "constant_loop", .iterations = 20, .kernels = 100};

bool sample_run(struct sample *sample)
{
    CUfunction step = sample_kernel(sample, "step");
    CUdeviceptr data = sample_buffer(COUNT * sizeof(unsigned int));
    unsigned int expected[COUNT] = {0}, count = COUNT;
    CUstream stream;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    sample_start(sample);
    for (unsigned int i = 0; i < sample->iterations; i++) {
        for (unsigned int k = 0; k < sample->kernels; k++) {
            unsigned int value = k;
            void *args[] = {&data, &value, &count};
            sample_launch(sample, step, 1, COUNT, stream, args);
        }
    }
    CHECK(cuStreamSynchronize(stream));
    sample_finish(sample);
    for (unsigned int i = 0; i < sample->iterations; i++)
        for (unsigned int k = 0; k < sample->kernels; k++)
            host_step(expected, k, COUNT);
    bool ok = sample_compare(sample, data, expected, COUNT);
    CHECK(cuStreamDestroy(stream));
    CHECK(cuMemFree(data));
    return ok;
}
