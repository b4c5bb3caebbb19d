/* See sample.h. */
#define _GNU_SOURCE
#include "samples/sample.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void sample_check(CUresult result, const char *call, const char *file, int line)
{
    const char *name = NULL;
    if (result == CUDA_SUCCESS)
        return;
    cuGetErrorName(result, &name);
    fprintf(stderr, "%s:%d: %s: %s (%d)\n", file, line, call, name ? name : "unknown error", (int)result);
    exit(1);
}

uint64_t sample_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t sample_random(uint64_t *state)
{
    uint64_t x = (*state += 0x9e3779b97f4a7c15u);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

CUfunction sample_kernel(struct sample *sample, const char *name)
{
    CUfunction kernel;
    CHECK(cuModuleGetFunction(&kernel, sample->module, name));
    return kernel;
}

CUdeviceptr sample_buffer(size_t bytes)
{
    CUdeviceptr buffer;
    CHECK(cuMemAlloc(&buffer, bytes));
    CHECK(cuMemsetD8(buffer, 0, bytes));
    return buffer;
}

void sample_launch(struct sample *sample, CUfunction kernel, unsigned int blocks, unsigned int threads, CUstream stream,
                   void **args)
{
    CHECK(cuLaunchKernel(kernel, blocks, 1, 1, threads, 1, 1, 0, stream, args, NULL));
    sample->launches++;
}

void sample_start(struct sample *sample)
{
    CHECK(cuCtxSynchronize());
    sample->launches = 0;
    sample->start_ns = sample_now_ns();
}

void sample_finish(struct sample *sample)
{
    double us = (double)(sample_now_ns() - sample->start_ns) / 1000;
    sample->us_per_launch = us / (double)(sample->launches ? sample->launches : 1);
}

void sample_mix_checksum(struct sample *sample, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        sample->checksum = (sample->checksum ^ at[i]) * 0x100000001b3u;
}

bool sample_compare(struct sample *sample, CUdeviceptr buffer, const unsigned int *expected, size_t count)
{
    unsigned int *got = calloc(count, sizeof(*got));
    bool same = got != NULL;
    if (got) {
        CHECK(cuMemcpyDtoH(got, buffer, count * sizeof(*got)));
        sample_mix_checksum(sample, got, count * sizeof(*got));
        for (size_t i = 0; i < count && same; i++) {
            same = got[i] == expected[i];
            if (!same && !sample->quiet)
                fprintf(stderr, "%s: word %zu is %#x, not %#x\n", sample->name, i, got[i], expected[i]);
        }
    }
    free(got);
    return same;
}

void host_step(unsigned int *data, unsigned int value, size_t count)
{
    for (size_t i = 0; i < count; i++)
        data[i] = data[i] * 3u + value;
}

void host_mix(unsigned int *out, const unsigned int *in, unsigned int key, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (in[i] ^ key) * 2654435761u + in[(i + 1) % count];
}

void host_gaps(unsigned int *data, unsigned char small, unsigned short middle, double wide, size_t count)
{
    for (size_t i = 0; i < count; i++)
        data[i] = data[i] * 5u + small + 256u * middle + (unsigned int)wide;
}

/* ---- set-up ---- */
static void usage(FILE *to, const char *name)
{
    fprintf(to, "usage: %s [--iterations N] [--kernels N] [--every N] [--seed N] [--quiet] [--time]\n", name);
}

static unsigned long number(const char *name, const char *text)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 0);
    if (errno || end == text || *end || value > UINT_MAX) {
        usage(stderr, name);
        exit(2);
    }
    return value;
}

static void read_options(struct sample *sample, int argc, char **argv)
{
    static const struct option options[] = {
            {"iterations", required_argument, NULL, 'i'},
            {"kernels", required_argument, NULL, 'k'},
            {"every", required_argument, NULL, 'e'},
            {"seed", required_argument, NULL, 's'},
            {"quiet", no_argument, NULL, 'q'},
            {"time", no_argument, NULL, 't'},
            {"help", no_argument, NULL, 'h'},
            {NULL, 0, NULL, 0},
    };
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == 'i')
            sample->iterations = (unsigned int)number(sample->name, optarg);
        else if (option == 'k')
            sample->kernels = (unsigned int)number(sample->name, optarg);
        else if (option == 'e')
            sample->every = (unsigned int)number(sample->name, optarg);
        else if (option == 's')
            sample->seed = number(sample->name, optarg);
        else if (option == 'q')
            sample->quiet = true;
        else if (option == 't')
            sample->time = true;
        else {
            usage(option == 'h' ? stdout : stderr, sample->name);
            exit(option == 'h' ? 0 : 2);
        }
    }
    if (!sample->every)
        sample->every = 1;
}

static void load_module(struct sample *sample)
{
    char path[PATH_MAX + 16];
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
    char *slash = length > 0 ? (path[length] = 0, strrchr(path, '/')) : NULL;
    if (!slash) {
        fprintf(stderr, "%s: cannot find its own folder\n", sample->name);
        exit(1);
    }
    strcpy(slash, "/kernels.ptx");
    CHECK(cuModuleLoad(&sample->module, path));
}

int main(int argc, char **argv)
{
    struct sample sample = sample_defaults;
    CUdevice device;
    sample.checksum = 0xcbf29ce484222325u;
    read_options(&sample, argc, argv);
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&sample.context, device));
    CHECK(cuCtxSetCurrent(sample.context));
    load_module(&sample);
    bool ok = sample_run(&sample);
    CHECK(cuModuleUnload(sample.module));
    CHECK(cuDevicePrimaryCtxRelease(device));
    if (ok && !sample.quiet)
        printf("%s: ok checksum=%016llx\n", sample.name, (unsigned long long)sample.checksum);
    if (!ok)
        printf("%s: FAILED checksum=%016llx\n", sample.name, (unsigned long long)sample.checksum);
    if (sample.time)
        printf("time_us_per_launch=%.3f\n", sample.us_per_launch);
    return ok ? 0 : 1;
}
