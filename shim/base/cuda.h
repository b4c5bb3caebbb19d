/* The driver API's headers, as this project includes them: every version of every function by its own name. */
#ifndef AG_SHIM_BASE_CUDA_H
#define AG_SHIM_BASE_CUDA_H

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cudaProfiler.h>
#include <cudaTypedefs.h>

#if CUDA_VERSION < 12040
#error "autograph needs the headers of CUDA 12.4 or newer"
#endif

/* For the stream column of the hook table. */
#define AG_NO_STREAM ((CUstream)0)

#endif
