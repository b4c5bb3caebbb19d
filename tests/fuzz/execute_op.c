/* One operation: the calls that it stands for, and its line in the log. */
#include "tests/fuzz/execute.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- host functions ---- */
static struct fuzz_call *call_new(void)
{
    struct fuzz_call *call = calloc(1, sizeof(*call));
    if (!call)
        abort();
    pthread_mutex_lock(&fuzz_state.mutex);
    call->next = fuzz_state.calls;
    fuzz_state.calls = call;
    pthread_mutex_unlock(&fuzz_state.mutex);
    return call;
}

static void CUDA_CB scramble(void *data)
{
    const struct fuzz_call *call = data;
    for (unsigned int i = 0; i < FUZZ_WORDS; i++)
        call->words[i] = call->words[i] * 9 + call->value;
}

static void CUDA_CB scramble_stream(CUstream stream, CUresult status, void *data)
{
    (void)stream, (void)status;
    scramble(data);
}

static void CUDA_CB stand(void *data)
{
    const struct fuzz_call *call = data;
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 20;
    pthread_mutex_lock(&fuzz_state.mutex);
    while (!fuzz_state.gates[call->gate] && !pthread_cond_timedwait(&fuzz_state.opened, &fuzz_state.mutex, &end))
        ;
    pthread_mutex_unlock(&fuzz_state.mutex);
}

static CUresult host(const struct fuzz_op *op, struct fuzz_target to)
{
    struct fuzz_call *call = call_new();
    call->words = fuzz_host(&fuzz_state.buffers[op->a[1]]);
    call->value = (unsigned int)op->a[2];
    return op->a[3] ? cu_pt(cuStreamAddCallback, to.per_thread)(to.stream, scramble_stream, call, 0)
                    : cu_pt(cuLaunchHostFunc, to.per_thread)(to.stream, scramble, call);
}

static CUresult gate(const struct fuzz_op *op, struct fuzz_target to)
{
    struct fuzz_call *call = call_new();
    call->gate = op->a[1];
    return cu_pt(cuLaunchHostFunc, to.per_thread)(to.stream, stand, call);
}

/* ---- memory ---- */
static CUresult copy(const struct fuzz_op *op, struct fuzz_target to)
{
    const struct fuzz_buffer *dst = &fuzz_state.buffers[op->a[1]], *src = &fuzz_state.buffers[op->a[2]];
    size_t size = 4 * (size_t)op->a[3];
    bool to_host = fuzz_host(dst) && dst->kind != FUZZ_MANAGED, from_host = fuzz_host(src) && src->kind != FUZZ_MANAGED;
    bool pt = to.per_thread;
    switch (op->a[4]) {
    case FUZZ_COPY_ASYNC:
        return cu_pt(cuMemcpyAsync, pt)(dst->at, src->at, size, to.stream);
    case FUZZ_COPY_TYPED:
        return from_host ? cu_pt(cuMemcpyHtoDAsync, pt)(dst->at, fuzz_host(src), size, to.stream)
               : to_host ? cu_pt(cuMemcpyDtoHAsync, pt)(fuzz_host(dst), src->at, size, to.stream)
                         : cu_pt(cuMemcpyDtoDAsync, pt)(dst->at, src->at, size, to.stream);
    case FUZZ_COPY_2D:
    case FUZZ_COPY_2D_SYNC:
    case FUZZ_COPY_2D_UNALIGNED: {
        CUDA_MEMCPY2D shape = {.srcMemoryType = from_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
                               .dstMemoryType = to_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
                               .srcPitch = 32,
                               .dstPitch = 32,
                               .WidthInBytes = size < 32                ? size
                                               : size == 4 * FUZZ_WORDS ? 32
                                                                        : 16,
                               .Height = size < 32 ? 1 : size / 32};
        shape.srcHost = from_host ? fuzz_host(src) : NULL;
        shape.dstHost = to_host ? fuzz_host(dst) : NULL;
        shape.srcDevice = src->at;
        shape.dstDevice = dst->at;
        return op->a[4] == FUZZ_COPY_2D        ? cu_pt(cuMemcpy2DAsync, pt)(&shape, to.stream)
               : op->a[4] == FUZZ_COPY_2D_SYNC ? cu_pt(cuMemcpy2D, pt)(&shape)
                                               : cu_pt(cuMemcpy2DUnaligned, pt)(&shape);
    }
    case FUZZ_COPY_3D:
    case FUZZ_COPY_3D_SYNC: { /* of rows of 16 bytes, four to a slice: all, or the middle of each slice */
        bool all = size == 4 * FUZZ_WORDS;
        CUDA_MEMCPY3D shape = {.srcMemoryType = from_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
                               .dstMemoryType = to_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
                               .srcPitch = 16,
                               .dstPitch = 16,
                               .srcHeight = 4,
                               .dstHeight = 4,
                               .WidthInBytes = all ? 16 : 8,
                               .Height = all ? 4 : 2,
                               .Depth = all ? 4 : 1 + size / 64};
        shape.dstXInBytes = shape.dstY = all ? 0 : 1;
        shape.dstXInBytes *= 4;
        shape.srcHost = from_host ? fuzz_host(src) : NULL;
        shape.dstHost = to_host ? fuzz_host(dst) : NULL;
        shape.srcDevice = src->at;
        shape.dstDevice = dst->at;
        return op->a[4] == FUZZ_COPY_3D ? cu_pt(cuMemcpy3DAsync, pt)(&shape, to.stream) : cu_pt(cuMemcpy3D, pt)(&shape);
    }
    case FUZZ_COPY_PEER_SYNC:
        return cu_pt(cuMemcpyPeer, pt)(dst->at, fuzz_state.ctxs[dst->ctx], src->at, fuzz_state.ctxs[src->ctx], size);
    case FUZZ_COPY_PEER:
        return cu_pt(cuMemcpyPeerAsync, pt)(dst->at, fuzz_state.ctxs[dst->ctx], src->at, fuzz_state.ctxs[src->ctx],
                                            size, to.stream);
    case FUZZ_COPY_SYNC:
        return cu_pt(cuMemcpy, pt)(dst->at, src->at, size);
    default:
        return from_host ? cu_pt(cuMemcpyHtoD, pt)(dst->at, fuzz_host(src), size)
               : to_host ? cu_pt(cuMemcpyDtoH, pt)(fuzz_host(dst), src->at, size)
                         : cu_pt(cuMemcpyDtoD, pt)(dst->at, src->at, size);
    }
}

static CUresult set(const struct fuzz_op *op, struct fuzz_target to)
{
    CUdeviceptr dst = fuzz_state.buffers[op->a[1]].at;
    unsigned int value = (unsigned int)op->a[2];
    size_t count = 4 * (size_t)op->a[3] / (size_t)op->a[4];
    bool pt = to.per_thread;
    /* rows of 32 bytes: all of them, or the beginning of some */
    size_t words = (size_t)op->a[3], rows = (words + 7) / 8;
    size_t width = 4 * (words < 8 ? words : words == FUZZ_WORDS ? 8 : 1 + words % 7) / (size_t)op->a[4];
    if (op->a[5] == FUZZ_SET_2D)
        return op->a[4] == 1   ? cu_pt(cuMemsetD2D8Async, pt)(dst, 32, (unsigned char)value, width, rows, to.stream)
               : op->a[4] == 2 ? cu_pt(cuMemsetD2D16Async, pt)(dst, 32, (unsigned short)value, width, rows, to.stream)
                               : cu_pt(cuMemsetD2D32Async, pt)(dst, 32, value, width, rows, to.stream);
    if (op->a[5] == FUZZ_SET_2D_SYNC)
        return op->a[4] == 1   ? cu_pt(cuMemsetD2D8, pt)(dst, 32, (unsigned char)value, width, rows)
               : op->a[4] == 2 ? cu_pt(cuMemsetD2D16, pt)(dst, 32, (unsigned short)value, width, rows)
                               : cu_pt(cuMemsetD2D32, pt)(dst, 32, value, width, rows);
    if (op->a[5] == FUZZ_SET_SYNC)
        return op->a[4] == 1   ? cu_pt(cuMemsetD8, pt)(dst, (unsigned char)value, count)
               : op->a[4] == 2 ? cu_pt(cuMemsetD16, pt)(dst, (unsigned short)value, count)
                               : cu_pt(cuMemsetD32, pt)(dst, value, count);
    return op->a[4] == 1   ? cu_pt(cuMemsetD8Async, pt)(dst, (unsigned char)value, count, to.stream)
           : op->a[4] == 2 ? cu_pt(cuMemsetD16Async, pt)(dst, (unsigned short)value, count, to.stream)
                           : cu_pt(cuMemsetD32Async, pt)(dst, value, count, to.stream);
}

static CUresult fetch(struct fuzz_runner *runner, const struct fuzz_op *op, struct fuzz_target to)
{
    unsigned int words[FUZZ_WORDS] = {0};
    CUdeviceptr at = fuzz_state.buffers[op->a[1]].at;
    CUresult result = op->a[2] ? cu_pt(cuMemcpyDtoHAsync, to.per_thread)(words, at, sizeof(words), to.stream)
                               : cu_pt(cuMemcpyDtoH, to.per_thread)(words, at, sizeof(words));
    fuzz_note(runner, " %016llx", (unsigned long long)fuzz_hash(FUZZ_HASH_START, words, sizeof(words)));
    return result;
}

static void host_access(struct fuzz_runner *runner, const struct fuzz_op *op)
{
    unsigned int *words = fuzz_host(&fuzz_state.buffers[op->a[0]]);
    if (op->kind == FUZZ_host_write) {
        for (unsigned int i = 0; i < FUZZ_WORDS; i++)
            words[i] = (unsigned int)op->a[1] * (i + 1);
        return;
    }
    fuzz_note(runner, " %016llx", (unsigned long long)fuzz_hash(FUZZ_HASH_START, words, FUZZ_WORDS * sizeof(*words)));
}

/* ---- contexts ---- */
static CUresult ctx_new(int slot)
{
    CUcontext ctx = NULL;
#if CUDA_VERSION >= 13000
    CUresult result = cu(cuCtxCreate)(&ctx, NULL, 0, fuzz_state.devices[fuzz_ctx_device(slot)]);
#else
    CUresult result = cu(cuCtxCreate)(&ctx, 0, fuzz_state.devices[fuzz_ctx_device(slot)]);
#endif
    if (result)
        return result;
    fuzz_state.ctxs[slot] = ctx;
    if (!fuzz_load(&fuzz_state.own[slot], false, 0))
        result = CUDA_ERROR_UNKNOWN;
    cu(cuCtxPopCurrent)(&ctx);
    return result;
}

static CUresult ctx_del(int slot)
{
    CUresult result = cu(cuCtxDestroy)(fuzz_state.ctxs[slot]);
    fuzz_state.ctxs[slot] = NULL;
    for (int s = 0; s < FUZZ_STREAMS; s++)
        if (fuzz_state.streams[s] && fuzz_state.stream_ctx[s] == slot)
            fuzz_state.streams[s] = NULL;
    for (int e = 0; e < FUZZ_EVENTS; e++)
        if (fuzz_state.events[e] && fuzz_state.event_ctx[e] == slot)
            fuzz_state.events[e] = NULL;
    for (int b = 0; b < FUZZ_BUFFERS; b++)
        if (fuzz_state.buffers[b].live && fuzz_state.buffers[b].ctx == slot)
            fuzz_state.buffers[b].live = false;
    return result;
}

static CUresult ctx_current(struct fuzz_runner *runner, const struct fuzz_op *op)
{
    CUcontext popped = NULL;
    if (op->kind == FUZZ_ctx_pop) {
        CUresult result = cu(cuCtxPopCurrent)(&popped);
        fuzz_note(runner, " %d", popped == fuzz_state.ctxs[runner->stack[--runner->depth]]);
        return result;
    }
    if (op->kind == FUZZ_ctx_push)
        runner->depth++;
    runner->stack[runner->depth - 1] = op->a[0];
    return op->kind == FUZZ_ctx_push ? cu(cuCtxPushCurrent)(fuzz_state.ctxs[op->a[0]])
                                     : cu(cuCtxSetCurrent)(fuzz_state.ctxs[op->a[0]]);
}

/* ---- code ---- */
static CUresult function_attribute(struct fuzz_runner *runner, const struct fuzz_op *op)
{
    int ctx = runner->stack[runner->depth - 1];
    struct fuzz_code *code = op->a[0] ? &fuzz_state.codes[op->a[0]] : &fuzz_state.own[ctx];
    int limit = op->a[op->kind == FUZZ_func_attr ? 3 : 2];
    CUfunction function = code->kernels[limit ? FUZZ_THROUGH_ROOM : FUZZ_THROUGH_SHARED];
    CUfunction_attribute which = op->a[1] ? CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT
                                          : CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    if (op->kind == FUZZ_func_attr)
        return code->library ? cu(cuKernelSetAttribute)(which, op->a[2], (CUkernel)(void *)function, 0)
                             : cu(cuFuncSetAttribute)(function, which, op->a[2]);
    int value = -2;
    CUresult result = code->library ? cu(cuKernelGetAttribute)(&value, which, (CUkernel)(void *)function, 0)
                                    : cu(cuFuncGetAttribute)(&value, which, function);
    fuzz_note(runner, " %d", value);
    return result;
}

/* ---- waiting ---- */
static CUresult poll_stream(struct fuzz_target to)
{
    CUresult result = CUDA_ERROR_NOT_READY;
    unsigned int us = 0;
    for (int i = 0; i < 30000 && result == CUDA_ERROR_NOT_READY; i++) {
        result = cu_pt(cuStreamQuery, to.per_thread)(to.stream);
        if (i > 3)
            fuzz_wait_more(&us);
    }
    return result;
}

static CUresult poll_event(CUevent event)
{
    CUresult result = CUDA_ERROR_NOT_READY;
    unsigned int us = 0;
    for (int i = 0; i < 30000 && result == CUDA_ERROR_NOT_READY; i++) {
        result = cu(cuEventQuery)(event);
        if (i > 3)
            fuzz_wait_more(&us);
    }
    return result;
}

/* Wakes the thread that awaits the token only, and once the mutex is free. */
static void token(const struct fuzz_op *op)
{
    struct fuzz_state *s = &fuzz_state;
    int waits = -1;
    pthread_mutex_lock(&s->mutex);
    if (op->kind == FUZZ_post) {
        s->posted[op->a[0]] = true;
        for (int t = 0; t < FUZZ_THREADS; t++)
            if (s->awaited[t] == op->a[0])
                waits = t;
    } else {
        s->awaited[op->thread] = op->a[0];
        while (!s->posted[op->a[0]])
            pthread_cond_wait(&s->posted_for[op->thread], &s->mutex);
        s->awaited[op->thread] = -1;
    }
    pthread_mutex_unlock(&s->mutex);
    if (waits >= 0)
        pthread_cond_signal(&s->posted_for[waits]);
}

static CUresult capture(struct fuzz_runner *runner, const struct fuzz_op *op, struct fuzz_target to)
{
    static const CUstreamCaptureMode modes[] = {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                                                CU_STREAM_CAPTURE_MODE_RELAXED};
    if (op->kind == FUZZ_capture_begin) {
        runner->captured = to.stream;
        return cu_pt(cuStreamBeginCapture, to.per_thread)(to.stream, modes[op->a[1]]);
    }
    CUresult result = cu_pt(cuStreamEndCapture, to.per_thread)(to.stream, &fuzz_state.graphs[op->a[1]]);
    size_t nodes = 0;
    runner->captured = NULL;
    if (!result)
        result = cu(cuGraphGetNodes)(fuzz_state.graphs[op->a[1]], NULL, &nodes);
    fuzz_note(runner, " %zu", nodes);
    return result;
}

/* An event from the capture's stream to another, or back. */
static CUresult fork_join(const struct fuzz_runner *runner, const struct fuzz_op *op)
{
    CUstream other = fuzz_state.streams[op->a[0]];
    CUevent event = NULL;
    bool pt = fuzz_state.program->ptsz, fork = op->kind == FUZZ_fork;
    CUresult result = cu(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING);
    if (!result)
        result = cu_pt(cuEventRecord, pt)(event, fork ? runner->captured : other);
    if (!result)
        result = cu_pt(cuStreamWaitEvent, pt)(fork ? other : runner->captured, event, 0);
    cu(cuEventDestroy)(event);
    return result;
}

/* Operations whose call may fail as far as the model knows. */
static bool may_fail(const struct fuzz_op *op)
{
    return op->kind == FUZZ_bad || op->kind == FUZZ_func_attr ||
           (op->kind == FUZZ_launch && (fuzz_limit(op->a[2]) >= 0 || op->a[10] & FUZZ_ATTR_CLUSTER));
}

static CUresult run(struct fuzz_runner *runner, const struct fuzz_op *op, size_t index)
{
    const int *a = op->a;
    struct fuzz_state *s = &fuzz_state;
    struct fuzz_target to = {0};
    CUresult result = CUDA_SUCCESS;
    float ms;
    int value = 0;
    unsigned int seen;
    switch (op->kind) {
    case FUZZ_stream_new:
        s->stream_ctx[a[0]] = runner->stack[runner->depth - 1];
        return a[2] ? cu(cuStreamCreateWithPriority)(&s->streams[a[0]], (unsigned int)a[1], a[2])
                    : cu(cuStreamCreate)(&s->streams[a[0]], (unsigned int)a[1]);
    case FUZZ_stream_del:
        result = cu(cuStreamDestroy)(s->streams[a[0]]);
        s->streams[a[0]] = NULL;
        return result;
    case FUZZ_stream_sync:
        to = fuzz_target(runner, a[0]);
        return cu_pt(cuStreamSynchronize, to.per_thread)(to.stream);
    case FUZZ_stream_query:
        to = fuzz_target(runner, a[0]);
        result = cu_pt(cuStreamQuery, to.per_thread)(to.stream);
        return !op->certain && result == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : result;
    case FUZZ_stream_poll:
        return poll_stream(fuzz_target(runner, a[0]));
    case FUZZ_event_new:
        s->event_ctx[a[0]] = runner->stack[runner->depth - 1];
        return cu(cuEventCreate)(&s->events[a[0]], (unsigned int)a[1]);
    case FUZZ_event_del:
        result = cu(cuEventDestroy)(s->events[a[0]]);
        s->events[a[0]] = NULL;
        return result;
    case FUZZ_event_sync:
        return cu(cuEventSynchronize)(s->events[a[0]]);
    case FUZZ_event_query:
        result = cu(cuEventQuery)(s->events[a[0]]);
        return !op->certain && result == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : result;
    case FUZZ_event_poll:
        return poll_event(s->events[a[0]]);
    case FUZZ_elapsed:
        return cu(cuEventElapsedTime)(&ms, s->events[a[0]], s->events[a[1]]);
    case FUZZ_record:
        to = fuzz_target(runner, a[1]);
        return a[2] ? cu_pt(cuEventRecordWithFlags, to.per_thread)(s->events[a[0]], to.stream, 0)
                    : cu_pt(cuEventRecord, to.per_thread)(s->events[a[0]], to.stream);
    case FUZZ_wait:
        to = fuzz_target(runner, a[0]);
        return cu_pt(cuStreamWaitEvent, to.per_thread)(to.stream, s->events[a[1]], 0);
    case FUZZ_ctx_sync:
        return cu(cuCtxSynchronize)();
    case FUZZ_ctx_new:
        return ctx_new(a[0]);
    case FUZZ_ctx_del:
        return ctx_del(a[0]);
    case FUZZ_ctx_set:
    case FUZZ_ctx_push:
    case FUZZ_ctx_pop:
        return ctx_current(runner, op);
    case FUZZ_peer_on:
        return cu(cuCtxEnablePeerAccess)(s->ctxs[a[0]], 0);
    case FUZZ_buf_new:
        s->buffers[a[0]].ctx = runner->stack[runner->depth - 1];
        return fuzz_buffer_make(&s->buffers[a[0]], (enum fuzz_memory)a[1],
                                fuzz_target(runner, a[1] == FUZZ_POOL ? a[2] : -1), a[0]);
    case FUZZ_buf_del:
        return fuzz_buffer_free(&s->buffers[a[0]], fuzz_target(runner, s->buffers[a[0]].kind == FUZZ_POOL ? a[1] : -1));
    case FUZZ_host_write:
    case FUZZ_host_read:
        host_access(runner, op);
        return CUDA_SUCCESS;
    case FUZZ_fetch:
        return fetch(runner, op, fuzz_target(runner, a[0]));
    case FUZZ_copy:
        return copy(op, fuzz_target(runner, a[0]));
    case FUZZ_set:
        return set(op, fuzz_target(runner, a[0]));
    case FUZZ_set_global:
        to = fuzz_target(runner, a[0]);
        seen = (unsigned int)a[1];
        return cu_pt(cuMemcpyHtoDAsync, to.per_thread)(s->scale, &seen, sizeof(seen), to.stream);
    case FUZZ_launch:
        return fuzz_launch(runner, op, index);
    case FUZZ_host:
        return host(op, fuzz_target(runner, a[0]));
    case FUZZ_gate:
        return gate(op, fuzz_target(runner, a[0]));
    case FUZZ_open:
        fuzz_open(a[0]);
        return CUDA_SUCCESS;
    case FUZZ_flag_write:
        to = fuzz_target(runner, a[0]);
        return cu_pt(cuStreamWriteValue32, to.per_thread)(to.stream, s->flags + 4 * (CUdeviceptr)a[1], 1, 0);
    case FUZZ_flag_wait:
        to = fuzz_target(runner, a[0]);
        return cu_pt(cuStreamWaitValue32, to.per_thread)(to.stream, s->flags + 4 * (CUdeviceptr)a[1], 1,
                                                         CU_STREAM_WAIT_VALUE_EQ);
    case FUZZ_capture_begin:
    case FUZZ_capture_end:
        return capture(runner, op, fuzz_target(runner, a[0]));
    case FUZZ_fork:
    case FUZZ_join:
        return fork_join(runner, op);
    case FUZZ_instantiate:
        return cu(cuGraphInstantiateWithFlags)(&s->execs[a[1]], s->graphs[a[0]], 0);
    case FUZZ_graph_launch:
        to = fuzz_target(runner, a[1]);
        return cu_pt(cuGraphLaunch, to.per_thread)(s->execs[a[0]], to.stream);
    case FUZZ_graph_del:
        result = cu(cuGraphDestroy)(s->graphs[a[0]]);
        s->graphs[a[0]] = NULL;
        return result;
    case FUZZ_exec_del:
        result = cu(cuGraphExecDestroy)(s->execs[a[0]]);
        s->execs[a[0]] = NULL;
        return result;
    case FUZZ_code_load:
        return fuzz_load(&s->codes[a[0]], a[1] == 1, a[2]) ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
    case FUZZ_code_unload:
        fuzz_unload(&s->codes[a[0]]);
        return CUDA_SUCCESS;
    case FUZZ_func_attr:
    case FUZZ_func_get:
        return function_attribute(runner, op);
    case FUZZ_post:
    case FUZZ_await:
        token(op);
        return CUDA_SUCCESS;
    case FUZZ_bad:
        return fuzz_bad(runner, op);
    case FUZZ_stale:
        fuzz_stale(runner, a[0]);
        return CUDA_SUCCESS;
    case FUZZ_info:
        result = fuzz_info(runner, op, &value);
        fuzz_note(runner, " %d", value);
        return result;
    case FUZZ_duel:
        result = fuzz_duel(runner, op, &seen);
        fuzz_note(runner, " %u", seen);
        return result;
    case FUZZ_hoard:
        fuzz_hoard(runner, a[0], a[1] == 1);
        return CUDA_SUCCESS;
    case FUZZ_signal:
        return fuzz_signal(runner, op);
    case FUZZ_watch:
        return fuzz_watch(op) ? CUDA_SUCCESS : CUDA_ERROR_TIMEOUT;
    case FUZZ_poison:
        fuzz_poison(runner, a[1]);
        return CUDA_SUCCESS;
    case FUZZ_nap:
        fuzz_nap((unsigned int)a[0]);
        return CUDA_SUCCESS;
    case FUZZ_KINDS:
        break;
    }
    return CUDA_ERROR_UNKNOWN;
}

void fuzz_execute_op(struct fuzz_runner *runner, const struct fuzz_op *op, size_t index)
{
    fuzz_note(runner, "%zu %s", index, fuzz_op_name(op->kind));
    CUresult result = run(runner, op, index);
    fuzz_note(runner, " = %d\n", result);
    if (result && !may_fail(op))
        runner->unexpected++;
}
