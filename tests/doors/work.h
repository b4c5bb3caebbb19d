/* The work that every door program does: a loop whose result shows each wrong order and each wrong argument.
 *
 * The driver's functions come from whoever looked them up; nothing here is linked to the driver. A call that fails is
 * printed with its code, so that two runs can be compared, and ends the work.
 */
#ifndef DOORS_WORK_H
#define DOORS_WORK_H

#include <cuda.h>
#include <stdbool.h>
#include <stdio.h>

/* In a function that returns 0, or 1 when a call failed: that is printed with its code. */
#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        CUresult code_ = (call);                                                                                       \
        if (code_ != CUDA_SUCCESS) {                                                                                   \
            printf("%s: code %d\n", #call, (int)code_);                                                                \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)

/* name as exported, name for cuGetProcAddress, result type and parameters */
#define WORK_FUNCTIONS(x)                                                                                              \
    x(cuInit, cuInit, (unsigned)) x(cuDeviceGet, cuDeviceGet, (CUdevice *, int)) x(                                    \
            cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain,                                                        \
            (CUcontext *, CUdevice)) x(cuCtxSetCurrent, cuCtxSetCurrent, (CUcontext))                                  \
            x(cuCtxSynchronize, cuCtxSynchronize, (void)) x(cuModuleLoad, cuModuleLoad, (CUmodule *, const char *)) x( \
                    cuModuleUnload, cuModuleUnload, (CUmodule)) x(cuModuleGetFunction, cuModuleGetFunction,            \
                                                                  (CUfunction *, CUmodule, const char *))              \
                    x(cuMemAlloc_v2, cuMemAlloc, (CUdeviceptr *, size_t)) x(cuMemFree_v2, cuMemFree, (CUdeviceptr))    \
                            x(cuMemsetD8_v2, cuMemsetD8, (CUdeviceptr, unsigned char, size_t))                         \
                                    x(cuMemsetD32Async, cuMemsetD32Async, (CUdeviceptr, unsigned, size_t, CUstream))   \
                                            x(cuMemcpyDtoH_v2, cuMemcpyDtoH, (void *, CUdeviceptr, size_t))            \
                                                    x(cuStreamCreate, cuStreamCreate, (CUstream *, unsigned))          \
                                                            x(cuStreamSynchronize, cuStreamSynchronize, (CUstream))    \
                                                                    x(cuStreamDestroy_v2, cuStreamDestroy, (CUstream)) \
                                                                            x(cuLaunchKernel, cuLaunchKernel,          \
                                                                              (CUfunction, unsigned, unsigned,         \
                                                                               unsigned, unsigned, unsigned, unsigned, \
                                                                               unsigned, CUstream, void **, void **))

struct work_driver {
#define WORK_FIELD(symbol, api, params) CUresult(*symbol) params;
    WORK_FUNCTIONS(WORK_FIELD)
#undef WORK_FIELD
};

/* Looks every function up by its exported name (api false) or by its name for cuGetProcAddress. False, with a line
 * printed, when one is missing. */
bool work_find(struct work_driver *driver, bool api, void *(*find)(const char *name, void *data), void *data);

/* dlsym on a handle, for work_find(). */
void *work_dlsym(const char *name, void *handle);

/* Context, module ($KERNELS), stream, `rounds` rounds of ten operations that are the program's own and a synchronise;
 * prints "NAME: N operations, HASH". Returns 0, or 1 when a call failed. */
int work_run(const struct work_driver *driver, const char *name, unsigned rounds);

/* The pieces of the above, for programs that do more than a plain loop. */
struct work {
    const struct work_driver *driver;
    CUmodule module;
    CUfunction step;
    CUstream stream;
    CUdeviceptr data;
    unsigned operations; /* accepted so far */
};
#define WORK_WORDS 64
int work_open(struct work *work, const struct work_driver *driver);
int work_round(struct work *work, unsigned round); /* ten operations, no synchronise */
int work_print(struct work *work, const char *name);
int work_close(struct work *work);

#endif
