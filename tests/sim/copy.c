/* Copies of every kind: who waits for whom, and when a source is read.
 *
 * Asynchronous: a pageable source is staged before the call returns (a large one after the stream has drained), a
 * pinned one is read when the copy runs; a pageable destination makes the call wait. Synchronous: pageable to device
 * drains the stream, stages and returns with the copy still under way; device to device does not wait; all others do.
 * Two- and three-dimensional copies take the kinds of their first byte.
 */
#include "tests/sim/core.h"
#include "tests/sim/report.h"

#define STAGE_AT_ONCE 65536

struct shape {
    const unsigned char *src;
    unsigned char *dst;
    size_t src_pitch, src_slice, dst_pitch, dst_slice, width, height, depth;
};

static size_t extent(const struct shape *s, size_t pitch, size_t slice)
{
    return (s->depth - 1) * slice + (s->height - 1) * pitch + s->width;
}

/* A range that begins in an allocation must end in it, and one in a reservation must be mapped; wholly unknown
 * addresses are pageable host memory. */
static bool valid(uintptr_t address, size_t size)
{
    return sim_range_find(address) ? sim_range_whole(address, size) : !sim_reserved(address, size);
}

static CUresult check(const struct shape *s)
{
    if (!s->src || !s->dst)
        return CUDA_ERROR_INVALID_VALUE;
    return valid((uintptr_t)s->src, extent(s, s->src_pitch, s->src_slice)) &&
                           valid((uintptr_t)s->dst, extent(s, s->dst_pitch, s->dst_slice))
                   ? CUDA_SUCCESS
                   : CUDA_ERROR_INVALID_VALUE;
}

static bool on_device(enum sim_memory kind)
{
    return kind == SIM_MEM_DEVICE || kind == SIM_MEM_MANAGED;
}

static CUresult copy(CUstream handle, const struct shape *s, bool async)
{
    struct sim_stream *stream;
    CUresult result = sim_stream_find(handle, &stream);
    if (result)
        return result;
    if (!s->width || !s->height || !s->depth)
        return CUDA_SUCCESS;
    result = check(s);
    if (result)
        return result;
    if (!async) {
        result = sim_capture_unsafe();
        if (!result)
            result = sim_capture_refuse(stream);
        if (result)
            return result;
    }
    size_t src_size = extent(s, s->src_pitch, s->src_slice);
    enum sim_memory from = sim_range_kind(s->src, src_size);
    enum sim_memory to = sim_range_kind(s->dst, extent(s, s->dst_pitch, s->dst_slice));
    struct sim_task task = {.kind = SIM_TASK_COPY};
    task.u.copy.src = s->src;
    task.u.copy.dst = s->dst;
    task.u.copy.src_pitch = s->src_pitch;
    task.u.copy.src_slice = s->src_slice;
    task.u.copy.dst_pitch = s->dst_pitch;
    task.u.copy.dst_slice = s->dst_slice;
    task.u.copy.width = s->width;
    task.u.copy.height = s->height;
    task.u.copy.depth = s->depth;
    sim_log_detail(" dst=%p src=%p bytes=%zu", (void *)s->dst, (const void *)s->src, s->width * s->height * s->depth);

    if (stream->capture && from == SIM_MEM_HOST)
        task.u.copy.resolved = sim_range_find((uintptr_t)s->src)->id;

    struct sim_ctx *ctx = stream->ctx;
    bool stage = from == SIM_MEM_PAGEABLE && on_device(to) && !stream->capture;
    bool wait;
    if (async)
        wait = to == SIM_MEM_PAGEABLE || (from == SIM_MEM_PAGEABLE && !stage);
    else
        wait = !(on_device(from) && on_device(to)) || from == SIM_MEM_MANAGED || to == SIM_MEM_MANAGED;
    if (stage) {
        if (!async) {
            /* The stream drains first; its staged copy may still be under way after the return. */
            wait = to == SIM_MEM_MANAGED;
            result = sim_cuStreamSynchronize(handle);
            if (result)
                return result;
        } else if (src_size > STAGE_AT_ONCE) {
            sim_stream_drain(stream);
        }
        task.u.copy.staged = malloc(src_size);
        if (!task.u.copy.staged)
            return CUDA_ERROR_OUT_OF_MEMORY;
        memcpy(task.u.copy.staged, s->src, src_size);
    }
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

static CUresult linear(CUstream handle, uintptr_t dst, uintptr_t src, size_t size, bool async)
{
    struct shape s = {
            .src = (const unsigned char *)src, .dst = (unsigned char *)dst, .width = size, .height = 1, .depth = 1};
    return copy(handle, &s, async);
}

/* ---- one-dimensional ---- */
#define SYNC_1D(name, dst_type, src_type)                                                                              \
    CUresult sim_##name(dst_type dst, src_type src, size_t size)                                                       \
    {                                                                                                                  \
        return linear(NULL, (uintptr_t)dst, (uintptr_t)src, size, false);                                              \
    }
#define ASYNC_1D(name, dst_type, src_type)                                                                             \
    CUresult sim_##name(dst_type dst, src_type src, size_t size, CUstream stream)                                      \
    {                                                                                                                  \
        return linear(stream, (uintptr_t)dst, (uintptr_t)src, size, true);                                             \
    }
SYNC_1D(cuMemcpy, CUdeviceptr, CUdeviceptr)
SYNC_1D(cuMemcpyHtoD_v2, CUdeviceptr, const void *)
SYNC_1D(cuMemcpyDtoH_v2, void *, CUdeviceptr)
SYNC_1D(cuMemcpyDtoD_v2, CUdeviceptr, CUdeviceptr)
ASYNC_1D(cuMemcpyAsync, CUdeviceptr, CUdeviceptr)
ASYNC_1D(cuMemcpyHtoDAsync_v2, CUdeviceptr, const void *)
ASYNC_1D(cuMemcpyDtoHAsync_v2, void *, CUdeviceptr)
ASYNC_1D(cuMemcpyDtoDAsync_v2, CUdeviceptr, CUdeviceptr)
SIM_ALSO(cuMemcpy_ptds, cuMemcpy);
SIM_ALSO(cuMemcpyHtoD_v2_ptds, cuMemcpyHtoD_v2);
SIM_ALSO(cuMemcpyDtoH_v2_ptds, cuMemcpyDtoH_v2);
SIM_ALSO(cuMemcpyDtoD_v2_ptds, cuMemcpyDtoD_v2);
SIM_ALSO(cuMemcpyAsync_ptsz, cuMemcpyAsync);
SIM_ALSO(cuMemcpyHtoDAsync_v2_ptsz, cuMemcpyHtoDAsync_v2);
SIM_ALSO(cuMemcpyDtoHAsync_v2_ptsz, cuMemcpyDtoHAsync_v2);
SIM_ALSO(cuMemcpyDtoDAsync_v2_ptsz, cuMemcpyDtoDAsync_v2);

CUresult sim_cuMemcpyPeer(CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from, size_t size)
{
    if (!sim_ctx_of(to) || !sim_ctx_of(from))
        return CUDA_ERROR_INVALID_CONTEXT;
    return linear(NULL, (uintptr_t)dst, (uintptr_t)src, size, false);
}
SIM_ALSO(cuMemcpyPeer_ptds, cuMemcpyPeer);

CUresult sim_cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from, size_t size,
                               CUstream stream)
{
    if (!sim_ctx_of(to) || !sim_ctx_of(from))
        return CUDA_ERROR_INVALID_CONTEXT;
    return linear(stream, (uintptr_t)dst, (uintptr_t)src, size, true);
}
SIM_ALSO(cuMemcpyPeerAsync_ptsz, cuMemcpyPeerAsync);

/* ---- two- and three-dimensional ---- */
static uintptr_t side(CUmemorytype type, const void *host, CUdeviceptr device, bool *array)
{
    if (type == CU_MEMORYTYPE_ARRAY)
        *array = true;
    return type == CU_MEMORYTYPE_HOST ? (uintptr_t)host : (uintptr_t)device;
}

static CUresult flat(CUstream stream, const CUDA_MEMCPY2D *p, bool async)
{
    bool array = false;
    if (!p)
        return CUDA_ERROR_INVALID_VALUE;
    uintptr_t src = side(p->srcMemoryType, p->srcHost, p->srcDevice, &array);
    uintptr_t dst = side(p->dstMemoryType, p->dstHost, p->dstDevice, &array);
    if (array)
        return CUDA_ERROR_NOT_SUPPORTED;
    size_t src_pitch = p->srcPitch ? p->srcPitch : p->WidthInBytes,
           dst_pitch = p->dstPitch ? p->dstPitch : p->WidthInBytes;
    if (src_pitch < p->WidthInBytes || dst_pitch < p->WidthInBytes)
        return CUDA_ERROR_INVALID_VALUE;
    struct shape s = {
            .src = (const unsigned char *)(src + p->srcY * src_pitch + p->srcXInBytes),
            .dst = (unsigned char *)(dst + p->dstY * dst_pitch + p->dstXInBytes),
            .src_pitch = src_pitch,
            .dst_pitch = dst_pitch,
            .width = p->WidthInBytes,
            .height = p->Height,
            .depth = 1,
    };
    return copy(stream, &s, async);
}

static CUresult deep(CUstream stream, const CUDA_MEMCPY3D *p, bool async)
{
    bool array = false;
    if (!p)
        return CUDA_ERROR_INVALID_VALUE;
    uintptr_t src = side(p->srcMemoryType, p->srcHost, p->srcDevice, &array);
    uintptr_t dst = side(p->dstMemoryType, p->dstHost, p->dstDevice, &array);
    if (array)
        return CUDA_ERROR_NOT_SUPPORTED;
    size_t src_pitch = p->srcPitch ? p->srcPitch : p->WidthInBytes,
           dst_pitch = p->dstPitch ? p->dstPitch : p->WidthInBytes;
    size_t src_slice = src_pitch * (p->srcHeight ? p->srcHeight : p->Height);
    size_t dst_slice = dst_pitch * (p->dstHeight ? p->dstHeight : p->Height);
    struct shape s = {
            .src = (const unsigned char *)(src + p->srcZ * src_slice + p->srcY * src_pitch + p->srcXInBytes),
            .dst = (unsigned char *)(dst + p->dstZ * dst_slice + p->dstY * dst_pitch + p->dstXInBytes),
            .src_pitch = src_pitch,
            .src_slice = src_slice,
            .dst_pitch = dst_pitch,
            .dst_slice = dst_slice,
            .width = p->WidthInBytes,
            .height = p->Height,
            .depth = p->Depth,
    };
    return copy(stream, &s, async);
}

CUresult sim_cuMemcpy2D_v2(const CUDA_MEMCPY2D *p)
{
    return flat(NULL, p, false);
}
SIM_ALSO(cuMemcpy2D_v2_ptds, cuMemcpy2D_v2);
SIM_ALSO(cuMemcpy2DUnaligned_v2, cuMemcpy2D_v2);
SIM_ALSO(cuMemcpy2DUnaligned_v2_ptds, cuMemcpy2D_v2);

CUresult sim_cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *p, CUstream stream)
{
    return flat(stream, p, true);
}
SIM_ALSO(cuMemcpy2DAsync_v2_ptsz, cuMemcpy2DAsync_v2);

CUresult sim_cuMemcpy3D_v2(const CUDA_MEMCPY3D *p)
{
    return deep(NULL, p, false);
}
SIM_ALSO(cuMemcpy3D_v2_ptds, cuMemcpy3D_v2);

CUresult sim_cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *p, CUstream stream)
{
    return deep(stream, p, true);
}
SIM_ALSO(cuMemcpy3DAsync_v2_ptsz, cuMemcpy3DAsync_v2);

/* ---- batches ---- */
#if CUDA_VERSION >= 12080
CUresult sim_cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
                                CUmemcpyAttributes *attrs, size_t *indexes, size_t n_attrs, size_t *fail,
                                CUstream stream)
{
    (void)attrs, (void)indexes, (void)n_attrs;
    if (!stream || stream == CU_STREAM_LEGACY)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        CUresult result = linear(stream, (uintptr_t)dsts[i], (uintptr_t)srcs[i], sizes[i], true);
        if (result) {
            if (fail)
                *fail = i;
            return result;
        }
    }
    return CUDA_SUCCESS;
}
SIM_ALSO(cuMemcpyBatchAsync_ptsz, cuMemcpyBatchAsync);
#endif

#if CUDA_VERSION >= 13000
CUresult sim_cuMemcpyBatchAsync_v2(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
                                   CUmemcpyAttributes *attrs, size_t *indexes, size_t n_attrs, CUstream stream)
{
    return sim_cuMemcpyBatchAsync(dsts, srcs, sizes, count, attrs, indexes, n_attrs, NULL, stream);
}
SIM_ALSO(cuMemcpyBatchAsync_v2_ptsz, cuMemcpyBatchAsync_v2);
#endif
