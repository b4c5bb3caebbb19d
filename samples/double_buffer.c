/* Ping-pong: two buffers swap their roles after every kernel, as iterative solvers do. */
#include "samples/sample.h"

#define COUNT 64

const struct sample sample_defaults = {.name = "double_buffer", .iterations = 20, .kernels = 101};

bool sample_run(struct sample *sample)
{
    CUfunction mix = sample_kernel(sample, "mix");
    CUdeviceptr from = sample_buffer(COUNT * sizeof(unsigned int)), to = sample_buffer(COUNT * sizeof(unsigned int));
    unsigned int host[2][COUNT] = {{0}}, count = COUNT, source = 0;
    CUstream stream;
    CHECK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    sample_start(sample);
    for (unsigned int i = 0; i < sample->iterations; i++) {
        for (unsigned int k = 0; k < sample->kernels; k++) {
            unsigned int key = 17;
            void *args[] = {&to, &from, &key, &count};
            sample_launch(sample, mix, 1, COUNT, stream, args);
            CUdeviceptr swap = from;
            from = to;
            to = swap;
        }
    }
    CHECK(cuStreamSynchronize(stream));
    sample_finish(sample);
    for (unsigned int n = 0; n < sample->iterations * sample->kernels; n++, source ^= 1)
        host_mix(host[source ^ 1], host[source], 17, COUNT);
    bool ok = sample_compare(sample, from, host[source], COUNT);
    ok = sample_compare(sample, to, host[source ^ 1], COUNT) && ok;
    CHECK(cuStreamDestroy(stream));
    CHECK(cuMemFree(from));
    CHECK(cuMemFree(to));
    return ok;
}
