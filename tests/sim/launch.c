/* Kernel launches: validation and argument copying, as the real driver does at the call. */
#include "tests/sim/core.h"
#include "tests/sim/report.h"
#include "samples/kernel_info.h"

static CUresult from_extra(struct sim_task *task, size_t size, void **extra)
{
    const void *buffer = NULL;
    size_t given = 0;
    for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
            buffer = extra[1];
        else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
            given = *(size_t *)extra[1];
        else
            return CUDA_ERROR_INVALID_VALUE;
    }
    if (size && (!buffer || given < size))
        return CUDA_ERROR_INVALID_VALUE;
    if (size)
        memcpy(task->u.kernel.args, buffer, size);
    return CUDA_SUCCESS;
}

static CUresult from_params(struct sim_task *task, const struct sim_kernel_info *info, void **params)
{
    for (unsigned int i = 0; i < info->n_params; i++) {
        if (!params[i])
            return CUDA_ERROR_INVALID_VALUE;
        memcpy(task->u.kernel.args + info->params[i].offset, params[i], info->params[i].size);
    }
    return CUDA_SUCCESS;
}

CUresult sim_launch_task(struct sim_task *task, struct sim_func *func, const unsigned int grid[3],
                         const unsigned int block[3], unsigned int shared, void **params, void **extra)
{
    const struct sim_kernel_info *info = func->info;
    memset(task, 0, sizeof(*task));
    for (int i = 0; i < 3; i++)
        if (!grid[i] || !block[i])
            return CUDA_ERROR_INVALID_VALUE;
    if (grid[0] > 0x7fffffffu || grid[1] > 65535 || grid[2] > 65535 || block[0] > 1024 || block[1] > 1024 ||
        block[2] > 64 || (unsigned long long)block[0] * block[1] * block[2] > 1024)
        return CUDA_ERROR_INVALID_VALUE;
    if (shared > (unsigned int)func->max_shared)
        return CUDA_ERROR_INVALID_VALUE;
    if (params && extra)
        return CUDA_ERROR_INVALID_VALUE;
    if (!params && !extra && info->n_params)
        return CUDA_ERROR_INVALID_VALUE;
    task->kind = SIM_TASK_KERNEL;
    task->u.kernel.args_size = info->args_size;
    task->u.kernel.args = calloc(1, info->args_size + 1);
    if (!task->u.kernel.args)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = extra ? from_extra(task, info->args_size, extra) : from_params(task, info, params);
    if (result) {
        free(task->u.kernel.args);
        memset(task, 0, sizeof(*task));
        return result;
    }
    memcpy(task->u.kernel.grid, grid, sizeof(task->u.kernel.grid));
    memcpy(task->u.kernel.block, block, sizeof(task->u.kernel.block));
    task->u.kernel.shared = shared;
    task->u.kernel.func = func;
    sim_module_hold(func->module);
    return CUDA_SUCCESS;
}

/* Cooperative grids must be resident all at once. */
static CUresult check_cooperative(const struct sim_task *task)
{
    int blocks = 0;
    const unsigned int *grid = task->u.kernel.grid, *block = task->u.kernel.block;
    CUresult result = sim_cuOccupancyMaxActiveBlocksPerMultiprocessor(
            &blocks, task->u.kernel.func->handle, (int)(block[0] * block[1] * block[2]), task->u.kernel.shared);
    if (!result && (unsigned long long)grid[0] * grid[1] * grid[2] > (unsigned long long)blocks * 132)
        result = CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
    return result;
}

static CUresult add_attrs(struct sim_task *task, const CUlaunchConfig *config)
{
    if (config->numAttrs > SIM_ATTRS_MAX || (config->numAttrs && !config->attrs))
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned int i = 0; i < config->numAttrs; i++) {
        const CUlaunchAttribute *attr = &config->attrs[i];
        const unsigned int *grid = task->u.kernel.grid;
        unsigned int x = attr->value.clusterDim.x, y = attr->value.clusterDim.y, z = attr->value.clusterDim.z;
        switch ((int)attr->id) {
        case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
            if (attr->value.cooperative) {
                CUresult result = check_cooperative(task);
                if (result)
                    return result;
            }
            break;
        case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
            if (!x || !y || !z || grid[0] % x || grid[1] % y || grid[2] % z)
                return CUDA_ERROR_INVALID_VALUE;
            if ((unsigned long long)x * y * z > 8)
                return CUDA_ERROR_INVALID_CLUSTER_SIZE;
            break;
        case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
            if (!sim_handle_object(SIM_EVENT, attr->value.programmaticEvent.event))
                return CUDA_ERROR_INVALID_HANDLE;
            break;
        case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
            if (!sim_handle_object(SIM_EVENT, attr->value.launchCompletionEvent.event))
                return CUDA_ERROR_INVALID_HANDLE;
            break;
        default:
            if ((int)attr->id < 0 || (int)attr->id > 32)
                return CUDA_ERROR_INVALID_VALUE;
        }
        task->u.kernel.attrs[task->u.kernel.n_attrs++] = *attr;
    }
    return CUDA_SUCCESS;
}

/* Attributes 7 and 12 record events: here at the end of the kernel, the latest moment that CUDA allows. */
static CUresult record_events(const struct sim_task *task, CUevent events[SIM_ATTRS_MAX], unsigned int *n)
{
    *n = 0;
    for (unsigned int i = 0; i < task->u.kernel.n_attrs; i++) {
        if (task->u.kernel.attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT)
            events[(*n)++] = task->u.kernel.attrs[i].value.programmaticEvent.event;
        else if (task->u.kernel.attrs[i].id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT)
            events[(*n)++] = task->u.kernel.attrs[i].value.launchCompletionEvent.event;
    }
    return CUDA_SUCCESS;
}

static CUresult launch(const CUlaunchConfig *config, CUfunction handle, void **params, void **extra, bool cooperative)
{
    struct sim_stream *stream;
    struct sim_func *func;
    struct sim_ctx *ctx;
    struct sim_task task;
    CUevent events[SIM_ATTRS_MAX];
    unsigned int n_events;
    const unsigned int grid[3] = {config->gridDimX, config->gridDimY, config->gridDimZ};
    const unsigned int block[3] = {config->blockDimX, config->blockDimY, config->blockDimZ};
    CUresult result = sim_ctx_current(&ctx);
    if (!result)
        result = sim_stream_find(config->hStream, &stream);
    if (!result)
        result = sim_func_find(handle, stream->ctx, &func);
    if (!result)
        result = sim_launch_task(&task, func, grid, block, config->sharedMemBytes, params, extra);
    if (result)
        return result;
    sim_log_detail(" %s function=%p grid=%u,%u,%u block=%u,%u,%u shared=%u attrs=%u", func->info->name, (void *)handle,
                   grid[0], grid[1], grid[2], block[0], block[1], block[2], config->sharedMemBytes, config->numAttrs);
    result = add_attrs(&task, config);
    if (!result && cooperative)
        result = check_cooperative(&task);
    if (result) {
        sim_task_drop(&task);
        return result;
    }
    func->loaded = true;
    record_events(&task, events, &n_events);
    result = sim_stream_submit(stream, &task, NULL);
    for (unsigned int i = 0; !result && i < n_events; i++)
        result = sim_cuEventRecord(events[i], config->hStream);
    return result;
}

CUresult sim_cuLaunchKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
                            unsigned int by, unsigned int bz, unsigned int shared, CUstream stream, void **params,
                            void **extra)
{
    CUlaunchConfig config = {
            .gridDimX = gx, .gridDimY = gy, .gridDimZ = gz, .blockDimX = bx, .blockDimY = by, .blockDimZ = bz};
    config.sharedMemBytes = shared;
    config.hStream = stream;
    return launch(&config, f, params, extra, false);
}
SIM_ALSO(cuLaunchKernel_ptsz, cuLaunchKernel);

CUresult sim_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **params, void **extra)
{
    return config ? launch(config, f, params, extra, false) : CUDA_ERROR_INVALID_VALUE;
}
SIM_ALSO(cuLaunchKernelEx_ptsz, cuLaunchKernelEx);

CUresult sim_cuLaunchCooperativeKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
                                       unsigned int by, unsigned int bz, unsigned int shared, CUstream stream,
                                       void **params)
{
    CUlaunchConfig config = {
            .gridDimX = gx, .gridDimY = gy, .gridDimZ = gz, .blockDimX = bx, .blockDimY = by, .blockDimZ = bz};
    config.sharedMemBytes = shared;
    config.hStream = stream;
    return launch(&config, f, params, NULL, true);
}
SIM_ALSO(cuLaunchCooperativeKernel_ptsz, cuLaunchCooperativeKernel);
