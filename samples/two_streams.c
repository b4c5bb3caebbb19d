/* Two streams that take turns: each iteration runs kernels in both, ordered by events in both directions. */
#include "samples/sample.h"

#define COUNT 64

const struct sample sample_defaults = {.name = "two_streams", .iterations = 50, .kernels = 16};

bool sample_run(struct sample *sample)
{
    CUfunction mix = sample_kernel(sample, "mix");
    CUdeviceptr buffers[2] = {sample_buffer(COUNT * sizeof(unsigned int)), sample_buffer(COUNT * sizeof(unsigned int))};
    unsigned int host[2][COUNT] = {{0}}, count = COUNT;
    CUstream streams[2];
    CUevent events[2];
    for (int s = 0; s < 2; s++) {
        CHECK(cuStreamCreate(&streams[s], CU_STREAM_NON_BLOCKING));
        CHECK(cuEventCreate(&events[s], CU_EVENT_DISABLE_TIMING));
    }
    sample_start(sample);
    for (unsigned int i = 0; i < sample->iterations; i++) {
        for (int s = 0; s < 2; s++) {
            /* Stream s writes buffer s from the other one, so it must follow all that the other stream did. */
            CHECK(cuStreamWaitEvent(streams[s], events[1 - s], 0));
            for (unsigned int k = 0; k < sample->kernels; k++) {
                unsigned int key = i * 64 + k;
                void *args[] = {&buffers[(s + k) % 2], &buffers[(s + k + 1) % 2], &key, &count};
                sample_launch(sample, mix, 1, COUNT, streams[s], args);
            }
            CHECK(cuEventRecord(events[s], streams[s]));
        }
    }
    CHECK(cuStreamSynchronize(streams[0]));
    CHECK(cuStreamSynchronize(streams[1]));
    sample_finish(sample);
    for (unsigned int i = 0; i < sample->iterations; i++)
        for (unsigned int s = 0; s < 2; s++)
            for (unsigned int k = 0; k < sample->kernels; k++)
                host_mix(host[(s + k) % 2], host[(s + k + 1) % 2], i * 64 + k, COUNT);
    bool ok = sample_compare(sample, buffers[0], host[0], COUNT);
    ok = sample_compare(sample, buffers[1], host[1], COUNT) && ok;
    for (int s = 0; s < 2; s++) {
        CHECK(cuStreamDestroy(streams[s]));
        CHECK(cuEventDestroy(events[s]));
        CHECK(cuMemFree(buffers[s]));
    }
    return ok;
}
