/* Stream functions of the driver API. */
#include "tests/sim/config.h"
#include "tests/sim/report.h"

/* ---- stream objects ---- */
struct sim_stream *sim_stream_new(struct sim_ctx *ctx, unsigned int flags, int priority)
{
    static uint64_t next = 1;
    struct sim_stream *stream = calloc(1, sizeof(*stream));
    if (!stream)
        return NULL;
    stream->refs = 1;
    stream->id = next++;
    stream->ctx = ctx;
    stream->flags = flags;
    stream->priority = priority;
    stream->next = ctx->streams;
    ctx->streams = stream;
    return stream;
}

void sim_stream_hold(struct sim_stream *stream)
{
    stream->refs++;
}

void sim_stream_release(struct sim_stream *stream)
{
    if (!stream || --stream->refs)
        return;
    struct sim_stream **link = &stream->ctx->streams;
    while (*link && *link != stream)
        link = &(*link)->next;
    if (*link)
        *link = stream->next;
    free(stream->cap_deps);
    free(stream->cap_edges);
    free(stream);
}

/* The calling thread's own default stream in a context: made on first use, kept until the context dies. */
static struct sim_stream *per_thread(struct sim_ctx *ctx)
{
    for (struct sim_stream *stream = ctx->streams; stream; stream = stream->next)
        if (stream->per_thread && pthread_equal(stream->owner, pthread_self()))
            return stream;
    struct sim_stream *stream = sim_stream_new(ctx, 0, 0);
    if (stream) {
        stream->per_thread = true;
        stream->owner = pthread_self();
    }
    return stream;
}

CUresult sim_stream_find(CUstream handle, struct sim_stream **out)
{
    struct sim_ctx *ctx;
    sim_self.stream = handle;
    if (!handle)
        handle = sim_self.ptsz ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
    if (handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD) {
        *out = sim_handle_object(SIM_STREAM, handle);
        if (!*out)
            return CUDA_ERROR_INVALID_HANDLE;
        return (*out)->ctx->sticky;
    }
    CUresult result = sim_ctx_current(&ctx);
    if (result)
        return result;
    *out = handle == CU_STREAM_LEGACY ? ctx->legacy : per_thread(ctx);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sim_cuStreamCreateWithPriority(CUstream *out, unsigned int flags, int priority)
{
    struct sim_ctx *ctx;
    CUresult result = sim_ctx_current(&ctx);
    if (result)
        return result;
    if (!out || flags & ~(unsigned int)CU_STREAM_NON_BLOCKING)
        return CUDA_ERROR_INVALID_VALUE;
    struct sim_stream *stream = sim_stream_new(ctx, flags, priority < -5 ? -5 : priority > 0 ? 0 : priority);
    if (!stream)
        return CUDA_ERROR_OUT_OF_MEMORY;
    stream->handle = sim_handle_make(SIM_STREAM, stream);
    if (!stream->handle) {
        sim_stream_close(stream);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = stream->handle;
    sim_log_detail(" made=%p id=s%llu", (void *)stream->handle, (unsigned long long)stream->id);
    return CUDA_SUCCESS;
}

CUresult sim_cuStreamCreate(CUstream *out, unsigned int flags)
{
    return sim_cuStreamCreateWithPriority(out, flags, 0);
}

CUresult sim_cuStreamDestroy_v2(CUstream handle)
{
    struct sim_stream *stream = sim_handle_object(SIM_STREAM, handle);
    sim_self.stream = handle;
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    sim_handle_free(SIM_STREAM, handle);
    sim_stream_close(stream);
    return CUDA_SUCCESS;
}
SIM_ALSO(cuStreamDestroy, cuStreamDestroy_v2);

CUresult sim_cuStreamSynchronize(CUstream handle)
{
    struct sim_stream *stream;
    CUresult result = sim_stream_find(handle, &stream);
    if (!result)
        result = sim_capture_refuse(stream);
    if (result)
        return result;
    struct sim_ctx *ctx = stream->ctx;
    sim_stream_hold(stream);
    sim_stream_drain(stream);
    /* The legacy stream is done when the blocking streams' earlier work is: its next op would wait for them. */
    for (struct sim_stream *other = stream->legacy ? ctx->streams : NULL; other;) {
        if (sim_stream_blocking(other) && other->tail) {
            sim_stream_drain(other);
            other = ctx->streams; /* the list may have changed meanwhile */
        } else {
            other = other->next;
        }
    }
    sim_stream_release(stream);
    return ctx->sticky;
}
SIM_ALSO(cuStreamSynchronize_ptsz, cuStreamSynchronize);

CUresult sim_cuStreamQuery(CUstream handle)
{
    struct sim_stream *stream;
    CUresult result = sim_stream_find(handle, &stream);
    if (!result)
        result = sim_capture_refuse(stream);
    if (result)
        return result;
    if (stream->ctx->sticky)
        return stream->ctx->sticky;
    bool busy = stream->tail != NULL;
    if (busy && ++stream->refusals >= sim_config.patience)
        sim_op_demand(stream->tail);
    for (struct sim_stream *other = stream->legacy ? stream->ctx->streams : NULL; other; other = other->next) {
        if (!sim_stream_blocking(other) || !other->tail)
            continue;
        busy = true;
        if (++other->refusals >= sim_config.patience)
            sim_op_demand(other->tail);
    }
    return busy ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}
SIM_ALSO(cuStreamQuery_ptsz, cuStreamQuery);

CUresult sim_cuStreamWaitEvent(CUstream handle, CUevent event_handle, unsigned int flags)
{
    struct sim_stream *stream;
    CUresult result = sim_stream_find(handle, &stream);
    if (result)
        return result;
    struct sim_event *event = sim_handle_object(SIM_EVENT, event_handle);
    if (!event)
        return CUDA_ERROR_INVALID_HANDLE;
    if (flags & ~(unsigned int)CU_EVENT_WAIT_EXTERNAL)
        return CUDA_ERROR_INVALID_VALUE;
    sim_log_detail(" event=%p", (void *)event_handle);
    if (event->capture || stream->capture)
        return sim_capture_wait(stream, event);
    result = sim_capture_implicit(stream);
    if (result)
        return result;
    if (!event->op)
        return CUDA_SUCCESS;
    struct sim_op *op = sim_op_new(stream);
    if (!op || !sim_op_after(op, event->op)) {
        sim_op_release(op);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    sim_stream_push(stream, op);
    return CUDA_SUCCESS;
}
SIM_ALSO(cuStreamWaitEvent_ptsz, cuStreamWaitEvent);

static void run_callback(struct sim_task *task, CUhostFn fn, CUstreamCallback callback, CUstream stream, void *data)
{
    memset(task, 0, sizeof(*task));
    task->kind = SIM_TASK_HOST;
    task->u.host.fn = fn;
    task->u.host.callback = callback;
    task->u.host.stream = stream;
    task->u.host.data = data;
}

CUresult sim_cuLaunchHostFunc(CUstream handle, CUhostFn fn, void *data)
{
    struct sim_stream *stream;
    struct sim_task task;
    CUresult result = sim_stream_find(handle, &stream);
    if (result)
        return result;
    if (!fn)
        return CUDA_ERROR_INVALID_VALUE;
    run_callback(&task, fn, NULL, handle, data);
    return sim_stream_submit(stream, &task, NULL);
}
SIM_ALSO(cuLaunchHostFunc_ptsz, cuLaunchHostFunc);

CUresult sim_cuStreamAddCallback(CUstream handle, CUstreamCallback callback, void *data, unsigned int flags)
{
    struct sim_stream *stream;
    struct sim_task task;
    CUresult result = sim_stream_find(handle, &stream);
    if (!result)
        result = sim_capture_refuse(stream);
    if (result)
        return result;
    if (!callback || flags)
        return CUDA_ERROR_INVALID_VALUE;
    run_callback(&task, NULL, callback, handle, data);
    return sim_stream_submit(stream, &task, NULL);
}
SIM_ALSO(cuStreamAddCallback_ptsz, cuStreamAddCallback);

CUresult sim_cuStreamGetFlags(CUstream handle, unsigned int *flags)
{
    struct sim_stream *stream;
    CUresult result = sim_stream_find(handle, &stream);
    if (!result)
        *flags = stream->flags;
    return result;
}
SIM_ALSO(cuStreamGetFlags_ptsz, cuStreamGetFlags);

CUresult sim_cuStreamGetPriority(CUstream handle, int *priority)
{
    struct sim_stream *stream;
    CUresult result = sim_stream_find(handle, &stream);
    if (!result)
        *priority = stream->priority;
    return result;
}
SIM_ALSO(cuStreamGetPriority_ptsz, cuStreamGetPriority);

CUresult sim_cuStreamGetCtx(CUstream handle, CUcontext *ctx)
{
    struct sim_stream *stream;
    CUresult result = sim_stream_find(handle, &stream);
    if (!result)
        *ctx = stream->ctx->handle;
    return result;
}
SIM_ALSO(cuStreamGetCtx_ptsz, cuStreamGetCtx);

#if CUDA_VERSION >= 12050
CUresult sim_cuStreamGetCtx_v2(CUstream handle, CUcontext *ctx, CUgreenCtx *green)
{
    if (green)
        *green = NULL;
    return sim_cuStreamGetCtx(handle, ctx);
}
SIM_ALSO(cuStreamGetCtx_v2_ptsz, cuStreamGetCtx_v2);
#endif

CUresult sim_cuStreamGetGreenCtx(CUstream handle, CUgreenCtx *green)
{
    struct sim_stream *stream;
    CUresult result = sim_stream_find(handle, &stream);
    if (!result)
        *green = NULL;
    return result;
}

#if CUDA_VERSION >= 12080
CUresult sim_cuStreamGetDevice(CUstream handle, CUdevice *device)
{
    struct sim_stream *stream;
    CUresult result = sim_stream_find(handle, &stream);
    if (!result)
        *device = stream->ctx->device;
    return result;
}
SIM_ALSO(cuStreamGetDevice_ptsz, cuStreamGetDevice);
#endif

CUresult sim_cuStreamGetId(CUstream handle, unsigned long long *id)
{
    struct sim_stream *stream;
    CUresult result = sim_stream_find(handle, &stream);
    if (!result)
        *id = stream->id;
    return result;
}
SIM_ALSO(cuStreamGetId_ptsz, cuStreamGetId);

CUresult sim_cuStreamSetAttribute(CUstream handle, CUstreamAttrID attr, const CUstreamAttrValue *value)
{
    struct sim_stream *stream;
    CUresult result = sim_stream_find(handle, &stream);
    if (result)
        return result;
    if ((int)attr <= 0 || (int)attr >= SIM_ATTRS_MAX || !value)
        return CUDA_ERROR_INVALID_VALUE;
    stream->attrs[attr].id = attr;
    stream->attrs[attr].value = *value;
    if (attr == CU_STREAM_ATTRIBUTE_PRIORITY)
        stream->priority = value->priority;
    return CUDA_SUCCESS;
}
SIM_ALSO(cuStreamSetAttribute_ptsz, cuStreamSetAttribute);

CUresult sim_cuStreamGetAttribute(CUstream handle, CUstreamAttrID attr, CUstreamAttrValue *value)
{
    struct sim_stream *stream;
    CUresult result = sim_stream_find(handle, &stream);
    if (result)
        return result;
    if ((int)attr <= 0 || (int)attr >= SIM_ATTRS_MAX || !value)
        return CUDA_ERROR_INVALID_VALUE;
    *value = stream->attrs[attr].value;
    if (attr == CU_STREAM_ATTRIBUTE_PRIORITY)
        value->priority = stream->priority;
    return CUDA_SUCCESS;
}
SIM_ALSO(cuStreamGetAttribute_ptsz, cuStreamGetAttribute);

CUresult sim_cuStreamCopyAttributes(CUstream to, CUstream from)
{
    struct sim_stream *dst, *src;
    CUresult result = sim_stream_find(to, &dst);
    if (!result)
        result = sim_stream_find(from, &src);
    if (!result)
        memcpy(dst->attrs, src->attrs, sizeof(dst->attrs));
    return result;
}
SIM_ALSO(cuStreamCopyAttributes_ptsz, cuStreamCopyAttributes);
