/* A random sequence of kernels (--seed), the same in every iteration, with arguments that change. */
#include "samples/sample.h"

#define COUNT 64

const struct sample sample_defaults = {.name = "mixed_kernels", .iterations = 20, .kernels = 100, .seed = 1};

struct pair {
    unsigned char tag;
    unsigned int factor;
    unsigned long long bias;
};

/* Which kernel comes at place k depends on the seed alone, its argument on the iteration too. */
static unsigned int kind_at(const struct sample *sample, unsigned int k)
{
    uint64_t state = sample->seed * 1000003u + k;
    return (unsigned int)(sample_random(&state) % 5);
}

static unsigned int value_at(unsigned int i, unsigned int k)
{
    return i * 31 + k * 7 + 1;
}

static void on_host(unsigned int *data, unsigned int kind, unsigned int value)
{
    if (kind == 4) {
        host_gaps(data, (unsigned char)value, (unsigned short)(value * 3), value, COUNT);
        return;
    }
    for (unsigned int w = 0; w < COUNT; w++) {
        if (kind == 0)
            data[w] = data[w] * 3u + value;
        else if (kind == 1)
            data[w] = data[w] * (value | 1) + (value + 5) + (unsigned char)value;
        else if (kind == 2)
            data[w] = data[w] * 7u + value;
        else
            data[w] = data[w] * 3u + 1;
    }
}

bool sample_run(struct sample *sample)
{
    static const char *const names[] = {"step", "by_value", "through_shared", "scaled", "gaps"};
    CUfunction kernels[5];
    CUdeviceptr data = sample_buffer(COUNT * sizeof(unsigned int));
    unsigned int expected[COUNT] = {0}, count = COUNT;
    CUstream stream;
    for (int n = 0; n < 5; n++)
        kernels[n] = sample_kernel(sample, names[n]);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    sample_start(sample);
    for (unsigned int i = 0; i < sample->iterations; i++) {
        for (unsigned int k = 0; k < sample->kernels; k++) {
            unsigned int kind = kind_at(sample, k), value = value_at(i, k);
            struct pair pair = {.tag = (unsigned char)value, .factor = value | 1, .bias = value + 5};
            unsigned char small = (unsigned char)value;
            unsigned short middle = (unsigned short)(value * 3);
            double wide = value;
            void *step_args[] = {&data, &value, &count};
            void *pair_args[] = {&pair, &data, &count};
            void *scaled_args[] = {&data, &count};
            void *gaps_args[] = {&small, &data, &middle, &wide, &count};
            void **const args[] = {step_args, pair_args, step_args, scaled_args, gaps_args};
            unsigned int shared = kind == 2 ? COUNT * (unsigned int)sizeof(unsigned int) : 0;
            CHECK(cuLaunchKernel(kernels[kind], 1, 1, 1, COUNT, 1, 1, shared, stream, args[kind], NULL));
            sample->launches++;
        }
    }
    CHECK(cuStreamSynchronize(stream));
    sample_finish(sample);
    for (unsigned int i = 0; i < sample->iterations; i++)
        for (unsigned int k = 0; k < sample->kernels; k++)
            on_host(expected, kind_at(sample, k), value_at(i, k));
    bool ok = sample_compare(sample, data, expected, COUNT);
    CHECK(cuStreamDestroy(stream));
    CHECK(cuMemFree(data));
    return ok;
}
