/* Memsets. None waits for the host, except a synchronous one whose target is pinned or managed. */
#include "tests/sim/core.h"
#include "tests/sim/report.h"

static CUresult set(CUstream handle, CUdeviceptr dst, size_t pitch, unsigned int value, unsigned int element,
                    size_t width, size_t height, bool async)
{
    struct sim_stream *stream;
    CUresult result = sim_stream_find(handle, &stream);
    if (result)
        return result;
    if (!width || !height)
        return CUDA_SUCCESS;
    struct sim_range *range = sim_range_find((uintptr_t)dst);
    size_t extent = (height - 1) * pitch + width * element;
    if (!range || !sim_range_whole((uintptr_t)dst, extent) || dst % element || (height > 1 && pitch < width * element))
        return CUDA_ERROR_INVALID_VALUE;
    bool wait = (!async && range->kind != SIM_MEM_DEVICE) || range->sync_memops;
    if (!async) {
        result = sim_capture_unsafe();
        if (!result)
            result = sim_capture_refuse(stream);
        if (result)
            return result;
    }
    struct sim_task task = {.kind = SIM_TASK_MEMSET};
    task.u.set.dst = dst;
    task.u.set.pitch = pitch;
    task.u.set.value = element == 1 ? value & 0xff : element == 2 ? value & 0xffff : value;
    task.u.set.element = element;
    task.u.set.width = width;
    task.u.set.height = height;
    sim_log_detail(" dst=%#llx bytes=%zu value=%#x", (unsigned long long)dst, width * height * element, value);
    struct sim_ctx *ctx = stream->ctx;
    struct sim_op *op;
    result = sim_stream_submit(stream, &task, &op);
    if (!result && op) {
        if (wait) {
            sim_op_wait(op);
            result = ctx->sticky;
        }
        sim_op_release(op);
    }
    return result;
}

#define MEMSET(bits, type)                                                                                             \
    CUresult sim_cuMemsetD##bits##_v2(CUdeviceptr dst, type value, size_t count)                                       \
    {                                                                                                                  \
        return set(NULL, dst, 0, value, (bits) / 8, count, 1, false);                                                  \
    }                                                                                                                  \
    CUresult sim_cuMemsetD##bits##Async(CUdeviceptr dst, type value, size_t count, CUstream stream)                    \
    {                                                                                                                  \
        return set(stream, dst, 0, value, (bits) / 8, count, 1, true);                                                 \
    }                                                                                                                  \
    CUresult sim_cuMemsetD2D##bits##_v2(CUdeviceptr dst, size_t pitch, type value, size_t width, size_t height)        \
    {                                                                                                                  \
        return set(NULL, dst, pitch, value, (bits) / 8, width, height, false);                                         \
    }                                                                                                                  \
    CUresult sim_cuMemsetD2D##bits##Async(CUdeviceptr dst, size_t pitch, type value, size_t width, size_t height,      \
                                          CUstream stream)                                                             \
    {                                                                                                                  \
        return set(stream, dst, pitch, value, (bits) / 8, width, height, true);                                        \
    }                                                                                                                  \
    SIM_ALSO(cuMemsetD##bits##_v2_ptds, cuMemsetD##bits##_v2);                                                         \
    SIM_ALSO(cuMemsetD##bits##Async_ptsz, cuMemsetD##bits##Async);                                                     \
    SIM_ALSO(cuMemsetD2D##bits##_v2_ptds, cuMemsetD2D##bits##_v2);                                                     \
    SIM_ALSO(cuMemsetD2D##bits##Async_ptsz, cuMemsetD2D##bits##Async);
MEMSET(8, unsigned char)
MEMSET(16, unsigned short)
MEMSET(32, unsigned int)
