/* Questions about contexts, and settings that change no order of work. */
#include "tests/sim/config.h"

CUresult sim_cuCtxGetDevice(CUdevice *device)
{
    struct sim_ctx *ctx;
    CUresult result = sim_ctx_current(&ctx);
    if (!result && !device)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *device = ctx->device;
    return result;
}

CUresult sim_cuCtxGetFlags(unsigned int *flags)
{
    struct sim_ctx *ctx;
    CUresult result = sim_ctx_current(&ctx);
    if (!result)
        *flags = ctx->flags;
    return result;
}

CUresult sim_cuCtxSetFlags(unsigned int flags)
{
    struct sim_ctx *ctx;
    CUresult result = sim_ctx_current(&ctx);
    if (!result)
        ctx->flags = flags;
    return result;
}

CUresult sim_cuCtxGetId(CUcontext handle, unsigned long long *id)
{
    struct sim_ctx *ctx = handle ? sim_ctx_of(handle) : sim_ctx_peek();
    if (!ctx)
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    *id = ctx->id;
    return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetApiVersion(CUcontext handle, unsigned int *version)
{
    if (handle ? !sim_ctx_of(handle) : !sim_ctx_peek())
        return CUDA_ERROR_INVALID_CONTEXT;
    *version = 3020;
    return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    struct sim_ctx *ctx;
    CUresult result = sim_ctx_current(&ctx);
    if (result)
        return result;
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    return CUDA_SUCCESS;
}

CUresult sim_cuCtxSetLimit(CUlimit limit, size_t value)
{
    struct sim_ctx *ctx;
    CUresult result = sim_ctx_current(&ctx);
    if (result)
        return result;
    if ((unsigned int)limit >= CU_LIMIT_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    ctx->limits[limit] = value;
    return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetLimit(size_t *value, CUlimit limit)
{
    struct sim_ctx *ctx;
    CUresult result = sim_ctx_current(&ctx);
    if (result)
        return result;
    if ((unsigned int)limit >= CU_LIMIT_MAX || !value)
        return CUDA_ERROR_INVALID_VALUE;
    *value = ctx->limits[limit];
    return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetCacheConfig(CUfunc_cache *config)
{
    struct sim_ctx *ctx;
    CUresult result = sim_ctx_current(&ctx);
    if (!result)
        *config = ctx->cache_config;
    return result;
}

CUresult sim_cuCtxSetCacheConfig(CUfunc_cache config)
{
    struct sim_ctx *ctx;
    CUresult result = sim_ctx_current(&ctx);
    if (!result)
        ctx->cache_config = config;
    return result;
}

CUresult sim_cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags)
{
    struct sim_ctx *ctx, *other = sim_ctx_of(peer);
    CUresult result = sim_ctx_current(&ctx);
    if (result)
        return result;
    if (!other || flags || other->device == ctx->device)
        return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_CONTEXT;
    if (ctx->peers[other->device])
        return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    ctx->peers[other->device] = other;
    return CUDA_SUCCESS;
}

CUresult sim_cuCtxDisablePeerAccess(CUcontext peer)
{
    struct sim_ctx *ctx, *other = sim_ctx_of(peer);
    CUresult result = sim_ctx_current(&ctx);
    if (result)
        return result;
    if (!other || !ctx->peers[other->device])
        return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    ctx->peers[other->device] = NULL;
    return CUDA_SUCCESS;
}
