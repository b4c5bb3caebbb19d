/* Launches of every form, and operations that make a call fail or an object vanish. */
#include "tests/fuzz/execute.h"

#include <string.h>

union arguments {
    struct {
        unsigned int *data;
        unsigned int value, count;
    } plain;
    struct {
        unsigned int *out;
        const unsigned int *in;
        unsigned int key, count;
    } mix;
    struct {
        unsigned char small;
        unsigned int *data;
        unsigned short middle;
        double wide;
        unsigned int count;
    } gaps;
    struct {
        struct {
            unsigned char tag;
            unsigned int factor;
            unsigned long long bias;
        } pair;
        unsigned int *data;
        unsigned int count;
    } by_value;
    struct {
        unsigned int *data;
        unsigned int count;
    } scaled;
    struct {
        unsigned int words[1000];
        unsigned int *data;
    } large;
};

/* Fills the arguments and the pointers to them; the size of the block. Padding is filled with what comes to hand. */
static size_t fill(union arguments *u, void **params, const struct fuzz_op *op, size_t index)
{
    unsigned int *data = (unsigned int *)(uintptr_t)fuzz_state.buffers[op->a[3]].at;
    unsigned int value = (unsigned int)op->a[5];
    int n = 0;
    memset(u, (int)(index & 255), op->a[2] == FUZZ_LARGE ? sizeof(*u) : 64);
    switch (op->a[2]) {
    case FUZZ_MIX:
        u->mix.out = data;
        u->mix.in = (const unsigned int *)(uintptr_t)fuzz_state.buffers[op->a[4]].at;
        u->mix.key = value;
        u->mix.count = FUZZ_WORDS;
        params[n++] = &u->mix.out;
        params[n++] = &u->mix.in;
        params[n++] = &u->mix.key;
        params[n++] = &u->mix.count;
        return sizeof(u->mix);
    case FUZZ_GAPS:
        u->gaps.small = (unsigned char)value;
        u->gaps.data = data;
        u->gaps.middle = (unsigned short)(value >> 3);
        u->gaps.wide = (double)(value & 1023);
        u->gaps.count = FUZZ_WORDS;
        params[n++] = &u->gaps.small;
        params[n++] = &u->gaps.data;
        params[n++] = &u->gaps.middle;
        params[n++] = &u->gaps.wide;
        params[n++] = &u->gaps.count;
        return sizeof(u->gaps);
    case FUZZ_BY_VALUE:
        u->by_value.pair.tag = (unsigned char)value;
        u->by_value.pair.factor = 2 * value + 1;
        u->by_value.pair.bias = value / 7;
        u->by_value.data = data;
        u->by_value.count = FUZZ_WORDS;
        params[n++] = &u->by_value.pair;
        params[n++] = &u->by_value.data;
        params[n++] = &u->by_value.count;
        return sizeof(u->by_value);
    case FUZZ_SCALED:
        u->scaled.data = data;
        u->scaled.count = FUZZ_WORDS;
        params[n++] = &u->scaled.data;
        params[n++] = &u->scaled.count;
        return sizeof(u->scaled);
    case FUZZ_LARGE:
        for (unsigned int i = 0; i < 1000; i++)
            u->large.words[i] = value * (i % 13 + 1);
        u->large.data = data;
        params[n++] = &u->large.words;
        params[n++] = &u->large.data;
        return sizeof(u->large);
    default:
        u->plain.data = data;
        u->plain.value = value;
        u->plain.count = FUZZ_WORDS;
        params[n++] = &u->plain.data;
        params[n++] = &u->plain.value;
        params[n++] = &u->plain.count;
        return sizeof(u->plain);
    }
}

static unsigned int attributes(const struct fuzz_op *op, CUlaunchAttribute *attrs, size_t index)
{
    unsigned int n = 0;
    int set = op->a[10];
    memset(attrs, (int)(index * 37 & 255), 8 * sizeof(*attrs)); /* unions carry whatever the stack held */
    if (set & FUZZ_ATTR_CLUSTER) {
        attrs[n].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        attrs[n].value.clusterDim.x = set & FUZZ_ATTR_CLUSTER_Y ? 1 : 2;
        attrs[n].value.clusterDim.y = set & FUZZ_ATTR_CLUSTER_Y ? 2 : 1;
        attrs[n].value.clusterDim.z = 1;
        n++;
    }
    if (set & FUZZ_ATTR_PRIORITY) {
        attrs[n].id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
        attrs[n++].value.priority = -(op->a[5] & 1);
    }
    if (set & FUZZ_ATTR_OVERLAP) {
        attrs[n].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
        attrs[n++].value.programmaticStreamSerializationAllowed = 1;
    }
    if (set & (FUZZ_ATTR_COOPERATIVE | FUZZ_ATTR_NOT_COOPERATIVE)) {
        attrs[n].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
        attrs[n++].value.cooperative = (set & FUZZ_ATTR_COOPERATIVE) != 0;
    }
    if (set & FUZZ_ATTR_COMPLETION) {
        attrs[n].id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT;
        attrs[n].value.launchCompletionEvent.event = fuzz_state.events[op->a[11]];
        attrs[n++].value.launchCompletionEvent.flags = 0;
    }
    if (set & FUZZ_ATTR_EVENT) {
        attrs[n].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT;
        attrs[n].value.programmaticEvent.event = fuzz_state.events[op->a[11]];
        attrs[n].value.programmaticEvent.flags = 0;
        attrs[n++].value.programmaticEvent.triggerAtBlockStart = 0;
    }
    return n;
}

CUresult fuzz_launch(struct fuzz_runner *runner, const struct fuzz_op *op, size_t index)
{
    union arguments u;
    void *params[8];
    const int *a = op->a;
    struct fuzz_target to = fuzz_target(runner, a[0]);
    const struct fuzz_code *code = a[1] ? &fuzz_state.codes[a[1]] : &fuzz_state.own[to.ctx];
    CUfunction function = code->kernels[a[2]];
    size_t size = fill(&u, params, op, index);
    unsigned int g[3], b[3], shared = (unsigned int)a[8];
    for (int i = 0; i < 3; i++) {
        g[i] = (unsigned int)fuzz_grid(op, i);
        b[i] = (unsigned int)fuzz_block(op, i);
    }
    if (a[9] == FUZZ_EXTRA) {
        void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &u, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
        return cu_pt(cuLaunchKernel, to.per_thread)(function, g[0], g[1], g[2], b[0], b[1], b[2], shared, to.stream,
                                                    NULL, extra);
    }
    if (a[9] == FUZZ_EX) {
        CUlaunchAttribute attrs[8];
        CUlaunchConfig config = {.gridDimX = g[0], .gridDimY = g[1], .gridDimZ = g[2], .blockDimX = b[0]};
        config.blockDimY = b[1];
        config.blockDimZ = b[2];
        config.sharedMemBytes = shared;
        config.hStream = to.stream;
        config.numAttrs = attributes(op, attrs, index);
        config.attrs = config.numAttrs ? attrs : NULL;
        return cu_pt(cuLaunchKernelEx, to.per_thread)(&config, function, params, NULL);
    }
    if (a[9] == FUZZ_COOPERATIVE)
        return cu_pt(cuLaunchCooperativeKernel, to.per_thread)(function, g[0], g[1], g[2], b[0], b[1], b[2], shared,
                                                               to.stream, params);
    return cu_pt(cuLaunchKernel, to.per_thread)(function, g[0], g[1], g[2], b[0], b[1], b[2], shared, to.stream, params,
                                                NULL);
}

CUresult fuzz_step(CUfunction function, CUdeviceptr data, unsigned int value, CUstream stream, bool per_thread)
{
    unsigned int count = FUZZ_WORDS;
    void *params[] = {&data, &value, &count};
    return cu_pt(cuLaunchKernel, per_thread)(function, 1, 1, 1, FUZZ_WORDS, 1, 1, 0, stream, params, NULL);
}

/* Calls that the driver refuses, and calls with nothing to do. None has an effect. */
CUresult fuzz_bad(struct fuzz_runner *runner, const struct fuzz_op *op)
{
    struct fuzz_target to = fuzz_target(runner, op->a[1]);
    CUfunction step = fuzz_state.own[to.ctx].kernels[FUZZ_STEP];
    CUdeviceptr data = fuzz_state.buffers[op->a[2]].at;
    unsigned int value = 1, count = FUZZ_WORDS, junk[4] = {0};
    size_t size = 8;
    void *params[] = {&data, &value, &count}, *gap[] = {&data, NULL, &count};
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, junk, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    bool pt = to.per_thread;
    CUlaunchAttribute attr = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
    CUlaunchConfig config = {.gridDimX = 3, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 16, .blockDimY = 1};
    CUfunction found;
    config.blockDimZ = 1;
    config.hStream = to.stream;
    config.attrs = &attr;
    config.numAttrs = 1;
    attr.value.clusterDim.x = 2;
    attr.value.clusterDim.y = attr.value.clusterDim.z = 1;
    switch (op->a[0]) {
    case 0:
        return cu_pt(cuLaunchKernel, pt)(step, 0, 1, 1, FUZZ_WORDS, 1, 1, 0, to.stream, params, NULL);
    case 1:
        return cu_pt(cuLaunchKernel, pt)(step, 1, 1, 1, 2048, 1, 1, 0, to.stream, params, NULL);
    case 2:
        return cu_pt(cuLaunchKernel, pt)(step, 1, 1, 1, FUZZ_WORDS, 1, 1, 10u << 20, to.stream, params, NULL);
    case 3:
        return cu_pt(cuLaunchKernel, pt)(step, 1, 1, 1, FUZZ_WORDS, 1, 1, 0, to.stream, gap, NULL);
    case 4:
        return cu_pt(cuLaunchKernel, pt)(step, 1, 1, 1, FUZZ_WORDS, 1, 1, 0, to.stream, params, extra);
    case 5:
        return cu_pt(cuLaunchKernel, pt)(NULL, 1, 1, 1, FUZZ_WORDS, 1, 1, 0, to.stream, params, NULL);
    case 6: /* too few bytes of arguments */
        return cu_pt(cuLaunchKernel, pt)(step, 1, 1, 1, FUZZ_WORDS, 1, 1, 0, to.stream, NULL, extra);
    case 7:
        return cu_pt(cuLaunchKernel, pt)(step, 1, 70000, 1, FUZZ_WORDS, 1, 1, 0, to.stream, params, NULL);
    case 8: /* a cluster that does not divide the grid */
        return cu_pt(cuLaunchKernelEx, pt)(&config, step, params, NULL);
    case 9:
        return cu_pt(cuLaunchCooperativeKernel, pt)(step, 1u << 20, 1, 1, 1024, 1, 1, 0, to.stream, params);
    case 10: /* past the end */
        return cu_pt(cuMemcpyDtoDAsync, pt)(data, data + 4, 4 * FUZZ_WORDS, to.stream);
    case 11:
        return cu_pt(cuMemsetD32Async, pt)(data + 2, 1, 4, to.stream);
    case 12:
        return cu_pt(cuMemsetD32Async, pt)(16, 1, 4, to.stream);
    case 13:
        return cu_pt(cuMemcpyHtoDAsync, pt)(data, NULL, 16, to.stream);
    case 14:
        return cu(cuMemFree)(data + 4);
    case 15:
        return cu_pt(cuEventRecord, pt)(NULL, to.stream);
    case 16:
        return cu_pt(cuStreamWaitEvent, pt)(to.stream, NULL, 0);
    case 17:
        return cu(cuEventQuery)(NULL);
    case 18:
        return cu_pt(cuGraphLaunch, pt)(NULL, to.stream);
    case 19:
        return cu(cuModuleGetFunction)(&found, fuzz_state.own[to.ctx].module, "no such kernel");
    case 20: /* nothing to do */
        return cu_pt(cuMemcpyDtoDAsync, pt)(data, data, 0, to.stream);
    case 21:
        return cu_pt(cuMemsetD8Async, pt)(data, 1, 0, to.stream);
    case 22:
        return cu(cuMemFree)(0);
    case 23: { /* no current context */
        CUresult result = cu(cuCtxSetCurrent)(NULL);
        if (!result && runner->depth == 1)
            result = cu_pt(cuLaunchKernel, pt)(step, 1, 1, 1, FUZZ_WORDS, 1, 1, 0, to.stream, params, NULL);
        /* It was taken off the stack. */
        cu(cuCtxPushCurrent)(fuzz_state.ctxs[runner->stack[runner->depth - 1]]);
        return result;
    }
    case 24: /* a function of another context */
        return to.ctx ? cu_pt(cuLaunchKernel, pt)(fuzz_state.own[0].kernels[FUZZ_STEP], 1, 1, 1, FUZZ_WORDS, 1, 1, 0,
                                                  to.stream, params, NULL)
                      : CUDA_SUCCESS;
    case 25:
        return cu_pt(cuLaunchHostFunc, pt)(to.stream, NULL, NULL);
    case 26:
        return cu(cuStreamDestroy)(NULL);
    case 27:
        return cu_pt(cuMemFreeAsync, pt)(data + 4, to.stream);
    default:
        return cu_pt(cuLaunchKernel, pt)(step, 1, 1, 1, FUZZ_WORDS, 1, 1, 0, to.stream, NULL, NULL);
    }
}

/* The handle of a destroyed stream, and a new stream that gets the same handle while the old one still works. */
void fuzz_stale(struct fuzz_runner *runner, int what)
{
    CUfunction step = fuzz_state.own[0].kernels[FUZZ_STEP];
    CUdeviceptr data = fuzz_state.scratch;
    CUstream stream = NULL, again = NULL;
    CUevent event = NULL;
    unsigned int words[FUZZ_WORDS];
    bool pt = fuzz_state.program->ptsz;
    CUresult code = cu(cuStreamCreate)(&stream, what & 1);
    cu(cuEventCreate)(&event, 0);
    for (unsigned int i = 0; i < 20 && !code; i++)
        code = fuzz_step(step, data, i, stream, pt);
    fuzz_note(runner, " first=%d", code);
    if (what == 7) {
        code = cu_pt(cuEventRecord, pt)(event, stream);
        fuzz_note(runner, " record=%d", code);
        code = cu(cuStreamDestroy)(stream);
        fuzz_note(runner, " destroy=%d", code);
        code = cu(cuStreamCreate)(&again, 1);
        fuzz_note(runner, " same=%d", again == stream);
        code = cu_pt(cuStreamWaitEvent, pt)(again, event, 0);
        for (unsigned int i = 0; i < 20 && !code; i++)
            code = fuzz_step(step, data, 3 * i, again, pt);
        fuzz_note(runner, " second=%d", code);
        fuzz_note(runner, " sync=%d", cu_pt(cuStreamSynchronize, pt)(again));
        cu(cuStreamDestroy)(again);
    } else {
        fuzz_note(runner, " sync=%d", cu_pt(cuStreamSynchronize, pt)(stream));
        fuzz_note(runner, " destroy=%d", cu(cuStreamDestroy)(stream));
        switch (what) {
        case 0:
            code = fuzz_step(step, data, 7, stream, pt);
            break;
        case 1:
            code = cu_pt(cuEventRecord, pt)(event, stream);
            break;
        case 2:
            code = cu_pt(cuStreamSynchronize, pt)(stream);
            break;
        case 3:
            code = cu_pt(cuStreamQuery, pt)(stream);
            break;
        case 4:
            code = cu(cuStreamDestroy)(stream);
            break;
        case 5:
            code = cu_pt(cuMemsetD32Async, pt)(data, 5, 4, stream);
            break;
        default:
            code = cu_pt(cuStreamWaitEvent, pt)(stream, event, 0);
        }
        fuzz_note(runner, " stale=%d", code);
    }
    code = cu(cuMemcpyDtoH)(words, data, sizeof(words));
    fuzz_note(runner, " read=%d:%016llx", code, (unsigned long long)fuzz_hash(FUZZ_HASH_START, words, sizeof(words)));
    cu(cuEventDestroy)(event);
}

CUresult fuzz_info(struct fuzz_runner *runner, const struct fuzz_op *op, int *value)
{
    struct fuzz_target to = fuzz_target(runner, op->a[1]);
    CUresult result = CUDA_SUCCESS;
    CUcontext ctx = NULL;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUmemorytype type = (CUmemorytype)0;
    CUfunction function = NULL;
    unsigned int flags = 0;
    size_t unused = 0, total = 0;
    *value = 0;
    switch (op->a[0]) {
    case 0:
        result = cu_pt(cuStreamGetFlags, to.per_thread)(to.stream, &flags);
        *value = (int)flags;
        break;
    case 1:
        result = cu_pt(cuStreamGetPriority, to.per_thread)(to.stream, value);
        break;
    case 2:
        result = cu_pt(cuStreamGetCtx, to.per_thread)(to.stream, &ctx);
        *value = ctx == fuzz_state.ctxs[to.ctx];
        break;
    case 3:
        result = cu(cuCtxGetCurrent)(&ctx);
        *value = ctx == fuzz_state.ctxs[runner->stack[runner->depth - 1]];
        break;
    case 4:
        result = cu_pt(cuStreamIsCapturing, to.per_thread)(to.stream, &status);
        *value = (int)status;
        break;
    case 5:
        result = cu(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, fuzz_state.scratch);
        *value = (int)type;
        break;
    case 6:
        result = cu(cuModuleGetFunction)(&function, fuzz_state.own[to.ctx].module, "step");
        *value = function == fuzz_state.own[to.ctx].kernels[FUZZ_STEP];
        break;
    case 7: /* how much is free is not the program's alone */
        result = cu(cuMemGetInfo)(&unused, &total);
        *value = (int)(total >> 20) + (unused > total);
        break;
    default:
        result = cu(cuFuncGetAttribute)(value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                                        fuzz_state.own[to.ctx].kernels[FUZZ_STEP]);
    }
    return result;
}

/* Host and kernel take turns in pinned memory; the host makes no call meanwhile. */
CUresult fuzz_duel(struct fuzz_runner *runner, const struct fuzz_op *op, unsigned int *seen)
{
    struct fuzz_target to = fuzz_target(runner, op->a[0]);
    unsigned int *flag = fuzz_host(&fuzz_state.buffers[op->a[1]]);
    CUdeviceptr at = fuzz_state.buffers[op->a[1]].at;
    unsigned long long limit = 5000000000u;
    void *params[] = {&at, &limit};
    CUfunction turn;
    *seen = 0;
    CUresult result = cu(cuModuleGetFunction)(&turn, fuzz_state.own[to.ctx].module, "turn");
    __atomic_store_n(flag, 0, __ATOMIC_RELEASE);
    /* Twice: the first launch of a function is never held. */
    for (int round = 0; round < 2 && !result; round++) {
        result = cu_pt(cuLaunchKernel, to.per_thread)(turn, 1, 1, 1, 1, 1, 1, 0, to.stream, params, NULL);
        for (unsigned int wanted = 1; wanted <= 3 && !result; wanted += 2) {
            unsigned int us = 0;
            for (int i = 0; i < 10000 && __atomic_load_n(flag, __ATOMIC_ACQUIRE) != wanted; i++)
                fuzz_wait_more(&us);
            *seen = 4 * *seen + __atomic_load_n(flag, __ATOMIC_ACQUIRE);
            if (wanted == 1)
                __atomic_store_n(flag, 2, __ATOMIC_RELEASE);
        }
    }
    return result;
}

CUresult fuzz_signal(struct fuzz_runner *runner, const struct fuzz_op *op)
{
    struct fuzz_target to = fuzz_target(runner, op->a[0]);
    CUdeviceptr at = fuzz_state.buffers[op->a[1]].at;
    unsigned int value = (unsigned int)op->a[2];
    void *params[] = {&at, &value};
    return cu_pt(cuLaunchKernel, to.per_thread)(fuzz_state.own[to.ctx].signal, 1, 1, 1, 1, 1, 1, 0, to.stream, params,
                                                NULL);
}

bool fuzz_watch(const struct fuzz_op *op)
{
    const unsigned int *cell = fuzz_host(&fuzz_state.buffers[op->a[0]]);
    unsigned int us = 0;
    for (int i = 0; i < 5000; i++) {
        if (__atomic_load_n(cell, __ATOMIC_ACQUIRE) == (unsigned int)op->a[1])
            return true;
        fuzz_wait_more(&us);
    }
    return false;
}

/* Most of a small device's memory, for a moment. */
void fuzz_hoard(struct fuzz_runner *runner, int mb, bool pitch)
{
    CUdeviceptr data = 0;
    size_t size = (size_t)mb << 20, width = 0;
    unsigned int words[FUZZ_WORDS] = {0};
    CUresult result = pitch ? cu(cuMemAllocPitch)(&data, &width, 4096, size / 4096, 4) : cu(cuMemAlloc)(&data, size);
    fuzz_note(runner, " alloc=%d", result);
    if (result)
        return;
    data += size - sizeof(words);
    fuzz_note(runner, " set=%d", cu(cuMemsetD32)(data, (unsigned int)mb, FUZZ_WORDS));
    result = cu(cuMemcpyDtoH)(words, data, sizeof(words));
    fuzz_note(runner, " read=%d:%016llx", result, (unsigned long long)fuzz_hash(FUZZ_HASH_START, words, sizeof(words)));
    fuzz_note(runner, " free=%d", cu(cuMemFree)(data + sizeof(words) - size));
}

/* A context of its own in which a kernel faults after some that do not. */
void fuzz_poison(struct fuzz_runner *runner, int launches)
{
    struct fuzz_code code = {0};
    CUcontext ctx, before;
    CUstream stream = NULL;
    CUevent event = NULL;
    CUdeviceptr data = 0;
    CUfunction fault = NULL;
    int error = CUDA_ERROR_ILLEGAL_ADDRESS;
    void *params[] = {&error};
    bool pt = fuzz_state.program->ptsz;
#if CUDA_VERSION >= 13000
    CUresult result = cu(cuCtxCreate)(&ctx, NULL, 0, 0);
#else
    CUresult result = cu(cuCtxCreate)(&ctx, 0, 0);
#endif
    fuzz_note(runner, " ctx=%d", result);
    if (result)
        return;
    if (fuzz_load(&code, false, 0) && !cu(cuMemAlloc)(&data, 4 * FUZZ_WORDS) && !cu(cuStreamCreate)(&stream, 0) &&
        !cu(cuEventCreate)(&event, 0) && !cu(cuModuleGetFunction)(&fault, code.module, "fault")) {
        for (int i = 0; i < launches; i++)
            fuzz_note(runner, " %d", fuzz_step(code.kernels[FUZZ_STEP], data, (unsigned int)i, stream, pt));
        result = cu_pt(cuLaunchKernel, pt)(fault, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL);
        fuzz_note(runner, " fault=%d", result);
        fuzz_note(runner, " sync=%d", cu(cuCtxSynchronize)());
        for (unsigned int i = 0; i < 3; i++)
            fuzz_note(runner, " %d", fuzz_step(code.kernels[FUZZ_STEP], data, i, stream, pt));
        fuzz_note(runner, " set=%d", cu_pt(cuMemsetD32Async, pt)(data, 0, 4, stream));
        fuzz_note(runner, " record=%d", cu_pt(cuEventRecord, pt)(event, stream));
        fuzz_note(runner, " query=%d", cu_pt(cuStreamQuery, pt)(stream));
        fuzz_note(runner, " sync=%d", cu_pt(cuStreamSynchronize, pt)(stream));
    }
    fuzz_note(runner, " destroy=%d", cu(cuCtxDestroy)(ctx));
    before = NULL;
    result = cu(cuCtxGetCurrent)(&before);
    fuzz_note(runner, " back=%d:%d", result, before == fuzz_state.ctxs[runner->stack[runner->depth - 1]]);
}
