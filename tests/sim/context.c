/* Initialisation and contexts: current-context stacks, primary contexts, destruction, poisoning.
 *
 * Context objects are never freed (workers and handles may still name them); their handles are reused at once.
 */
#include "tests/sim/config.h"
#include "tests/sim/report.h"
#include "tests/sim/state.h"

static struct {
    struct sim_ctx *ctx;
    int refs;
    unsigned int flags;
} primaries[SIM_DEVICES_MAX];
static struct sim_ctx *all;
static struct sim_ctx *ended; /* never freed: pending work and threads' stacks may refer to them */
static uint64_t next_id = 1;

static void forked(void)
{
    sim_state.forked = true;
}

static void at_exit(void)
{
    if (sim_state.forked)
        return; /* a forked child must not report for its parent */
    pthread_mutex_lock(&sim_lock);
    sim_report_at_exit();
    if (sim_config.deinit)
        sim_state.shut_down = true;
    sim_unlock();
}

CUresult sim_cuInit(unsigned int flags)
{
    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    if (sim_state.shut_down)
        return CUDA_ERROR_DEINITIALIZED;
    if (!sim_config.devices)
        return CUDA_ERROR_NO_DEVICE;
    if (!sim_state.initialized) {
        sim_state.initialized = true;
        pthread_atfork(NULL, NULL, forked);
        atexit(at_exit);
    }
    return CUDA_SUCCESS;
}

struct sim_ctx *sim_ctx_of(CUcontext handle)
{
    return sim_handle_object(SIM_CTX, handle);
}

struct sim_ctx *sim_ctx_peek(void)
{
    struct sim_ctx *ctx = NULL;
    return sim_ctx_current(&ctx) ? NULL : ctx;
}

CUresult sim_ctx_current(struct sim_ctx **out)
{
    if (!sim_self.depth || !sim_self.stack[sim_self.depth - 1].handle)
        return CUDA_ERROR_INVALID_CONTEXT;
    struct sim_ctx *ctx = sim_ctx_of(sim_self.stack[sim_self.depth - 1].handle);
    if (!ctx || ctx->id != sim_self.stack[sim_self.depth - 1].id)
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    *out = ctx;
    return CUDA_SUCCESS;
}

struct sim_ctx *sim_ctx_primary(int device)
{
    return primaries[device].ctx;
}

static struct sim_ctx *make(int device, unsigned int flags, bool primary)
{
    struct sim_ctx *ctx = calloc(1, sizeof(*ctx));
    if (!ctx)
        return NULL;
    ctx->id = next_id++;
    ctx->device = device;
    ctx->flags = flags;
    ctx->primary = primary;
    ctx->limits[CU_LIMIT_STACK_SIZE] = 1024;
    ctx->limits[CU_LIMIT_PRINTF_FIFO_SIZE] = 1048576;
    ctx->limits[CU_LIMIT_MALLOC_HEAP_SIZE] = 8388608;
    ctx->legacy = sim_stream_new(ctx, 0, 0);
    ctx->handle = sim_handle_make(SIM_CTX, ctx);
    if (!ctx->legacy || !ctx->handle)
        return NULL;
    ctx->legacy->legacy = true;
    ctx->next = all;
    all = ctx;
    return ctx;
}

void sim_ctx_drain(struct sim_ctx *ctx)
{
    /* Only what is pending now: other threads may go on enqueueing. */
    struct sim_op *tails[256];
    size_t n = 0;
    for (struct sim_stream *stream = ctx->streams; stream; stream = stream->next) {
        sim_cost_until(stream->device_ns);
        if (stream->tail && n < 256)
            tails[n++] = sim_op_hold(stream->tail);
    }
    for (size_t i = 0; i < n; i++) {
        sim_op_wait(tails[i]);
        sim_op_release(tails[i]);
    }
}

void sim_ctx_poison(struct sim_ctx *ctx, CUresult code)
{
    if (!ctx->sticky)
        __atomic_store_n(&ctx->sticky, code, __ATOMIC_RELEASE);
}

static void destroy(struct sim_ctx *ctx)
{
    sim_ctx_drain(ctx);
    ctx->dead = true;
    for (struct sim_ctx **at = &all, *other; (other = *at) != NULL;) {
        if (other->peers[ctx->device] == ctx)
            other->peers[ctx->device] = NULL;
        if (other == ctx)
            *at = other->next;
        else
            at = &other->next;
    }
    ctx->next = ended;
    ended = ctx;
    /* Handles first: draining released the lock, but nothing below does. */
    struct sim_stream *stream = ctx->streams;
    while (stream) {
        struct sim_stream *next = stream->next;
        if (stream->handle)
            sim_handle_free(SIM_STREAM, stream->handle);
        if (!stream->closing) /* destroyed by the program, its worker not gone yet */
            sim_stream_close(stream);
        stream = next;
    }
    sim_module_forget(ctx);
    sim_memory_forget(ctx);
    sim_handle_free(SIM_CTX, ctx->handle);
}

static bool push(struct sim_ctx *ctx)
{
    if (sim_self.depth == SIM_CTX_STACK_MAX)
        return false;
    sim_self.stack[sim_self.depth].handle = ctx ? ctx->handle : NULL;
    sim_self.stack[sim_self.depth++].id = ctx ? ctx->id : 0;
    return true;
}

static CUresult create(CUcontext *out, unsigned int flags, CUdevice device)
{
    if (!out || flags & ~(unsigned int)CU_CTX_FLAGS_MASK)
        return CUDA_ERROR_INVALID_VALUE;
    if (device < 0 || (unsigned long)device >= sim_config.devices)
        return CUDA_ERROR_INVALID_DEVICE;
    struct sim_ctx *ctx = make(device, flags, false);
    if (!ctx || !push(ctx))
        return CUDA_ERROR_OUT_OF_MEMORY;
    *out = ctx->handle;
    return CUDA_SUCCESS;
}

CUresult sim_cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
    return create(pctx, flags, dev);
}

CUresult sim_cuCtxCreate_v3(CUcontext *pctx, CUexecAffinityParam *params, int n, unsigned int flags, CUdevice dev)
{
    return params || n ? CUDA_ERROR_NOT_SUPPORTED : create(pctx, flags, dev);
}

#if CUDA_VERSION >= 12050
CUresult sim_cuCtxCreate_v4(CUcontext *pctx, CUctxCreateParams *params, unsigned int flags, CUdevice dev)
{
    return params && (params->execAffinityParams || params->cigParams) ? CUDA_ERROR_NOT_SUPPORTED
                                                                       : create(pctx, flags, dev);
}
#endif

CUresult sim_cuCtxDestroy_v2(CUcontext handle)
{
    struct sim_ctx *ctx = sim_ctx_of(handle);
    if (!ctx || ctx->primary)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (sim_self.depth && sim_self.stack[sim_self.depth - 1].id == ctx->id)
        sim_self.depth--;
    destroy(ctx);
    return CUDA_SUCCESS;
}
SIM_ALSO(cuCtxDestroy, cuCtxDestroy_v2);

CUresult sim_cuCtxPushCurrent_v2(CUcontext handle)
{
    struct sim_ctx *ctx = sim_ctx_of(handle);
    if (!ctx)
        return CUDA_ERROR_INVALID_CONTEXT;
    return push(ctx) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
SIM_ALSO(cuCtxPushCurrent, cuCtxPushCurrent_v2);

CUresult sim_cuCtxPopCurrent_v2(CUcontext *handle)
{
    if (!sim_self.depth)
        return CUDA_ERROR_INVALID_CONTEXT;
    sim_self.depth--;
    if (handle)
        *handle = sim_self.stack[sim_self.depth].handle;
    return CUDA_SUCCESS;
}
SIM_ALSO(cuCtxPopCurrent, cuCtxPopCurrent_v2);

CUresult sim_cuCtxSetCurrent(CUcontext handle)
{
    struct sim_ctx *ctx = handle ? sim_ctx_of(handle) : NULL;
    if (handle && !ctx)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (sim_self.depth)
        sim_self.depth--;
    if (ctx)
        push(ctx);
    return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetCurrent(CUcontext *handle)
{
    if (!handle)
        return CUDA_ERROR_INVALID_VALUE;
    *handle = sim_self.depth ? sim_self.stack[sim_self.depth - 1].handle : NULL;
    return CUDA_SUCCESS;
}

CUresult sim_cuCtxSynchronize(void)
{
    struct sim_ctx *ctx;
    CUresult result = sim_ctx_current(&ctx);
    if (!result)
        result = sim_capture_refuse_ctx(ctx);
    if (result)
        return result;
    sim_ctx_drain(ctx);
    return ctx->sticky;
}

static CUresult valid_device(CUdevice device)
{
    return device < 0 || (unsigned long)device >= sim_config.devices ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

CUresult sim_cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
    if (!pctx)
        return CUDA_ERROR_INVALID_VALUE;
    if (valid_device(dev))
        return CUDA_ERROR_INVALID_DEVICE;
    if (!primaries[dev].ctx)
        primaries[dev].ctx = make(dev, primaries[dev].flags, true);
    if (!primaries[dev].ctx)
        return CUDA_ERROR_OUT_OF_MEMORY;
    primaries[dev].refs++;
    *pctx = primaries[dev].ctx->handle;
    return CUDA_SUCCESS;
}

static void reset_primary(CUdevice dev)
{
    struct sim_ctx *ctx = primaries[dev].ctx;
    primaries[dev].ctx = NULL;
    if (ctx)
        destroy(ctx);
}

CUresult sim_cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
    if (valid_device(dev))
        return CUDA_ERROR_INVALID_DEVICE;
    if (!primaries[dev].refs)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!--primaries[dev].refs)
        reset_primary(dev);
    return CUDA_SUCCESS;
}
SIM_ALSO(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2);

CUresult sim_cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
    if (valid_device(dev))
        return CUDA_ERROR_INVALID_DEVICE;
    bool held = primaries[dev].refs > 0;
    unsigned int flags = primaries[dev].flags;
    reset_primary(dev);
    /* Retained contexts come back empty, usually under the same handle. */
    if (held)
        primaries[dev].ctx = make(dev, flags, true);
    return CUDA_SUCCESS;
}
SIM_ALSO(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2);

CUresult sim_cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags)
{
    if (valid_device(dev))
        return CUDA_ERROR_INVALID_DEVICE;
    primaries[dev].flags = flags;
    if (primaries[dev].ctx)
        primaries[dev].ctx->flags = flags;
    return CUDA_SUCCESS;
}
SIM_ALSO(cuDevicePrimaryCtxSetFlags, cuDevicePrimaryCtxSetFlags_v2);

CUresult sim_cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
    if (valid_device(dev))
        return CUDA_ERROR_INVALID_DEVICE;
    if (flags)
        *flags = primaries[dev].flags;
    if (active)
        *active = primaries[dev].ctx != NULL;
    return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 13000
CUresult sim_cuCtxSynchronize_v2(CUcontext handle)
{
    struct sim_ctx *ctx = sim_ctx_of(handle);
    CUresult result = ctx ? sim_capture_refuse_ctx(ctx) : CUDA_ERROR_INVALID_CONTEXT;
    if (result)
        return result;
    sim_ctx_drain(ctx);
    return ctx->sticky;
}

CUresult sim_cuCtxGetDevice_v2(CUdevice *device, CUcontext handle)
{
    struct sim_ctx *ctx = sim_ctx_of(handle);
    if (!ctx || !device)
        return ctx ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_CONTEXT;
    *device = ctx->device;
    return CUDA_SUCCESS;
}
#endif
