/* Host floor: what a program would take if its launches cost nothing. For the benchmark alone; results are wrong by
 * design.
 *
 * Preload it. Between floor_skip(1) and floor_skip(0), or after FLOOR_SKIP_AFTER launches, kernel launches, memsets and
 * device-to-device copies return success without reaching the driver. All else goes through.
 *
 * With FLOOR_ALTERNATE_MS they are skipped in every other span of so many milliseconds only, and FLOOR_SPANS names a
 * file for [skipped, begin_us, us, launches] of each span, as the shim has it in its statistics for spans of its own.
 *
 * One library is both the preload and what dlopen("libcuda.so.1") gives: it needs libcuda.so.1, so dlsym on its handle
 * finds the names below first and the driver's own after them.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

static atomic_long seen;
static long skip_after = -1;
static atomic_int skipping, capturing, passing;
static long alternate_ms;
static char own_path[4096];
static void *(*next_dlopen)(const char *, int);

EXPORT void floor_skip(int on);

static long long now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

static void pause_ms(double ms)
{
    struct timespec t = {.tv_sec = (long)(ms / 1e3), .tv_nsec = (long)(ms * 1e6) % 1000000000};
    nanosleep(&t, NULL);
}

/* Each span is counted after its first quarter. */
static void *alternate(void *file)
{
    for (;; atomic_fetch_xor(&passing, 1)) {
        pause_ms(alternate_ms * 0.25);
        long before = atomic_load(&seen);
        long long begin = now_us();
        pause_ms(alternate_ms * 0.75);
        fprintf(file, "[%d,%lld,%lld,%ld]\n", atomic_load(&skipping) && !atomic_load(&passing), begin, now_us() - begin,
                atomic_load(&seen) - before);
        fflush(file);
    }
    return NULL;
}

__attribute__((constructor)) static void floor_start(void)
{
    Dl_info info;
    const char *text = getenv("FLOOR_SKIP_AFTER");
    if (text)
        skip_after = strtol(text, NULL, 10);
    if (dladdr((void *)floor_skip, &info) && info.dli_fname)
        strncpy(own_path, info.dli_fname, sizeof own_path - 1);
    const char *spans = getenv("FLOOR_SPANS");
    text = getenv("FLOOR_ALTERNATE_MS");
    FILE *file = text && spans ? fopen(spans, "we") : NULL;
    pthread_t thread;
    if (file) {
        alternate_ms = strtol(text, NULL, 10);
        pthread_create(&thread, NULL, alternate, file);
    }
    next_dlopen = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
}

void floor_skip(int on)
{
    atomic_store(&skipping, on);
}

/* Says whether this launch is left out. */
static int skip(void)
{
    if (atomic_load_explicit(&capturing, memory_order_relaxed))
        return 0;
    if (alternate_ms > 0) {
        atomic_fetch_add_explicit(&seen, 1, memory_order_relaxed);
        return atomic_load_explicit(&skipping, memory_order_relaxed) &&
               !atomic_load_explicit(&passing, memory_order_relaxed);
    }
    if (atomic_load_explicit(&skipping, memory_order_relaxed))
        return 1;
    return skip_after >= 0 && atomic_fetch_add_explicit(&seen, 1, memory_order_relaxed) >= skip_after;
}

/* name, whether it is skipped, parameters, arguments. Both spellings of stream 0 are listed. */
#define SKIPPED(X)                                                                                                     \
    X(cuLaunchKernel,                                                                                                  \
      (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,    \
       CUstream s, void **parameters, void **extra),                                                                   \
      (f, gx, gy, gz, bx, by, bz, shared, s, parameters, extra))                                                       \
    X(cuLaunchKernelEx, (const CUlaunchConfig *config, CUfunction f, void **parameters, void **extra),                 \
      (config, f, parameters, extra))                                                                                  \
    X(cuMemsetD8Async, (CUdeviceptr d, unsigned char v, size_t n, CUstream s), (d, v, n, s))                           \
    X(cuMemsetD16Async, (CUdeviceptr d, unsigned short v, size_t n, CUstream s), (d, v, n, s))                         \
    X(cuMemsetD32Async, (CUdeviceptr d, unsigned v, size_t n, CUstream s), (d, v, n, s))                               \
    X(cuMemsetD2D8Async, (CUdeviceptr d, size_t pitch, unsigned char v, size_t w, size_t h, CUstream s),               \
      (d, pitch, v, w, h, s))                                                                                          \
    X(cuMemsetD2D16Async, (CUdeviceptr d, size_t pitch, unsigned short v, size_t w, size_t h, CUstream s),             \
      (d, pitch, v, w, h, s))                                                                                          \
    X(cuMemsetD2D32Async, (CUdeviceptr d, size_t pitch, unsigned v, size_t w, size_t h, CUstream s),                   \
      (d, pitch, v, w, h, s))                                                                                          \
    X(cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s), (to, from, n, s))

#define CAPTURES(X)                                                                                                    \
    X(cuStreamBeginCapture_v2, 1, (CUstream s, CUstreamCaptureMode mode), (s, mode))                                   \
    X(cuStreamEndCapture, -1, (CUstream s, CUgraph * graph), (s, graph))

#undef cuLaunchKernel
#undef cuLaunchKernelEx
#undef cuMemsetD8Async
#undef cuMemsetD16Async
#undef cuMemsetD32Async
#undef cuMemsetD2D8Async
#undef cuMemsetD2D16Async
#undef cuMemsetD2D32Async
#undef cuMemcpyDtoDAsync
#undef cuStreamBeginCapture
#undef cuStreamEndCapture
#undef cuGetProcAddress

#define REAL(name, ...)                                                                                                \
    static CUresult(*real_##name) __VA_ARGS__;                                                                         \
    EXPORT CUresult name __VA_ARGS__;
#define FIND(name)                                                                                                     \
    if (!real_##name)                                                                                                  \
        *(void **)&real_##name = dlsym(RTLD_NEXT, #name);                                                              \
    if (!real_##name)                                                                                                  \
        return CUDA_ERROR_NOT_FOUND;

#define SKIP_ONE(name, parameters, arguments)                                                                          \
    REAL(name, parameters)                                                                                             \
    CUresult name parameters                                                                                           \
    {                                                                                                                  \
        if (skip())                                                                                                    \
            return CUDA_SUCCESS;                                                                                       \
        FIND(name)                                                                                                     \
        return real_##name arguments;                                                                                  \
    }
#define SKIP_BOTH(name, parameters, arguments)                                                                         \
    SKIP_ONE(name, parameters, arguments)                                                                              \
    SKIP_ONE(name##_ptsz, parameters, arguments)
SKIPPED(SKIP_BOTH)

#define CAPTURE_ONE(name, change, parameters, arguments)                                                               \
    REAL(name, parameters)                                                                                             \
    CUresult name parameters                                                                                           \
    {                                                                                                                  \
        CUresult code;                                                                                                 \
        FIND(name)                                                                                                     \
        code = real_##name arguments;                                                                                  \
        if (code == CUDA_SUCCESS || (change) < 0)                                                                      \
            atomic_fetch_add(&capturing, change);                                                                      \
        return code;                                                                                                   \
    }
#define CAPTURE_BOTH(name, change, parameters, arguments)                                                              \
    CAPTURE_ONE(name, change, parameters, arguments)                                                                   \
    CAPTURE_ONE(name##_ptsz, change, parameters, arguments)
CAPTURES(CAPTURE_BOTH)

REAL(cuGetProcAddress, (const char *symbol, void **pfn, int version, cuuint64_t flags))
REAL(cuGetProcAddress_v2,
     (const char *symbol, void **pfn, int version, cuuint64_t flags, CUdriverProcAddressQueryResult *status))

struct pair {
    const char *name;
    void *ours, *real;
};
#define PAIR(name) {#name, (void *)name, NULL},
#define PAIR_SKIP(name, parameters, arguments) PAIR(name) PAIR(name##_ptsz)
#define PAIR_CAPTURE(name, change, parameters, arguments) PAIR(name) PAIR(name##_ptsz)
static struct pair pairs[] = {SKIPPED(PAIR_SKIP) CAPTURES(PAIR_CAPTURE) PAIR(cuGetProcAddress)
                                      PAIR(cuGetProcAddress_v2)};

/* Swaps by the returned address, so the version and the spelling of stream 0 are right by construction. */
static void swap(void **pfn)
{
    if (!pfn || !*pfn)
        return;
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
        if (!pairs[k].real)
            pairs[k].real = dlsym(RTLD_NEXT, pairs[k].name);
        if (pairs[k].real == *pfn) {
            *pfn = pairs[k].ours;
            return;
        }
    }
}

CUresult cuGetProcAddress(const char *symbol, void **pfn, int version, cuuint64_t flags)
{
    CUresult code;
    FIND(cuGetProcAddress)
    code = real_cuGetProcAddress(symbol, pfn, version, flags);
    if (code == CUDA_SUCCESS)
        swap(pfn);
    return code;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *status)
{
    CUresult code;
    FIND(cuGetProcAddress_v2)
    code = real_cuGetProcAddress_v2(symbol, pfn, version, flags, status);
    if (code == CUDA_SUCCESS)
        swap(pfn);
    return code;
}

/* The call below must stay a tail call (-O2): the caller's RUNPATH then still applies. */
EXPORT void *dlopen(const char *file, int mode)
{
    const char *base = file ? strrchr(file, '/') : NULL;
    base = base ? base + 1 : file;
    if (base && own_path[0] && (!strcmp(base, "libcuda.so.1") || !strcmp(base, "libcuda.so")))
        file = own_path;
    return next_dlopen(file, mode);
}
