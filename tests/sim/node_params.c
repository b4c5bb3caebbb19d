/* Reading and changing the parameters of a graph's nodes (not of executable graphs: exec.c). */
#include "tests/sim/node_task.h"

static struct sim_node *typed(CUgraphNode handle, CUgraphNodeType type)
{
    struct sim_node *node = sim_node_of(handle);
    return node && node->type == type ? node : NULL;
}

/* Launch attributes stay with the node when its parameters change. */
static CUresult replace(struct sim_node *node, CUresult result, struct sim_task *task, const struct sim_where *where)
{
    if (result)
        return result;
    if (task->kind == SIM_TASK_KERNEL) {
        memcpy(task->u.kernel.attrs, node->task.u.kernel.attrs, sizeof(task->u.kernel.attrs));
        task->u.kernel.n_attrs = node->task.u.kernel.n_attrs;
    }
    sim_task_drop(&node->task);
    node->task = *task;
    node->ctx = where->ctx;
    node->kernel_handle = where->kernel_handle;
    return CUDA_SUCCESS;
}

CUresult sim_cuGraphKernelNodeGetParams_v2(CUgraphNode handle, CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
    struct sim_node *node = typed(handle, CU_GRAPH_NODE_TYPE_KERNEL);
    if (!node || !p)
        return CUDA_ERROR_INVALID_VALUE;
    sim_task_to_kernel(node, p);
    return CUDA_SUCCESS;
}

CUresult sim_cuGraphKernelNodeGetParams(CUgraphNode handle, CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
    CUDA_KERNEL_NODE_PARAMS_v2 wide;
    CUresult result = p ? sim_cuGraphKernelNodeGetParams_v2(handle, &wide) : CUDA_ERROR_INVALID_VALUE;
    if (!result)
        memcpy(p, &wide, sizeof(*p));
    return result;
}

CUresult sim_cuGraphKernelNodeSetParams_v2(CUgraphNode handle, const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
    struct sim_node *node = typed(handle, CU_GRAPH_NODE_TYPE_KERNEL);
    struct sim_task task;
    struct sim_where where = {0};
    return node ? replace(node, sim_task_from_kernel(&task, p, &where), &task, &where) : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuGraphKernelNodeSetParams(CUgraphNode handle, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
    struct sim_node *node = typed(handle, CU_GRAPH_NODE_TYPE_KERNEL);
    struct sim_task task;
    struct sim_where where = {0};
    return node ? replace(node, sim_task_from_kernel_v1(&task, p, &where), &task, &where) : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuGraphMemsetNodeGetParams(CUgraphNode handle, CUDA_MEMSET_NODE_PARAMS *p)
{
    struct sim_node *node = typed(handle, CU_GRAPH_NODE_TYPE_MEMSET);
    if (!node || !p)
        return CUDA_ERROR_INVALID_VALUE;
    sim_task_to_memset(&node->task, p);
    return CUDA_SUCCESS;
}

CUresult sim_cuGraphMemsetNodeSetParams(CUgraphNode handle, const CUDA_MEMSET_NODE_PARAMS *p)
{
    struct sim_node *node = typed(handle, CU_GRAPH_NODE_TYPE_MEMSET);
    struct sim_task task;
    struct sim_where where = {0};
    if (!node)
        return CUDA_ERROR_INVALID_VALUE;
    return replace(node, sim_task_from_memset(&task, p, node->ctx->handle, &where), &task, &where);
}

CUresult sim_cuGraphMemcpyNodeGetParams(CUgraphNode handle, CUDA_MEMCPY3D *p)
{
    struct sim_node *node = typed(handle, CU_GRAPH_NODE_TYPE_MEMCPY);
    if (!node || !p)
        return CUDA_ERROR_INVALID_VALUE;
    sim_task_to_memcpy(&node->task, p);
    return CUDA_SUCCESS;
}

CUresult sim_cuGraphMemcpyNodeSetParams(CUgraphNode handle, const CUDA_MEMCPY3D *p)
{
    struct sim_node *node = typed(handle, CU_GRAPH_NODE_TYPE_MEMCPY);
    struct sim_task task;
    struct sim_where where = {0};
    if (!node)
        return CUDA_ERROR_INVALID_VALUE;
    return replace(node, sim_task_from_memcpy(&task, p, node->ctx->handle, &where), &task, &where);
}

CUresult sim_cuGraphHostNodeGetParams(CUgraphNode handle, CUDA_HOST_NODE_PARAMS *p)
{
    struct sim_node *node = typed(handle, CU_GRAPH_NODE_TYPE_HOST);
    if (!node || !p)
        return CUDA_ERROR_INVALID_VALUE;
    p->fn = node->task.u.host.fn;
    p->userData = node->task.u.host.data;
    return CUDA_SUCCESS;
}

CUresult sim_cuGraphHostNodeSetParams(CUgraphNode handle, const CUDA_HOST_NODE_PARAMS *p)
{
    struct sim_node *node = typed(handle, CU_GRAPH_NODE_TYPE_HOST);
    if (!node || !p || !p->fn)
        return CUDA_ERROR_INVALID_VALUE;
    node->task.u.host.fn = p->fn;
    node->task.u.host.data = p->userData;
    return CUDA_SUCCESS;
}

static CUresult get_event(CUgraphNode handle, CUgraphNodeType type, CUevent *out)
{
    struct sim_node *node = typed(handle, type);
    if (!node || !out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = node->task.u.event.event->handle;
    return CUDA_SUCCESS;
}

CUresult sim_cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent *out)
{
    return get_event(node, CU_GRAPH_NODE_TYPE_EVENT_RECORD, out);
}

CUresult sim_cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent *out)
{
    return get_event(node, CU_GRAPH_NODE_TYPE_WAIT_EVENT, out);
}

CUresult sim_cuGraphNodeSetParams(CUgraphNode handle, CUgraphNodeParams *p)
{
    struct sim_node *node = sim_node_of(handle);
    struct sim_task task;
    struct sim_where where = {0};
    if (!node || !p || node->type != p->type || p->type == CU_GRAPH_NODE_TYPE_GRAPH)
        return CUDA_ERROR_INVALID_VALUE;
    return replace(node, sim_task_from_any(&task, p, &where), &task, &where);
}

/* ---- kernel node attributes ---- */
CUresult sim_cuGraphKernelNodeSetAttribute(CUgraphNode handle, CUkernelNodeAttrID id,
                                           const CUkernelNodeAttrValue *value)
{
    struct sim_node *node = typed(handle, CU_GRAPH_NODE_TYPE_KERNEL);
    if (!node || !value)
        return CUDA_ERROR_INVALID_VALUE;
    /* Serialisation and events belong to launches, not to nodes. */
    if (id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION || id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT ||
        id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT || id == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY)
        return CUDA_ERROR_INVALID_VALUE;
    struct sim_task *task = &node->task;
    unsigned int i = 0;
    while (i < task->u.kernel.n_attrs && task->u.kernel.attrs[i].id != id)
        i++;
    if (i == SIM_ATTRS_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    if (i == task->u.kernel.n_attrs)
        task->u.kernel.n_attrs++;
    task->u.kernel.attrs[i].id = id;
    task->u.kernel.attrs[i].value = *value;
    return CUDA_SUCCESS;
}

CUresult sim_cuGraphKernelNodeGetAttribute(CUgraphNode handle, CUkernelNodeAttrID id, CUkernelNodeAttrValue *value)
{
    struct sim_node *node = typed(handle, CU_GRAPH_NODE_TYPE_KERNEL);
    if (!node || !value)
        return CUDA_ERROR_INVALID_VALUE;
    memset(value, 0, sizeof(*value));
    for (unsigned int i = 0; i < node->task.u.kernel.n_attrs; i++)
        if (node->task.u.kernel.attrs[i].id == id)
            *value = node->task.u.kernel.attrs[i].value;
    return CUDA_SUCCESS;
}

CUresult sim_cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from)
{
    struct sim_node *dst = typed(to, CU_GRAPH_NODE_TYPE_KERNEL), *src = typed(from, CU_GRAPH_NODE_TYPE_KERNEL);
    if (!dst || !src)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(dst->task.u.kernel.attrs, src->task.u.kernel.attrs, sizeof(dst->task.u.kernel.attrs));
    dst->task.u.kernel.n_attrs = src->task.u.kernel.n_attrs;
    return CUDA_SUCCESS;
}
