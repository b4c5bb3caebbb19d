/* The normal case: the same kernels in every iteration, other arguments each time; two kernels with different layouts.
 */
#include "samples/sample.h"

#define COUNT 64

const struct sample sample_defaults = {.name = "changing_args", .iterations = 20, .kernels = 100};

bool sample_run(struct sample *sample)
{
    CUfunction step = sample_kernel(sample, "step"), gaps = sample_kernel(sample, "gaps");
    CUdeviceptr data = sample_buffer(COUNT * sizeof(unsigned int));
    unsigned int expected[COUNT] = {0}, count = COUNT;
    CUstream stream;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    sample_start(sample);
    for (unsigned int i = 0; i < sample->iterations; i++) {
        for (unsigned int k = 0; k < sample->kernels; k++) {
            unsigned int value = i * 1000 + k;
            unsigned char small = (unsigned char)(i + k);
            unsigned short middle = (unsigned short)(i * 7);
            double wide = k * 2.0;
            void *step_args[] = {&data, &value, &count};
            void *gaps_args[] = {&small, &data, &middle, &wide, &count};
            sample_launch(sample, k % 3 == 2 ? gaps : step, 1, COUNT, stream, k % 3 == 2 ? gaps_args : step_args);
        }
    }
    CHECK(cuStreamSynchronize(stream));
    sample_finish(sample);
    for (unsigned int i = 0; i < sample->iterations; i++) {
        for (unsigned int k = 0; k < sample->kernels; k++) {
            if (k % 3 == 2)
                host_gaps(expected, (unsigned char)(i + k), (unsigned short)(i * 7), k * 2.0, COUNT);
            else
                host_step(expected, i * 1000 + k, COUNT);
        }
    }
    bool ok = sample_compare(sample, data, expected, COUNT);
    CHECK(cuStreamDestroy(stream));
    CHECK(cuMemFree(data));
    return ok;
}
