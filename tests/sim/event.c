/* Events. A record makes the event stand for a new op; waits, queries and synchronisations use the op that it stands
 * for at the time of the call. */
#include "tests/sim/config.h"
#include "tests/sim/report.h"

struct sim_event *sim_event_hold(struct sim_event *event)
{
    event->refs++;
    return event;
}

void sim_event_forget_capture(struct sim_event *event)
{
    free(event->cap_nodes);
    event->cap_nodes = NULL;
    event->n_cap_nodes = 0;
    event->capture = NULL;
}

void sim_event_release(struct sim_event *event)
{
    if (!event || --event->refs)
        return;
    sim_event_forget_capture(event);
    sim_op_release(event->op);
    free(event);
}

void sim_event_set(struct sim_event *event, struct sim_op *op)
{
    struct sim_op *former = event->op;
    event->op = sim_op_hold(op);
    event->refusals = 0;
    sim_event_forget_capture(event);
    sim_op_release(former);
}

CUresult sim_cuEventCreate(CUevent *out, unsigned int flags)
{
    struct sim_ctx *ctx;
    CUresult result = sim_ctx_current(&ctx);
    if (result)
        return result;
    if (!out || flags & ~7u)
        return CUDA_ERROR_INVALID_VALUE;
    struct sim_event *event = calloc(1, sizeof(*event));
    if (!event)
        return CUDA_ERROR_OUT_OF_MEMORY;
    event->refs = 1;
    event->ctx = ctx;
    event->flags = flags;
    event->handle = sim_handle_make(SIM_EVENT, event);
    *out = event->handle;
    sim_log_detail(" made=%p", (void *)event->handle);
    return CUDA_SUCCESS;
}

static CUresult find(CUevent handle, struct sim_event **out)
{
    *out = sim_handle_object(SIM_EVENT, handle);
    sim_log_detail(" event=%p", (void *)handle);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_cuEventDestroy_v2(CUevent handle)
{
    struct sim_event *event;
    CUresult result = find(handle, &event);
    if (result)
        return result;
    sim_handle_free(SIM_EVENT, handle);
    event->handle = NULL;
    sim_event_release(event);
    return CUDA_SUCCESS;
}
SIM_ALSO(cuEventDestroy, cuEventDestroy_v2);

CUresult sim_cuEventRecord(CUevent handle, CUstream stream_handle)
{
    struct sim_stream *stream;
    struct sim_event *event;
    CUresult result = find(handle, &event);
    if (!result)
        result = sim_stream_find(stream_handle, &stream);
    if (result)
        return result;
    if (event->ctx != stream->ctx)
        return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture)
        return sim_capture_record(stream, event);
    result = sim_capture_implicit(stream);
    if (result)
        return result;
    struct sim_op *op = sim_op_new(stream);
    if (!op)
        return CUDA_ERROR_OUT_OF_MEMORY;
    sim_event_hold(event);
    sim_op_hold(op);
    sim_stream_push(stream, op);
    sim_event_set(event, op);
    sim_op_release(op);
    sim_event_release(event);
    return CUDA_SUCCESS;
}
SIM_ALSO(cuEventRecord_ptsz, cuEventRecord);

CUresult sim_cuEventRecordWithFlags(CUevent handle, CUstream stream_handle, unsigned int flags)
{
    if (flags & ~(unsigned int)CU_EVENT_RECORD_EXTERNAL)
        return CUDA_ERROR_INVALID_VALUE;
    return sim_cuEventRecord(handle, stream_handle);
}
SIM_ALSO(cuEventRecordWithFlags_ptsz, cuEventRecordWithFlags);

CUresult sim_cuEventQuery(CUevent handle)
{
    struct sim_event *event;
    CUresult result = find(handle, &event);
    if (!result)
        result = sim_capture_unsafe();
    if (result)
        return result;
    if (event->capture)
        return CUDA_ERROR_CAPTURED_EVENT;
    if (event->ctx->sticky)
        return event->ctx->sticky;
    if (!event->op || event->op->done)
        return CUDA_SUCCESS;
    if (++event->refusals >= sim_config.patience)
        sim_op_demand(event->op);
    return CUDA_ERROR_NOT_READY;
}

CUresult sim_cuEventSynchronize(CUevent handle)
{
    struct sim_event *event;
    CUresult result = find(handle, &event);
    if (!result)
        result = sim_capture_unsafe();
    if (result)
        return result;
    if (event->capture)
        return CUDA_ERROR_CAPTURED_EVENT;
    struct sim_ctx *ctx = event->ctx;
    if (event->op)
        sim_op_wait(event->op);
    return ctx->sticky;
}

static CUresult elapsed(float *ms, CUevent from, CUevent to)
{
    struct sim_event *start, *end;
    CUresult result = find(from, &start);
    if (!result)
        result = find(to, &end);
    if (result)
        return result;
    if (!ms)
        return CUDA_ERROR_INVALID_VALUE;
    if (start->capture || end->capture)
        return CUDA_ERROR_CAPTURED_EVENT;
    if (!start->op || !end->op || (start->flags | end->flags) & CU_EVENT_DISABLE_TIMING)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!start->op->done || !end->op->done)
        return CUDA_ERROR_NOT_READY;
    *ms = (float)((double)(int64_t)(end->op->done_ns - start->op->done_ns) / 1e6);
    return CUDA_SUCCESS;
}

CUresult sim_cuEventElapsedTime(float *ms, CUevent from, CUevent to)
{
    return elapsed(ms, from, to);
}

#if CUDA_VERSION >= 12080
CUresult sim_cuEventElapsedTime_v2(float *ms, CUevent from, CUevent to)
{
    return elapsed(ms, from, to);
}
#endif

#if CUDA_VERSION >= 12050
/* Context-wide record: the event is done when everything submitted to the context so far is. */
CUresult sim_cuCtxRecordEvent(CUcontext handle, CUevent event_handle)
{
    struct sim_ctx *ctx = sim_ctx_of(handle);
    struct sim_event *event;
    CUresult result = find(event_handle, &event);
    if (result)
        return result;
    if (!ctx || event->ctx != ctx)
        return CUDA_ERROR_INVALID_HANDLE;
    result = sim_capture_refuse_ctx(ctx);
    if (result)
        return result;
    struct sim_op *op = sim_op_new(ctx->legacy);
    if (!op)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (struct sim_stream *stream = ctx->streams; stream; stream = stream->next)
        sim_op_after(op, stream->tail);
    sim_op_hold(op);
    sim_stream_push(ctx->legacy, op);
    sim_event_set(event, op);
    sim_op_release(op);
    return CUDA_SUCCESS;
}

CUresult sim_cuCtxWaitEvent(CUcontext handle, CUevent event_handle)
{
    struct sim_ctx *ctx = sim_ctx_of(handle);
    struct sim_event *event;
    CUresult result = find(event_handle, &event);
    if (result)
        return result;
    if (!ctx)
        return CUDA_ERROR_INVALID_HANDLE;
    for (struct sim_stream *stream = ctx->streams; stream && event->op; stream = stream->next) {
        struct sim_op *op = sim_op_new(stream);
        if (!op)
            return CUDA_ERROR_OUT_OF_MEMORY;
        sim_op_after(op, event->op);
        sim_stream_push(stream, op);
    }
    return CUDA_SUCCESS;
}
#endif
