/* The driver's functions as fuzz programs call them: found at run time, as real programs find them.
 *
 * cu(name) is the function, cu_pt(name, true) the variant where stream 0 is the calling thread's own.
 */
#ifndef FUZZ_DRIVER_H
#define FUZZ_DRIVER_H

#include <cuda.h>
#include <stdbool.h>

/* Functions without and with a per-thread variant (its suffix). */
#define FUZZ_FUNCTIONS(F, P)                                                                                           \
    F(cuInit)                                                                                                          \
    F(cuDeviceGet)                                                                                                     \
    F(cuDevicePrimaryCtxRetain)                                                                                        \
    F(cuCtxCreate)                                                                                                     \
    F(cuCtxDestroy)                                                                                                    \
    F(cuCtxSetCurrent)                                                                                                 \
    F(cuCtxGetCurrent)                                                                                                 \
    F(cuCtxPushCurrent)                                                                                                \
    F(cuCtxPopCurrent)                                                                                                 \
    F(cuCtxSynchronize)                                                                                                \
    F(cuCtxEnablePeerAccess)                                                                                           \
    F(cuModuleLoad)                                                                                                    \
    F(cuModuleUnload)                                                                                                  \
    F(cuModuleGetFunction)                                                                                             \
    F(cuModuleGetGlobal)                                                                                               \
    F(cuLibraryLoadFromFile)                                                                                           \
    F(cuLibraryUnload)                                                                                                 \
    F(cuLibraryGetKernel)                                                                                              \
    F(cuKernelGetFunction)                                                                                             \
    F(cuKernelSetAttribute)                                                                                            \
    F(cuKernelGetAttribute)                                                                                            \
    F(cuFuncSetAttribute)                                                                                              \
    F(cuFuncGetAttribute)                                                                                              \
    F(cuMemAlloc)                                                                                                      \
    F(cuMemFree)                                                                                                       \
    F(cuMemAllocManaged)                                                                                               \
    F(cuMemAllocPitch)                                                                                                 \
    F(cuMemGetInfo)                                                                                                    \
    F(cuMemHostAlloc)                                                                                                  \
    F(cuMemFreeHost)                                                                                                   \
    F(cuMemHostRegister)                                                                                               \
    F(cuMemHostUnregister)                                                                                             \
    F(cuPointerGetAttribute)                                                                                           \
    F(cuStreamCreate)                                                                                                  \
    F(cuStreamCreateWithPriority)                                                                                      \
    F(cuStreamDestroy)                                                                                                 \
    F(cuEventCreate)                                                                                                   \
    F(cuEventDestroy)                                                                                                  \
    F(cuEventQuery)                                                                                                    \
    F(cuEventSynchronize)                                                                                              \
    F(cuEventElapsedTime)                                                                                              \
    F(cuThreadExchangeStreamCaptureMode)                                                                               \
    F(cuGraphInstantiateWithFlags)                                                                                     \
    F(cuGraphDestroy)                                                                                                  \
    F(cuGraphExecDestroy)                                                                                              \
    F(cuGraphGetNodes)                                                                                                 \
    P(cuStreamSynchronize, _ptsz)                                                                                      \
    P(cuStreamQuery, _ptsz)                                                                                            \
    P(cuStreamWaitEvent, _ptsz)                                                                                        \
    P(cuStreamGetFlags, _ptsz)                                                                                         \
    P(cuStreamGetPriority, _ptsz)                                                                                      \
    P(cuStreamGetCtx, _ptsz)                                                                                           \
    P(cuStreamIsCapturing, _ptsz)                                                                                      \
    P(cuStreamBeginCapture, _ptsz)                                                                                     \
    P(cuStreamEndCapture, _ptsz)                                                                                       \
    P(cuStreamAddCallback, _ptsz)                                                                                      \
    P(cuStreamWriteValue32, _ptsz)                                                                                     \
    P(cuStreamWaitValue32, _ptsz)                                                                                      \
    P(cuEventRecord, _ptsz)                                                                                            \
    P(cuEventRecordWithFlags, _ptsz)                                                                                   \
    P(cuLaunchKernel, _ptsz)                                                                                           \
    P(cuLaunchKernelEx, _ptsz)                                                                                         \
    P(cuLaunchCooperativeKernel, _ptsz)                                                                                \
    P(cuLaunchHostFunc, _ptsz)                                                                                         \
    P(cuGraphLaunch, _ptsz)                                                                                            \
    P(cuMemAllocAsync, _ptsz)                                                                                          \
    P(cuMemFreeAsync, _ptsz)                                                                                           \
    P(cuMemcpy, _ptds)                                                                                                 \
    P(cuMemcpyHtoD, _ptds)                                                                                             \
    P(cuMemcpyDtoH, _ptds)                                                                                             \
    P(cuMemcpyDtoD, _ptds)                                                                                             \
    P(cuMemcpyAsync, _ptsz)                                                                                            \
    P(cuMemcpyHtoDAsync, _ptsz)                                                                                        \
    P(cuMemcpyDtoHAsync, _ptsz)                                                                                        \
    P(cuMemcpyDtoDAsync, _ptsz)                                                                                        \
    P(cuMemcpyPeerAsync, _ptsz)                                                                                        \
    P(cuMemcpy2DAsync, _ptsz)                                                                                          \
    P(cuMemcpy2D, _ptds)                                                                                               \
    P(cuMemcpy2DUnaligned, _ptds)                                                                                      \
    P(cuMemcpy3DAsync, _ptsz)                                                                                          \
    P(cuMemcpy3D, _ptds)                                                                                               \
    P(cuMemcpyPeer, _ptds)                                                                                             \
    P(cuMemsetD8, _ptds)                                                                                               \
    P(cuMemsetD16, _ptds)                                                                                              \
    P(cuMemsetD32, _ptds)                                                                                              \
    P(cuMemsetD8Async, _ptsz)                                                                                          \
    P(cuMemsetD16Async, _ptsz)                                                                                         \
    P(cuMemsetD32Async, _ptsz)                                                                                         \
    P(cuMemsetD2D8, _ptds)                                                                                             \
    P(cuMemsetD2D16, _ptds)                                                                                            \
    P(cuMemsetD2D32, _ptds)                                                                                            \
    P(cuMemsetD2D8Async, _ptsz)                                                                                        \
    P(cuMemsetD2D16Async, _ptsz)                                                                                       \
    P(cuMemsetD2D32Async, _ptsz)

struct fuzz_driver {
#define FUZZ_MEMBER(name) __typeof__(name) *name##_f;
#define FUZZ_PAIR(name, suffix) __typeof__(name) *name##_f, *name##_p;
    FUZZ_FUNCTIONS(FUZZ_MEMBER, FUZZ_PAIR)
#undef FUZZ_MEMBER
#undef FUZZ_PAIR
};
extern struct fuzz_driver fuzz_driver;

#define cu(name) fuzz_driver.name##_f
#define cu_pt(name, per_thread) ((per_thread) ? fuzz_driver.name##_p : fuzz_driver.name##_f)

/* False with one line on stderr when a function is missing. */
bool fuzz_driver_open(bool by_dlsym);

#endif
