/* The grid and the element count grow with every iteration, as in decoding with a growing cache. */
#include "samples/sample.h"

#include <stdlib.h>

#define THREADS 32
#define ROOM 4096

const struct sample sample_defaults = {.name = "growing_grid", .iterations = 40, .kernels = 16};

bool sample_run(struct sample *sample)
{
    CUfunction step = sample_kernel(sample, "step");
    CUdeviceptr data = sample_buffer(ROOM * sizeof(unsigned int));
    unsigned int *expected = calloc(ROOM, sizeof(*expected));
    CUstream stream;
    if (!expected)
        return false;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    sample_start(sample);
    for (unsigned int i = 0; i < sample->iterations; i++) {
        unsigned int count = (5 + 3 * i) % ROOM + 1;
        for (unsigned int k = 0; k < sample->kernels; k++) {
            void *args[] = {&data, &k, &count};
            sample_launch(sample, step, (count + THREADS - 1) / THREADS, THREADS, stream, args);
        }
    }
    CHECK(cuStreamSynchronize(stream));
    sample_finish(sample);
    for (unsigned int i = 0; i < sample->iterations; i++)
        for (unsigned int k = 0; k < sample->kernels; k++)
            host_step(expected, k, (5 + 3 * i) % ROOM + 1);
    bool ok = sample_compare(sample, data, expected, ROOM);
    free(expected);
    CHECK(cuStreamDestroy(stream));
    CHECK(cuMemFree(data));
    return ok;
}
