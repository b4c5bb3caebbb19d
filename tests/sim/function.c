/* Functions: attributes, parameters, occupancy. */
#include "tests/sim/core.h"
#include "tests/sim/module.h"
#include "tests/sim/report.h"
#include "samples/kernel_info.h"

#define SHARED_OPTIN 232448

CUresult sim_func_find(CUfunction handle, struct sim_ctx *ctx, struct sim_func **out)
{
    *out = sim_handle_object(SIM_FUNC, handle);
    if (*out)
        return (*out)->module->ctx == ctx ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
    struct sim_kernel *kernel = sim_handle_object(SIM_KERNEL, handle);
    return kernel ? sim_kernel_func(kernel, ctx, out) : CUDA_ERROR_INVALID_HANDLE;
}

size_t sim_func_args_size(const struct sim_func *func)
{
    return func->info->args_size;
}

static struct sim_func *of(CUfunction handle)
{
    return sim_handle_object(SIM_FUNC, handle);
}

CUresult sim_cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction handle)
{
    struct sim_func *func = of(handle);
    if (!func)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!value)
        return CUDA_ERROR_INVALID_VALUE;
    switch ((int)attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = 1024;
        break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        *value = func->info->static_shared;
        break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
        *value = 32;
        break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        *value = 90;
        break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = func->max_shared;
        break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        *value = func->carveout;
        break;
    default:
        if (attribute < 0 || attribute >= CU_FUNC_ATTRIBUTE_MAX)
            return CUDA_ERROR_INVALID_VALUE;
        *value = 0;
    }
    return CUDA_SUCCESS;
}

/* What is set through the function is in force whatever is set through its kernel, before or after. */
static void set(int *to, bool *own, bool through_kernel, int value)
{
    if (through_kernel && *own)
        return;
    *to = value;
    *own = !through_kernel;
}

CUresult sim_func_set(CUfunction handle, CUfunction_attribute attribute, int value, bool through_kernel)
{
    struct sim_func *func = of(handle);
    if (!func)
        return CUDA_ERROR_INVALID_HANDLE;
    sim_log_detail(" function=%p attribute=%d value=%d", (void *)handle, (int)attribute, value);
    switch ((int)attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        if (value < 0 || value > SHARED_OPTIN - func->info->static_shared)
            return CUDA_ERROR_INVALID_VALUE;
        set(&func->max_shared, &func->own_max_shared, through_kernel, value);
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        if (value < -1 || value > 100)
            return CUDA_ERROR_INVALID_VALUE;
        set(&func->carveout, &func->own_carveout, through_kernel, value);
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult sim_cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value)
{
    return sim_func_set(handle, attribute, value, false);
}

CUresult sim_cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache config)
{
    (void)config;
    return of(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_cuFuncGetModule(CUmodule *out, CUfunction handle)
{
    struct sim_func *func = of(handle);
    if (!func)
        return CUDA_ERROR_INVALID_HANDLE;
    *out = func->module->handle;
    return CUDA_SUCCESS;
}

CUresult sim_cuFuncGetName(const char **name, CUfunction handle)
{
    struct sim_func *func = of(handle);
    if (!func)
        return CUDA_ERROR_INVALID_HANDLE;
    *name = func->info->name;
    return CUDA_SUCCESS;
}

CUresult sim_cuFuncGetParamInfo(CUfunction handle, size_t index, size_t *offset, size_t *size)
{
    struct sim_func *func = of(handle);
    if (!func)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!offset || index >= func->info->n_params)
        return CUDA_ERROR_INVALID_VALUE;
    *offset = func->info->params[index].offset;
    if (size)
        *size = func->info->params[index].size;
    return CUDA_SUCCESS;
}

CUresult sim_cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction handle)
{
    struct sim_func *func = of(handle);
    if (!func)
        return CUDA_ERROR_INVALID_HANDLE;
    *state = func->loaded ? CU_FUNCTION_LOADING_STATE_LOADED : CU_FUNCTION_LOADING_STATE_UNLOADED;
    return CUDA_SUCCESS;
}

CUresult sim_cuFuncLoad(CUfunction handle)
{
    struct sim_func *func = of(handle);
    if (!func)
        return CUDA_ERROR_INVALID_HANDLE;
    func->loaded = true;
    return CUDA_SUCCESS;
}

/* ---- occupancy: threads and shared memory are the only limits ---- */
CUresult sim_cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction handle, int block_size, size_t shared)
{
    struct sim_func *func;
    struct sim_ctx *ctx;
    CUresult result = sim_ctx_current(&ctx);
    if (!result)
        result = sim_func_find(handle, ctx, &func);
    if (result)
        return result;
    if (!blocks || block_size <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    *blocks = 0;
    if (block_size <= 1024 && shared <= (size_t)func->max_shared) {
        int by_shared = (int)(233472 / (shared + (size_t)func->info->static_shared + 1024));
        *blocks = 2048 / block_size;
        if (*blocks > 32)
            *blocks = 32;
        if (*blocks > by_shared)
            *blocks = by_shared;
    }
    return CUDA_SUCCESS;
}

CUresult sim_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction handle, int block_size,
                                                                  size_t shared, unsigned int flags)
{
    return flags & ~1u ? CUDA_ERROR_INVALID_VALUE
                       : sim_cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, handle, block_size, shared);
}

CUresult sim_cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction handle, CUoccupancyB2DSize shared_of,
                                              size_t shared, int limit)
{
    int blocks = 0;
    int size = limit > 0 && limit < 1024 ? limit : 1024;
    CUresult result = sim_cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, handle, size,
                                                                      shared_of ? shared_of(size) : shared);
    if (!result) {
        *block = size;
        *grid = blocks * 132;
    }
    return result;
}

CUresult sim_cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, CUfunction handle,
                                                       CUoccupancyB2DSize shared_of, size_t shared, int limit,
                                                       unsigned int flags)
{
    return flags & ~1u ? CUDA_ERROR_INVALID_VALUE
                       : sim_cuOccupancyMaxPotentialBlockSize(grid, block, handle, shared_of, shared, limit);
}

CUresult sim_cuOccupancyAvailableDynamicSMemPerBlock(size_t *size, CUfunction handle, int blocks, int block_size)
{
    (void)block_size;
    struct sim_func *func;
    struct sim_ctx *ctx;
    CUresult result = sim_ctx_current(&ctx);
    if (!result)
        result = sim_func_find(handle, ctx, &func);
    if (result)
        return result;
    if (blocks <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    *size = (size_t)(233472 / blocks - 1024 - func->info->static_shared);
    return CUDA_SUCCESS;
}

CUresult sim_cuOccupancyMaxActiveClusters(int *clusters, CUfunction handle, const CUlaunchConfig *config)
{
    if (!config || !clusters)
        return CUDA_ERROR_INVALID_VALUE;
    int blocks = 0;
    CUresult result = sim_cuOccupancyMaxActiveBlocksPerMultiprocessor(
            &blocks, handle, (int)(config->blockDimX * config->blockDimY * config->blockDimZ), config->sharedMemBytes);
    *clusters = blocks * 66;
    return result;
}
