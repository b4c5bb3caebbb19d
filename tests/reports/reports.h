/* What the programs of this folder share. Each shows one behaviour that a public report or a review found broken by
 * something that holds launches; it prints what it saw, the same without and with the shim, and ends with 0 when that
 * is right. No state but the variables below. */
#ifndef TESTS_REPORTS_REPORTS_H
#define TESTS_REPORTS_REPORTS_H

#define _GNU_SOURCE
#include <cuda.h>
#include <libgen.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CHECK(call) report_check((call), #call, __LINE__)

static CUdevice device __attribute__((unused));
static CUcontext context __attribute__((unused));
static CUmodule module __attribute__((unused));

static inline void report_check(CUresult result, const char *call, int line)
{
    if (result == CUDA_SUCCESS)
        return;
    fprintf(stderr, "line %d: %s: %d\n", line, call, (int)result);
    _exit(99);
}

/* The image of all kernels, in ../../samples beside this program's folder. */
static inline const char *report_image(void)
{
    static char path[2 * PATH_MAX];
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0)
        _exit(98);
    self[length] = '\0';
    snprintf(path, sizeof path, "%s/../../samples/kernels.ptx", dirname(self));
    return path;
}

static inline void report_open(void)
{
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoad(&module, report_image()));
}

static inline CUfunction report_kernel(CUmodule from, const char *name)
{
    CUfunction function;
    CHECK(cuModuleGetFunction(&function, from, name));
    return function;
}

static inline CUdeviceptr report_memory(size_t bytes)
{
    CUdeviceptr memory;
    CHECK(cuMemAlloc(&memory, bytes));
    CHECK(cuMemsetD8(memory, 0, bytes));
    CHECK(cuCtxSynchronize());
    return memory;
}

/* step: data[i] = data[i] * 3 + value */
static inline CUresult report_step(CUfunction step, CUstream stream, CUdeviceptr data, unsigned value)
{
    unsigned count = 1;
    void *args[] = {&data, &value, &count};
    return cuLaunchKernel(step, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL);
}

static inline unsigned report_word(CUdeviceptr at)
{
    unsigned word;
    CHECK(cuMemcpyDtoH(&word, at, sizeof word));
    return word;
}

/* A further context, which becomes current. */
static inline CUresult report_context(CUcontext *made)
{
#if CUDA_VERSION >= 13000
    return cuCtxCreate(made, NULL, 0, device);
#else
    return cuCtxCreate(made, 0, device);
#endif
}

/* A word that a kernel reads or writes meanwhile. The device is no thread: thread sanitizer is not to look. */
#define REPORT_SHARED __attribute__((no_sanitize("thread"), noinline, unused))

static REPORT_SHARED unsigned report_peek(const volatile unsigned *word)
{
    return *word;
}

static REPORT_SHARED void report_poke(volatile unsigned *word, unsigned value)
{
    *word = value;
}

static inline void report_sleep_ms(unsigned ms)
{
    struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    nanosleep(&pause, NULL);
}

#endif
