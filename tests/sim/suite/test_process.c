/* Errors that stick, failures on request, fork, exit, lookup, log and report. */
#define _GNU_SOURCE
#include "tests/sim/suite/tap.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The poisoned context is still current, and of use again once it was reset. */
static void recover(CUcontext ctx)
{
    CUcontext now;
    CUdeviceptr p;
    OK(cuCtxGetCurrent(&now));
    EXPECT(now == ctx);
    OK(cuDevicePrimaryCtxReset(0));
    OK(cuDevicePrimaryCtxRetain(&ctx, 0));
    OK(cuCtxSetCurrent(ctx));
    OK(cuMemAlloc(&p, 4));
}

static void sticky(void)
{
    CUcontext ctx = tap_context();
    int code = CUDA_ERROR_ILLEGAL_ADDRESS;
    void *args[] = {&code};
    CUdeviceptr data = tap_words(1), p;
    CUfunction fault = tap_function("fault"), step = tap_function("step");
    unsigned int one = 1;
    void *step_args[] = {&data, &one, &one};
    OK(tap_launch(step, NULL, step_args));
    OK(tap_launch(fault, NULL, args));
    FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
    FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemAlloc(&p, 4));
    FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, tap_launch(step, NULL, step_args));
    FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamQuery(NULL));
    recover(ctx);
}

static void failures_on_request(void)
{
    CUdeviceptr data, p;
    tap_context();
    tap_function("step");
    data = tap_words(1); /* the first allocation */
    FAILS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&p, 4));
    OK(cuMemAlloc(&p, 4));
    OK(tap_step(data, 5, NULL));
    OK(tap_step(data, 5, NULL));
    FAILS(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, tap_step(data, 5, NULL));
    OK(tap_step(data, 5, NULL));
    OK(cuCtxSynchronize());
    EXPECT(tap_word(data) == 65); /* the failed one did nothing */
}

/* A code that sticks does so when it was asked for, unless a poisoned context would not answer it there. */
static void sticky_on_request(void)
{
    CUdeviceptr p;
    CUcontext ctx = tap_context();
    CUdevice device;
    CUstream stream;
    FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxGetDevice(&device));
    OK(cuMemAlloc(&p, 4));
    FAILS(CUDA_ERROR_LAUNCH_FAILED, cuStreamCreate(&stream, 0));
    FAILS(CUDA_ERROR_LAUNCH_FAILED, cuMemAlloc(&p, 4));
    FAILS(CUDA_ERROR_LAUNCH_FAILED, cuCtxSynchronize());
    recover(ctx);
}

static void *call_slow(void *unused)
{
    int version;
    OK(cuDriverGetVersion(&version)); /* the second one */
    return unused;
}

/* The call of one thread takes its time, which those of another do not wait for. */
static void slow_on_request(void)
{
    struct timespec begin, end;
    pthread_t thread;
    int version;
    CUdevice device;
    OK(cuInit(0));
    OK(cuDriverGetVersion(&version));
    clock_gettime(CLOCK_MONOTONIC, &begin);
    EXPECT(pthread_create(&thread, NULL, call_slow, NULL) == 0);
    tap_sleep_ms(50);
    for (int i = 0; i < 100; i++)
        OK(cuDeviceGet(&device, 0));
    EXPECT(pthread_tryjoin_np(thread, NULL) == EBUSY);
    pthread_join(thread, NULL);
    clock_gettime(CLOCK_MONOTONIC, &end);
    EXPECT((end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000 >= 1000);
    OK(cuDriverGetVersion(&version));
}

static void drain_on_request(void)
{
    CUgraph graph;
    CUstream stream;
    tap_context();
    unsigned int *flag = tap_mapped(1);
    CUdeviceptr data = tap_words(1);
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    unsigned int one = 1;
    void *args[] = {&flag, &one};
    OK(tap_launch(tap_function("set_flag"), stream, args));
    OK(cuGraphCreate(&graph, 0)); /* waits for it */
    EXPECT(tap_read(flag) == 1);
    OK(cuMemFree(data));
}

static void forked_child(void)
{
    CUdeviceptr data, p;
    int status = -1;
    tap_context();
    data = tap_words(1);
    unsigned int *flag = tap_mapped(1);
    CUfunction step = tap_function("step");
    unsigned int one = 1;
    void *args[] = {&data, &one, &one};
    OK(tap_wait_for(flag, 1, data, NULL));
    pid_t child = fork();
    if (child == 0) {
        CUresult codes[] = {cuInit(0), cuMemAlloc(&p, 4), tap_launch(step, NULL, args), cuCtxSynchronize()};
        for (int i = 0; i < 4; i++)
            if (codes[i] != CUDA_ERROR_NOT_INITIALIZED)
                _exit(10 + i);
        exit(0); /* exit handlers must neither hang nor crash */
    }
    waitpid(child, &status, 0);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    tap_raise(flag, 1);
    OK(cuCtxSynchronize());
    EXPECT(tap_word(data) == 1);
}

static void late_handler(void)
{
    CUdeviceptr p;
    CUresult code = cuMemAlloc(&p, 4);
    if (code != CUDA_ERROR_DEINITIALIZED)
        _exit(20);
}

/* Pending work at exit is no reason to wait, and later calls are told so. */
static void exit_with_work(void)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        atexit(late_handler); /* registered before the driver's own: runs after it */
        tap_context();
        unsigned int *flag = tap_mapped(1);
        OK(tap_wait_for(flag, 1, tap_words(1), NULL));
        exit(7);
    }
    waitpid(child, &status, 0);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static void before_init(void)
{
    CUdeviceptr p;
    int version = 0, count = 0;
    CUcontext ctx;
    FAILS(CUDA_ERROR_NOT_INITIALIZED, cuMemAlloc(&p, 4));
    FAILS(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&count));
    OK(cuDriverGetVersion(&version));
    EXPECT(version == 12040);
    OK(cuInit(0));
    OK(cuDeviceGetCount(&count));
    EXPECT(count == 2);
    FAILS(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc(&p, 4));
    OK(cuDevicePrimaryCtxRetain(&ctx, 1));
    FAILS(CUDA_ERROR_INVALID_DEVICE, cuDevicePrimaryCtxRetain(&ctx, 2));
}

static void *find(const char *name, int version, cuuint64_t flags)
{
    CUdriverProcAddressQueryResult status;
    void *address = NULL;
    OK(cuGetProcAddress(name, &address, version, flags, &status));
    EXPECT((address != NULL) == (status == CU_GET_PROC_ADDRESS_SUCCESS));
    return address;
}

static void lookup(void)
{
    CUdriverProcAddressQueryResult status;
    void *address = NULL, *plain, *per_thread;
    const char *text = NULL;
    plain = find("cuLaunchKernel", 13000, 0);
    per_thread = find("cuLaunchKernel", 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
    EXPECT(plain && per_thread && plain != per_thread);
    EXPECT(plain == (void *)cuLaunchKernel);
    EXPECT(find("cuMemAlloc", 3020, 0) == (void *)cuMemAlloc);
    EXPECT(find("cuMemAlloc", 2000, 0) != (void *)cuMemAlloc);
    EXPECT(find("cuCtxSynchronize", 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != NULL);
    OK(cuGetProcAddress("cuLaunchKernelEx", &address, 11000, 0, &status));
    EXPECT(!address && status == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    OK(cuGetProcAddress("cuNoSuchThing", &address, 13000, 0, &status));
    EXPECT(!address && status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    FAILS(CUDA_ERROR_NOT_FOUND, cuGetProcAddress("", &address, 13000, 0, NULL));
    OK(cuGetErrorName(CUDA_ERROR_NOT_READY, &text));
    EXPECT(!strcmp(text, "CUDA_ERROR_NOT_READY"));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuGetErrorName((CUresult)54321, &text));
}

/* Reads a whole file; the caller looks for text in it. */
static const char *contents(const char *path)
{
    static char text[65536];
    FILE *file = fopen(path, "r");
    size_t n = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
    text[n] = 0;
    if (file)
        fclose(file);
    return text;
}

/* With a pause all is done before the host asks; the virtual clock must not know. */
static void work(bool pause)
{
    CUdeviceptr data;
    tap_context();
    data = tap_words(1);
    for (unsigned int i = 0; i < 10; i++)
        tap_step(data, i, NULL);
    if (pause)
        tap_sleep_ms(50);
    cuCtxSynchronize();
}

/* The report and the virtual clock are the same in every run and under every schedule. */
static void report_and_log(void)
{
    char first[8192] = "", setting[200], report[64], log[64];
    static const char *const schedules[] = {"eager", "lazy", "random"};
    snprintf(report, sizeof(report), "/tmp/sim-report-%d", (int)getpid());
    snprintf(log, sizeof(log), "/tmp/sim-log-%d", (int)getpid());
    for (int i = 0; i < 3; i++) {
        int status;
        unlink(report);
        unlink(log);
        snprintf(setting, sizeof(setting), "schedule=%s,report=%s,log=%s", schedules[i], report, log);
        pid_t child = fork();
        if (child == 0) {
            setenv("AUTOGRAPH_SIM", setting, 1);
            work(i == 0);
            exit(0);
        }
        waitpid(child, &status, 0);
        const char *text = contents(report);
        EXPECT(strstr(text, "\"launches\":10,") && strstr(text, "\"cuLaunchKernel\":10"));
        if (!i)
            snprintf(first, sizeof(first), "%s", text);
        EXPECT(!strcmp(first, text));
        text = contents(log);
        EXPECT(strstr(text, "call cuLaunchKernel ") && strstr(text, "exec op=") && strstr(text, " step"));
    }
    unlink(report);
    unlink(log);
}

static const struct tap_case cases[] = {
        {"a fault poisons the context until it is reset", NULL, sticky},
        {"calls fail on request", "fail=cuMemAlloc:2:2;cuLaunchKernel:3:701", failures_on_request},
        {"codes that stick on request", "fail=cuCtxGetDevice:1:700;cuStreamCreate:1:719", sticky_on_request},
        {"calls drain the device on request", "schedule=lazy,idle_ms=5000,drain=cuGraphCreate", drain_on_request},
        {"calls are slow on request", "slow=cuDriverGetVersion:2:1000000", slow_on_request},
        {"a forked child is told that the driver is not initialised", NULL, forked_child},
        {"exit with pending work", NULL, exit_with_work},
        {"before and after cuInit", "driver=12040,devices=2", before_init},
        {"functions are found by name, version and flags", "schedule=eager", lookup},
        {"log and report", "schedule=eager", report_and_log},
};
TAP_MAIN(cases)
