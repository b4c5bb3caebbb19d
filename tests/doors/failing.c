/* Everything that the shim can hold, in loops that repeat, for runs in which calls of the shim's own are made to fail
 * (the simulator's `fail` setting). None of those functions is called here. Prints each code that is not success, and
 * the results. The first code that a context does not recover from ends that: it must be every later call's, and the
 * context must be of use again once it was reset. With FAULT=CODE in the environment a kernel causes it. */
#define _GNU_SOURCE
#include <cuda.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WORDS 64u
#define BYTES (WORDS * sizeof(unsigned))

static unsigned refused;
static CUcontext context;
static CUfunction step, gaps, mix;
static CUkernel kernel;

static CUstream latest; /* where such a launch is known */

static CUresult launch_step(CUfunction f, CUdeviceptr data, unsigned value)
{
    unsigned count = WORDS;
    void *arguments[] = {&data, &value, &count};
    return cuLaunchKernel(f, 1, 1, 1, WORDS, 1, 1, 0, latest, arguments, NULL);
}

/* After a code that stays. Ends the process. */
static _Noreturn void aftermath(CUresult code)
{
    CUcontext now;
    CUdeviceptr data = 0;
    CUevent event;
    CUmodule module;
    CUfunction again;
    unsigned unlike = 0, failed = 0, expected = 0, word = 1;
    for (unsigned i = 0; i < 3; i++) {
        unlike += launch_step(step, data, i) != code;
        unlike += cuMemsetD32Async(data, i, 1, latest) != code;
        unlike += cuMemAlloc(&data, 4) != code;
        unlike += cuEventCreate(&event, 0) != code;
        unlike += cuStreamSynchronize(NULL) != code;
        unlike += cuCtxSynchronize() != code;
    }
    failed += cuCtxGetCurrent(&now) != CUDA_SUCCESS;
    if (now != context)
        failed += cuCtxDestroy(now) != CUDA_SUCCESS;
    failed += cuDevicePrimaryCtxReset(0) != CUDA_SUCCESS;
    failed += cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS;
    failed += cuCtxSetCurrent(context) != CUDA_SUCCESS;
    failed += cuModuleLoad(&module, getenv("KERNELS")) != CUDA_SUCCESS;
    failed += cuModuleGetFunction(&again, module, "step") != CUDA_SUCCESS;
    failed += cuMemAlloc(&data, BYTES) != CUDA_SUCCESS;
    failed += cuMemsetD32(data, 0, WORDS) != CUDA_SUCCESS;
    latest = NULL;
    for (unsigned i = 0; i < 100; i++) {
        failed += launch_step(again, data, i) != CUDA_SUCCESS;
        expected = expected * 3 + i;
    }
    failed += cuMemcpyDtoH(&word, data, 4) != CUDA_SUCCESS;
    printf("code %d stays: %u calls say something else; after a reset %u failed, sum %s\n", (int)code, unlike, failed,
           word == expected ? "right" : "WRONG");
    exit(0);
}

static void note(CUresult code, const char *call)
{
    if (code == CUDA_SUCCESS)
        return;
    if (code == CUDA_ERROR_ILLEGAL_ADDRESS || code == CUDA_ERROR_ASSERT || code == CUDA_ERROR_MISALIGNED_ADDRESS ||
        code == CUDA_ERROR_LAUNCH_FAILED)
        aftermath(code);
    printf("%s: code %d\n", call, (int)code);
    if (++refused > 100)
        exit(1);
}
#define DO(call) note((call), #call)

static CUdeviceptr memory(void)
{
    CUdeviceptr p = 0;
    DO(cuMemAlloc(&p, BYTES));
    DO(cuMemsetD8(p, 1, BYTES));
    return p;
}

static void launch(CUfunction f, CUstream stream, CUdeviceptr data, unsigned value)
{
    unsigned count = WORDS;
    void *arguments[] = {&data, &value, &count};
    latest = stream;
    DO(cuLaunchKernel(f, 1, 1, 1, WORDS, 1, 1, 0, stream, arguments, NULL));
}

/* May begin before its predecessor ends. */
static void overlap(CUstream stream, CUdeviceptr data, unsigned value)
{
    unsigned count = WORDS;
    void *arguments[] = {&data, &value, &count};
    CUlaunchAttribute attribute;
    memset(&attribute, 0, sizeof attribute);
    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmaticStreamSerializationAllowed = 1;
    CUlaunchConfig config = {.gridDimX = 1,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = WORDS,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .hStream = stream,
                             .attrs = &attribute,
                             .numAttrs = 1};
    DO(cuLaunchKernelEx(&config, step, arguments, NULL));
}

static void print(const char *name, CUdeviceptr data)
{
    unsigned words[WORDS], hash = 2166136261u;
    DO(cuMemcpyDtoH(words, data, sizeof words));
    for (unsigned i = 0; i < WORDS; i++)
        hash = (hash ^ words[i]) * 16777619u;
    printf("%s: %08x\n", name, hash);
}

static void round_of(CUstream stream, CUdeviceptr a, CUdeviceptr b, const unsigned *pinned, unsigned i)
{
    unsigned key = i * 7, count = WORDS;
    unsigned char small = (unsigned char)i;
    unsigned short middle = (unsigned short)(i * 3);
    double wide = i * 2.5;
    void *mixed[] = {&b, &a, &key, &count}, *gapped[] = {&small, &b, &middle, &wide, &count};
    launch(step, stream, a, i);
    DO(cuLaunchKernel(mix, 1, 1, 1, WORDS, 1, 1, 0, stream, mixed, NULL));
    overlap(stream, b, i + 1);
    DO(cuMemcpyDtoDAsync(a, b, BYTES / 2, stream));
    launch((CUfunction)(void *)kernel, stream, a, i + 2);
    DO(cuMemsetD32Async(b, i, 5, stream));
    DO(cuMemcpyHtoDAsync(b + 64, pinned + i % 8, 32, stream));
    DO(cuLaunchKernel(gaps, 1, 1, 1, WORDS, 1, 1, 0, stream, gapped, NULL));
    DO(cuMemsetD8Async(a + 4, (unsigned char)i, 3, stream));
}

/* Work that is held while the program only looks at memory: the watchdog submits it. */
static void poll_memory(CUstream stream, CUmodule module)
{
    CUfunction set;
    CUdeviceptr device;
    unsigned *flag;
    DO(cuModuleGetFunction(&set, module, "set_flag"));
    DO(cuMemHostAlloc((void **)&flag, sizeof *flag, CU_MEMHOSTALLOC_DEVICEMAP));
    DO(cuMemHostGetDevicePointer(&device, flag, 0));
    *flag = 0;
    for (unsigned i = 1; i < 12; i++) {
        void *arguments[] = {&device, &i};
        DO(cuLaunchKernel(set, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
        for (unsigned k = 0; k < 5000 && __atomic_load_n(flag, __ATOMIC_ACQUIRE) != i; k++)
            nanosleep(&(struct timespec){0, 1000000}, NULL);
        if (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != i) {
            printf("flag %u never came\n", i);
            break;
        }
    }
    printf("flag: %u\n", *flag);
}

/* Another thread, in the same context, waits for this stream's work with its own. */
static void *elsewhere(void *argument)
{
    void **all = argument;
    DO(cuCtxSetCurrent(all[0]));
    DO(cuStreamWaitEvent(all[1], all[2], 0));
    launch(step, all[1], (CUdeviceptr)(uintptr_t)all[3], 5);
    DO(cuStreamSynchronize(all[1]));
    return NULL;
}

int main(void)
{
    CUcontext second;
    CUdevice device;
    CUmodule module, other_module;
    CUlibrary library;
    CUstream streams[3];
    CUevent event;
    unsigned *pinned;
    const char *kernels = getenv("KERNELS");
    setvbuf(stdout, NULL, _IOLBF, 0);
    DO(cuInit(0));
    DO(cuDeviceGet(&device, 0));
    DO(cuDevicePrimaryCtxRetain(&context, device));
    DO(cuCtxSetCurrent(context));
    DO(cuModuleLoad(&module, kernels));
    DO(cuLibraryLoadFromFile(&library, kernels, NULL, NULL, 0, NULL, NULL, 0));
    DO(cuLibraryGetKernel(&kernel, library, "step"));
    DO(cuModuleGetFunction(&step, module, "step"));
    DO(cuModuleGetFunction(&gaps, module, "gaps"));
    DO(cuModuleGetFunction(&mix, module, "mix"));
    DO(cuStreamCreate(&streams[0], CU_STREAM_NON_BLOCKING));
    DO(cuStreamCreateWithPriority(&streams[1], CU_STREAM_NON_BLOCKING, -1));
    streams[2] = NULL;
    DO(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    DO(cuMemHostAlloc((void **)&pinned, 256, 0));
    for (unsigned i = 0; i < 64; i++)
        pinned[i] = i * 12345u;
    if (getenv("FAULT") != NULL) {
        CUfunction fault;
        int code = atoi(getenv("FAULT"));
        void *arguments[] = {&code};
        DO(cuModuleGetFunction(&fault, module, "fault"));
        DO(cuLaunchKernel(fault, 1, 1, 1, 1, 1, 1, 0, streams[0], arguments, NULL));
        DO(cuStreamSynchronize(streams[0]));
    }
    for (unsigned s = 0; s < 3; s++) {
        CUdeviceptr a = memory(), b = memory();
        DO(cuCtxSynchronize());
        for (unsigned i = 0; i < 14; i++) {
            round_of(streams[s], a, b, pinned, i);
            if (i % 3 == 2)
                DO(cuStreamSynchronize(streams[s]));
        }
        DO(cuStreamSynchronize(streams[s]));
        print("first", a);
        print("second", b);
        DO(cuMemFree(a));
        DO(cuMemFree(b));
    }
    poll_memory(streams[0], module);

    /* work of one stream, awaited by another thread */
    CUdeviceptr shared = memory();
    DO(cuCtxSynchronize());
    for (unsigned i = 0; i < 10; i++) {
        pthread_t thread;
        void *all[] = {context, streams[1], event, (void *)(uintptr_t)shared};
        for (unsigned k = 0; k < 5; k++)
            launch(step, streams[0], shared, i + k);
        DO(cuEventRecord(event, streams[0]));
        pthread_create(&thread, NULL, elsewhere, all);
        pthread_join(thread, NULL);
    }
    print("shared", shared);

    /* held in one context, and then the other one is current */
#if CUDA_VERSION >= 13000
    DO(cuCtxCreate(&second, NULL, 0, device));
#else
    DO(cuCtxCreate(&second, 0, device));
#endif
    CUdeviceptr there = memory();
    CUfunction there_step;
    DO(cuModuleLoad(&other_module, kernels));
    DO(cuModuleGetFunction(&there_step, other_module, "step"));
    DO(cuCtxSynchronize());
    for (unsigned i = 0; i < 10; i++) {
        DO(cuCtxSetCurrent(context));
        for (unsigned k = 0; k < 5; k++)
            launch(step, streams[0], shared, i + k);
        DO(cuCtxSetCurrent(second));
        for (unsigned k = 0; k < 3; k++)
            launch(there_step, NULL, there, i + k);
        DO(cuMemFree(memory()));
    }
    print("there", there);
    DO(cuCtxSetCurrent(context));
    DO(cuStreamSynchronize(streams[0]));
    print("here", shared);
    DO(cuCtxDestroy(second));
    DO(cuModuleUnload(module));
    DO(cuLibraryUnload(library));
    DO(cuStreamDestroy(streams[0]));
    DO(cuDevicePrimaryCtxRelease(device));
    return refused != 0;
}
