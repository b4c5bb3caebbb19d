/* What the benchmarks that call the driver themselves share. */
#ifndef TESTS_BENCH_DRIVER_LOOP_H
#define TESTS_BENCH_DRIVER_LOOP_H

#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS_MAX 10000

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        CUresult code_ = (call);                                                                                       \
        if (code_ != CUDA_SUCCESS) {                                                                                   \
            fprintf(stderr, "%s: %d\n", #call, (int)code_);                                                            \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static inline double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static inline int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* A kernel of the image, in the primary context, and a stream for it. */
static inline void open_kernel(const char *image, const char *name, CUfunction *function, CUstream *stream)
{
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoad(&module, image));
    CHECK(cuModuleGetFunction(function, module, name));
    CHECK(cuStreamCreate(stream, CU_STREAM_NON_BLOCKING));
}

#endif
