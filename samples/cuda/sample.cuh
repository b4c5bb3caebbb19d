// What the <<<>>> samples share: options, checks, timing. Same options and output as the driver-API samples.
#pragma once
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        cudaError_t check_result = (call);                                                                             \
        if (check_result != cudaSuccess) {                                                                             \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorName(check_result));        \
            std::exit(1);                                                                                              \
        }                                                                                                              \
    } while (0)

struct Sample {
    const char *name;
    unsigned iterations, kernels, every;
    bool quiet = false, time = false;
    uint64_t checksum = 0xcbf29ce484222325u, launches = 0;
    std::chrono::steady_clock::time_point begin;
    double us_per_launch = 0;

    Sample(const char *name_, unsigned iterations_, unsigned kernels_, unsigned every_, int argc, char **argv)
        : name(name_), iterations(iterations_), kernels(kernels_), every(every_)
    {
        for (int i = 1; i < argc; i++) {
            if (!std::strcmp(argv[i], "--quiet"))
                quiet = true;
            else if (!std::strcmp(argv[i], "--time"))
                time = true;
            else if (i + 1 < argc && !std::strcmp(argv[i], "--iterations"))
                iterations = number(argv[++i]);
            else if (i + 1 < argc && !std::strcmp(argv[i], "--kernels"))
                kernels = number(argv[++i]);
            else if (i + 1 < argc && !std::strcmp(argv[i], "--every"))
                every = number(argv[++i]);
            else
                usage();
        }
        if (!every)
            every = 1;
    }
    [[noreturn]] void usage()
    {
        std::fprintf(stderr, "usage: %s [--iterations N] [--kernels N] [--every N] [--quiet] [--time]\n", name);
        std::exit(2);
    }
    unsigned number(const char *text)
    {
        char *end;
        unsigned long value = std::strtoul(text, &end, 0);
        if (end == text || *end)
            usage();
        return static_cast<unsigned>(value);
    }
    void start()
    {
        CHECK(cudaDeviceSynchronize());
        launches = 0;
        begin = std::chrono::steady_clock::now();
    }
    // Call after the last synchronisation.
    void finish()
    {
        std::chrono::duration<double, std::micro> us = std::chrono::steady_clock::now() - begin;
        us_per_launch = us.count() / static_cast<double>(launches ? launches : 1);
    }
    bool compare(const unsigned *device, const std::vector<unsigned> &expected)
    {
        std::vector<unsigned> got(expected.size());
        CHECK(cudaMemcpy(got.data(), device, got.size() * sizeof(unsigned), cudaMemcpyDeviceToHost));
        const unsigned char *at = reinterpret_cast<const unsigned char *>(got.data());
        for (size_t i = 0; i < got.size() * sizeof(unsigned); i++)
            checksum = (checksum ^ at[i]) * 0x100000001b3u;
        return got == expected;
    }
    int report(bool ok)
    {
        if (ok && !quiet)
            std::printf("%s: ok checksum=%016llx\n", name, static_cast<unsigned long long>(checksum));
        if (!ok)
            std::printf("%s: FAILED checksum=%016llx\n", name, static_cast<unsigned long long>(checksum));
        if (time)
            std::printf("time_us_per_launch=%.3f\n", us_per_launch);
        return ok ? 0 : 1;
    }
};

static unsigned *sample_words(size_t count)
{
    unsigned *words;
    CHECK(cudaMalloc(&words, count * sizeof(unsigned)));
    CHECK(cudaMemset(words, 0, count * sizeof(unsigned)));
    return words;
}

// The arithmetic of samples/kernels.c, for device and host.
static __global__ void step(unsigned *data, unsigned value, unsigned count)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        data[i] = data[i] * 3u + value;
}

static inline void host_step(std::vector<unsigned> &data, unsigned value)
{
    for (unsigned &word : data)
        word = word * 3u + value;
}
