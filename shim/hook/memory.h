/* What the wrappers of functions that give, end or name device memory do for the memory record (AUTOGRAPH_MEMORY).
 *
 * Contents are read where the program could have read them last: before the driver is told that the memory ends, and
 * after held work was submitted and what the memory waits for is complete. Each read is made on a stream of its own in
 * relaxed capture mode; not made while a capture is under way or inside a host function. New memory is set to zeros,
 * so that what the program never writes is the same in each run: CUDA promises nothing about it.
 * Thread rule: any thread, no lock held.
 */
#ifndef AG_SHIM_HOOK_MEMORY_H
#define AG_SHIM_HOOK_MEMORY_H

#include "shim/trace/memory.h"

/* AG_MEMORY_ENDS_<symbol>: what the generic wrapper of such a function takes out before it forwards the call; after it,
 * ag_memory_after() is called. AG_MEMORY_BEGINS_<symbol>: what it does after the call, which gave `result`. Not
 * defined: nothing. The parameters are called as in the table. */
#define AG_MEMORY_ENDS_cuMemFree_v2 ~, ag_memory_before_free(dptr)
#define AG_MEMORY_ENDS_cuMemFreeAsync ~, ag_memory_before_free_in(dptr, hStream, false)
#define AG_MEMORY_ENDS_cuMemFreeAsync_ptsz ~, ag_memory_before_free_in(dptr, hStream, true)
#define AG_MEMORY_ENDS_cuMemUnmap ~, ag_memory_before_unmap(ptr, size)
#define AG_MEMORY_ENDS_cuCtxDestroy ~, ag_memory_before_context(ctx)
#define AG_MEMORY_ENDS_cuCtxDestroy_v2 ~, ag_memory_before_context(ctx)
#define AG_MEMORY_ENDS_cuDevicePrimaryCtxReset ~, ag_memory_before_primary(dev)
#define AG_MEMORY_ENDS_cuDevicePrimaryCtxReset_v2 ~, ag_memory_before_primary(dev)
#define AG_MEMORY_ENDS_cuGreenCtxDestroy ~, ag_memory_before_green()

#define AG_MEMORY_BEGINS_cuMemAlloc_v2 ~, ag_memory_after_alloc(result, AG_MEMORY_ALLOCATED, dptr, bytesize)
#define AG_MEMORY_BEGINS_cuMemAllocPitch_v2 ~, ag_memory_after_pitch(result, dptr, pPitch, Height)
#define AG_MEMORY_BEGINS_cuMemAllocManaged ~, ag_memory_after_alloc(result, AG_MEMORY_MANAGED, dptr, bytesize)
#define AG_MEMORY_BEGINS_cuMemMap ~, ag_memory_after_alloc(result, AG_MEMORY_MAPPED, &ptr, size)
#define AG_MEMORY_BEGINS_cuMemAllocAsync ~, ag_memory_after_alloc_in(result, dptr, bytesize, hStream, false)
#define AG_MEMORY_BEGINS_cuMemAllocAsync_ptsz ~, ag_memory_after_alloc_in(result, dptr, bytesize, hStream, true)
#define AG_MEMORY_BEGINS_cuMemAllocFromPoolAsync ~, ag_memory_after_alloc_in(result, dptr, bytesize, hStream, false)
#define AG_MEMORY_BEGINS_cuMemAllocFromPoolAsync_ptsz ~, ag_memory_after_alloc_in(result, dptr, bytesize, hStream, true)
#define AG_MEMORY_BEGINS_cuModuleGetGlobal_v2 ~, ag_memory_after_name(result, dptr, bytes, hmod, name)
#define AG_MEMORY_BEGINS_cuLibraryGetGlobal ~, ag_memory_after_name(result, dptr, bytes, library, name)
#define AG_MEMORY_BEGINS_cuLibraryGetManaged ~, ag_memory_after_name(result, dptr, bytes, library, name)

/* Takes out what ends with the call, as a list, and reads it. */
struct ag_memory_block *ag_memory_before_free(CUdeviceptr address);
struct ag_memory_block *ag_memory_before_free_in(CUdeviceptr address, CUstream stream, bool ptsz);
struct ag_memory_block *ag_memory_before_unmap(CUdeviceptr address, size_t bytes);
struct ag_memory_block *ag_memory_before_context(CUcontext ctx);
struct ag_memory_block *ag_memory_before_primary(CUdevice dev);
struct ag_memory_block *ag_memory_before_green(void); /* what depends on it cannot be told: everything is read */
struct ag_memory_block *ag_memory_before_unload(const void *owner);

/* Writes what ended, or puts back what did not, since the call was refused. */
void ag_memory_after(CUresult result, struct ag_memory_block *gone);

/* The same after a release of the primary context, which may have had further users. */
void ag_memory_after_release(CUresult result, CUdevice dev, struct ag_memory_block *gone);

/* Notes what the driver gave. */
void ag_memory_after_alloc(CUresult result, enum ag_memory_kind kind, const CUdeviceptr *address, size_t bytes);
void ag_memory_after_pitch(CUresult result, const CUdeviceptr *address, const size_t *pitch, size_t rows);
void ag_memory_after_alloc_in(CUresult result, const CUdeviceptr *address, size_t bytes, CUstream stream, bool ptsz);
void ag_memory_after_name(CUresult result, const CUdeviceptr *address, const size_t *bytes, const void *owner,
                          const char *name);

#endif
