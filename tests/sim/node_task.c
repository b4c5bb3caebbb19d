/* See node_task.h. Addresses of copy nodes are classified here, when the node is added or changed, as on real hardware:
 * a pinned source is resolved to what it is then (seen on an H200: a node that was set before its source was
 * unregistered and registered again at the same address fails). */
#include "tests/sim/node_task.h"
#include "tests/sim/module.h"
#include "tests/sim/report.h"
#include "samples/kernel_info.h"

/* One of a module's functions other than this one, whose arguments are no longer. */
static struct sim_func *other_function(struct sim_func *func)
{
    struct sim_module *module = func->module;
    for (size_t i = 0; i < module->n_funcs; i++) {
        const struct sim_kernel_info *info = module->funcs[i].info;
        if (&module->funcs[i] != func && !info->global && info->args_size <= func->info->args_size)
            return sim_module_func(module, info->name);
    }
    return func;
}

/* The call gets a field of its node wrong, when that is asked for. */
static void corrupt(struct sim_task *task)
{
    const char *field = sim_self.corrupt;
    if (!field)
        return;
    char *end;
    unsigned long byte = strtoul(field, &end, 10);
    unsigned int *number = NULL;
    if (task->kind == SIM_TASK_KERNEL) {
        if (*end == 0 && byte < task->u.kernel.args_size)
            task->u.kernel.args[byte] ^= 1;
        else if (!strcmp(field, "function"))
            task->u.kernel.func = other_function(task->u.kernel.func);
        else if (!strcmp(field, "grid"))
            number = &task->u.kernel.grid[0];
        else if (!strcmp(field, "block"))
            number = &task->u.kernel.block[0];
        else if (!strcmp(field, "shared"))
            number = &task->u.kernel.shared;
    } else if (task->kind == SIM_TASK_MEMSET) {
        task->u.set.dst += !strcmp(field, "target");
        task->u.set.width += !strcmp(field, "size");
        if (!strcmp(field, "value"))
            number = &task->u.set.value;
        else if (!strcmp(field, "element"))
            number = &task->u.set.element;
    } else if (task->kind == SIM_TASK_COPY) {
        task->u.copy.dst += !strcmp(field, "target");
        task->u.copy.src += !strcmp(field, "source");
        task->u.copy.width += !strcmp(field, "size");
    }
    if (number)
        ++*number;
}

static CUresult pick_ctx(CUcontext handle, struct sim_ctx **out)
{
    if (!handle)
        return sim_ctx_current(out);
    *out = sim_ctx_of(handle);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult sim_task_from_kernel(struct sim_task *task, const CUDA_KERNEL_NODE_PARAMS_v2 *p, struct sim_where *where)
{
    struct sim_func *func;
    if (!p)
        return CUDA_ERROR_INVALID_VALUE;
    where->kernel_handle = !p->func;
    if (p->func) {
        func = sim_handle_object(SIM_FUNC, p->func);
        struct sim_kernel *kernel = func ? NULL : sim_handle_object(SIM_KERNEL, p->func);
        if (kernel) {
            struct sim_ctx *ctx;
            CUresult result = sim_ctx_current(&ctx);
            if (!result)
                result = sim_kernel_func(kernel, ctx, &func);
            if (result)
                return result;
        }
        if (!func)
            return CUDA_ERROR_INVALID_HANDLE;
    } else {
        struct sim_kernel *kernel = sim_handle_object(SIM_KERNEL, p->kern);
        struct sim_ctx *ctx;
        CUresult result = pick_ctx(p->ctx, &ctx);
        if (!kernel)
            return CUDA_ERROR_INVALID_VALUE;
        if (!result)
            result = sim_kernel_func(kernel, ctx, &func);
        if (result)
            return result;
    }
    where->ctx = func->module->ctx;
    const unsigned int grid[3] = {p->gridDimX, p->gridDimY, p->gridDimZ};
    const unsigned int block[3] = {p->blockDimX, p->blockDimY, p->blockDimZ};
    CUresult result = sim_launch_task(task, func, grid, block, p->sharedMemBytes, p->kernelParams, p->extra);
    if (!result)
        corrupt(task);
    return result;
}

CUresult sim_task_from_kernel_v1(struct sim_task *task, const CUDA_KERNEL_NODE_PARAMS_v1 *p, struct sim_where *where)
{
    CUDA_KERNEL_NODE_PARAMS_v2 wide = {0};
    if (!p || !p->func)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(&wide, p, sizeof(*p));
    return sim_task_from_kernel(task, &wide, where);
}

CUresult sim_task_from_memset(struct sim_task *task, const CUDA_MEMSET_NODE_PARAMS *p, CUcontext ctx,
                              struct sim_where *where)
{
    if (!p || (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4) || !p->width || !p->height)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = pick_ctx(ctx, &where->ctx);
    if (result)
        return result;
    size_t extent = (p->height - 1) * p->pitch + p->width * p->elementSize;
    if (!sim_range_whole((uintptr_t)p->dst, extent) || p->dst % p->elementSize)
        return CUDA_ERROR_INVALID_VALUE;
    memset(task, 0, sizeof(*task));
    task->kind = SIM_TASK_MEMSET;
    task->u.set.dst = p->dst;
    task->u.set.pitch = p->pitch;
    task->u.set.value = p->value;
    task->u.set.element = p->elementSize;
    task->u.set.width = p->width;
    task->u.set.height = p->height;
    corrupt(task);
    return CUDA_SUCCESS;
}

CUresult sim_task_from_memcpy(struct sim_task *task, const CUDA_MEMCPY3D *p, CUcontext ctx, struct sim_where *where)
{
    if (!p || !p->WidthInBytes || !p->Height || !p->Depth)
        return CUDA_ERROR_INVALID_VALUE;
    if (p->srcMemoryType == CU_MEMORYTYPE_ARRAY || p->dstMemoryType == CU_MEMORYTYPE_ARRAY)
        return CUDA_ERROR_NOT_SUPPORTED;
    CUresult result = pick_ctx(ctx, &where->ctx);
    if (result)
        return result;
    uintptr_t src = p->srcMemoryType == CU_MEMORYTYPE_HOST ? (uintptr_t)p->srcHost : (uintptr_t)p->srcDevice;
    uintptr_t dst = p->dstMemoryType == CU_MEMORYTYPE_HOST ? (uintptr_t)p->dstHost : (uintptr_t)p->dstDevice;
    size_t src_pitch = p->srcPitch ? p->srcPitch : p->WidthInBytes,
           dst_pitch = p->dstPitch ? p->dstPitch : p->WidthInBytes;
    size_t src_slice = src_pitch * (p->srcHeight ? p->srcHeight : p->Height);
    size_t dst_slice = dst_pitch * (p->dstHeight ? p->dstHeight : p->Height);
    memset(task, 0, sizeof(*task));
    task->kind = SIM_TASK_COPY;
    task->u.copy.src = (const unsigned char *)(src + p->srcZ * src_slice + p->srcY * src_pitch + p->srcXInBytes);
    task->u.copy.dst = (unsigned char *)(dst + p->dstZ * dst_slice + p->dstY * dst_pitch + p->dstXInBytes);
    task->u.copy.src_pitch = src_pitch;
    task->u.copy.src_slice = src_slice;
    task->u.copy.dst_pitch = dst_pitch;
    task->u.copy.dst_slice = dst_slice;
    task->u.copy.width = p->WidthInBytes;
    task->u.copy.height = p->Height;
    task->u.copy.depth = p->Depth;
    /* A device address must be one. */
    if (p->srcMemoryType == CU_MEMORYTYPE_DEVICE && !sim_range_find((uintptr_t)task->u.copy.src))
        return CUDA_ERROR_INVALID_VALUE;
    if (p->dstMemoryType == CU_MEMORYTYPE_DEVICE && !sim_range_find((uintptr_t)task->u.copy.dst))
        return CUDA_ERROR_INVALID_VALUE;
    const struct sim_range *source = sim_range_find((uintptr_t)task->u.copy.src);
    task->u.copy.resolved = source && source->kind == SIM_MEM_HOST ? source->id : 0;
    corrupt(task);
    return CUDA_SUCCESS;
}

CUresult sim_task_from_host(struct sim_task *task, CUhostFn fn, void *data)
{
    if (!fn)
        return CUDA_ERROR_INVALID_VALUE;
    memset(task, 0, sizeof(*task));
    task->kind = SIM_TASK_HOST;
    task->u.host.fn = fn;
    task->u.host.data = data;
    return CUDA_SUCCESS;
}

CUresult sim_task_from_event(struct sim_task *task, enum sim_task_kind kind, CUevent handle)
{
    struct sim_event *event = sim_handle_object(SIM_EVENT, handle);
    if (!event)
        return CUDA_ERROR_INVALID_HANDLE;
    memset(task, 0, sizeof(*task));
    task->kind = kind;
    task->u.event.event = sim_event_hold(event);
    return CUDA_SUCCESS;
}

CUresult sim_task_from_child(struct sim_task *task, CUgraph handle)
{
    struct sim_graph *graph = sim_graph_of(handle);
    if (!graph)
        return CUDA_ERROR_INVALID_VALUE;
    memset(task, 0, sizeof(*task));
    task->kind = SIM_TASK_CHILD;
    task->u.graph.graph = sim_graph_clone(graph, true);
    if (!task->u.graph.graph)
        return CUDA_ERROR_OUT_OF_MEMORY;
    task->u.graph.graph->child = true;
    return CUDA_SUCCESS;
}

CUresult sim_task_from_any(struct sim_task *task, CUgraphNodeParams *p, struct sim_where *where)
{
    CUDA_KERNEL_NODE_PARAMS_v2 kernel;
    CUDA_MEMSET_NODE_PARAMS set;
    if (!p)
        return CUDA_ERROR_INVALID_VALUE;
    switch ((int)p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        _Static_assert(sizeof(kernel) == sizeof(p->kernel), "versions 2 and 3 have one layout");
        memcpy(&kernel, &p->kernel, sizeof(kernel));
        return sim_task_from_kernel(task, &kernel, where);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        memcpy(&set, &p->memset, sizeof(set));
        return sim_task_from_memset(task, &set, p->memset.ctx, where);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return sim_task_from_memcpy(task, &p->memcpy.copyParams, p->memcpy.copyCtx, where);
    case CU_GRAPH_NODE_TYPE_HOST:
        return sim_task_from_host(task, p->host.fn, p->host.userData);
    case CU_GRAPH_NODE_TYPE_EMPTY:
        memset(task, 0, sizeof(*task));
        return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return sim_task_from_event(task, SIM_TASK_RECORD, p->eventRecord.event);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return sim_task_from_event(task, SIM_TASK_WAIT, p->eventWait.event);
    case CU_GRAPH_NODE_TYPE_GRAPH:
        return sim_task_from_child(task, p->graph.graph);
    default:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
}

CUgraphNodeType sim_task_node_type(const struct sim_task *task)
{
    switch (task->kind) {
    case SIM_TASK_KERNEL:
        return CU_GRAPH_NODE_TYPE_KERNEL;
    case SIM_TASK_MEMSET:
        return CU_GRAPH_NODE_TYPE_MEMSET;
    case SIM_TASK_COPY:
        return CU_GRAPH_NODE_TYPE_MEMCPY;
    case SIM_TASK_HOST:
        return CU_GRAPH_NODE_TYPE_HOST;
    case SIM_TASK_RECORD:
        return CU_GRAPH_NODE_TYPE_EVENT_RECORD;
    case SIM_TASK_WAIT:
        return CU_GRAPH_NODE_TYPE_WAIT_EVENT;
    case SIM_TASK_CHILD:
    case SIM_TASK_GRAPH:
        return CU_GRAPH_NODE_TYPE_GRAPH;
    default:
        return CU_GRAPH_NODE_TYPE_EMPTY;
    }
}

void sim_task_to_kernel(struct sim_node *node, CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
    const struct sim_task *task = &node->task;
    const struct sim_kernel_info *info = task->u.kernel.func->info;
    memset(p, 0, sizeof(*p));
    p->func = task->u.kernel.func->handle;
    p->gridDimX = task->u.kernel.grid[0];
    p->gridDimY = task->u.kernel.grid[1];
    p->gridDimZ = task->u.kernel.grid[2];
    p->blockDimX = task->u.kernel.block[0];
    p->blockDimY = task->u.kernel.block[1];
    p->blockDimZ = task->u.kernel.block[2];
    p->sharedMemBytes = task->u.kernel.shared;
    memset(node->params, 0, sizeof(node->params));
    for (unsigned int i = 0; i < info->n_params; i++)
        node->params[i] = task->u.kernel.args + info->params[i].offset;
    p->kernelParams = node->params;
}

void sim_task_to_memset(const struct sim_task *task, CUDA_MEMSET_NODE_PARAMS *p)
{
    *p = (CUDA_MEMSET_NODE_PARAMS){
            .dst = task->u.set.dst,
            .pitch = task->u.set.pitch,
            .value = task->u.set.value,
            .elementSize = task->u.set.element,
            .width = task->u.set.width,
            .height = task->u.set.height,
    };
}

void sim_task_to_memcpy(const struct sim_task *task, CUDA_MEMCPY3D *p)
{
    memset(p, 0, sizeof(*p));
    bool src_host = !sim_range_find((uintptr_t)task->u.copy.src),
         dst_host = !sim_range_find((uintptr_t)task->u.copy.dst);
    p->srcMemoryType = src_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_UNIFIED;
    p->dstMemoryType = dst_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_UNIFIED;
    p->srcHost = task->u.copy.src;
    p->dstHost = task->u.copy.dst;
    p->srcDevice = (CUdeviceptr)(uintptr_t)task->u.copy.src;
    p->dstDevice = (CUdeviceptr)(uintptr_t)task->u.copy.dst;
    p->srcPitch = task->u.copy.src_pitch;
    p->dstPitch = task->u.copy.dst_pitch;
    p->WidthInBytes = task->u.copy.width;
    p->Height = task->u.copy.height;
    p->Depth = task->u.copy.depth;
}
