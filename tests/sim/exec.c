/* Executable graphs: instantiation, launches, parameter updates. A change affects later launches only: a launch keeps
 * the plan it was given. Two launches of one executable graph never overlap. */
#include "tests/sim/config.h"
#include "tests/sim/node_task.h"
#include "tests/sim/report.h"
#include "samples/kernel_info.h"

static struct sim_exec *of(CUgraphExec handle)
{
    return sim_handle_object(SIM_EXEC, handle);
}

static CUresult instantiate(CUgraphExec *out, CUgraph handle, unsigned long long flags)
{
    struct sim_graph *graph = sim_graph_of(handle);
    struct sim_ctx *ctx;
    CUresult result = sim_ctx_current(&ctx);
    if (!result)
        result = sim_capture_unsafe();
    if (result)
        return result;
    if (!out || !graph || graph->capturing)
        return CUDA_ERROR_INVALID_VALUE;
    struct sim_plan *plan = sim_plan_make(graph, &result);
    if (!plan)
        return result;
    struct sim_exec *exec = calloc(1, sizeof(*exec));
    if (!exec) {
        sim_plan_release(plan);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    exec->memory_size = plan->n_nodes * (sim_config.graph_kb << 10);
    if (exec->memory_size && !sim_memory_take(ctx->device, exec->memory_size)) {
        sim_plan_release(plan);
        free(exec);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    exec->plan = plan;
    exec->ctx = ctx;
    exec->flags = flags;
    exec->handle = sim_handle_make(SIM_EXEC, exec);
    *out = exec->handle;
    sim_counts.instantiates++;
    sim_counts.nodes_instantiated += plan->n_nodes;
    sim_cost_host(4500 * plan->n_nodes + 5000);
    sim_log_detail(" exec=%p nodes=%zu", (void *)exec->handle, plan->n_nodes);
    return CUDA_SUCCESS;
}

CUresult sim_cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph graph, unsigned long long flags)
{
    return flags & ~15ull ? CUDA_ERROR_INVALID_VALUE : instantiate(out, graph, flags);
}

CUresult sim_cuGraphInstantiate_v2(CUgraphExec *out, CUgraph graph, CUgraphNode *error_node, char *log, size_t size)
{
    if (error_node)
        *error_node = NULL;
    if (log && size)
        *log = 0;
    return instantiate(out, graph, 0);
}
SIM_ALSO(cuGraphInstantiate, cuGraphInstantiate_v2);

CUresult sim_cuGraphInstantiateWithParams(CUgraphExec *out, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *p)
{
    if (!p)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sim_cuGraphInstantiateWithFlags(out, graph, p->flags);
    p->result_out = result ? CUDA_GRAPH_INSTANTIATE_ERROR : CUDA_GRAPH_INSTANTIATE_SUCCESS;
    p->hErrNode_out = NULL;
    if (!result && p->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD)
        of(*out)->uploaded = true;
    return result;
}
SIM_ALSO(cuGraphInstantiateWithParams_ptsz, cuGraphInstantiateWithParams);

CUresult sim_cuGraphExecGetFlags(CUgraphExec handle, cuuint64_t *flags)
{
    struct sim_exec *exec = of(handle);
    if (!exec || !flags)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = exec->flags;
    return CUDA_SUCCESS;
}

CUresult sim_cuGraphExecDestroy(CUgraphExec handle)
{
    struct sim_exec *exec = of(handle);
    if (!exec)
        return CUDA_ERROR_INVALID_VALUE;
    /* A launch in flight keeps its plan. */
    sim_handle_free(SIM_EXEC, handle);
    sim_plan_release(exec->plan);
    sim_op_release(exec->last);
    if (exec->memory_size)
        sim_memory_give(exec->ctx->device, exec->memory_size);
    free(exec);
    return CUDA_SUCCESS;
}

CUresult sim_cuGraphUpload(CUgraphExec handle, CUstream stream_handle)
{
    struct sim_exec *exec = of(handle);
    struct sim_stream *stream;
    CUresult result = sim_stream_find(stream_handle, &stream);
    if (!result)
        result = sim_capture_refuse(stream);
    if (result)
        return result;
    if (!exec)
        return CUDA_ERROR_INVALID_VALUE;
    exec->uploaded = true;
    sim_counts.uploads++;
    sim_cost_host(2000 * exec->plan->n_nodes);
    return CUDA_SUCCESS;
}
SIM_ALSO(cuGraphUpload_ptsz, cuGraphUpload);

/* ---- launch ---- */

/* One op for every record node, in plan order; the graph's run completes them. Wait nodes bind to the record that
 * stands now: the whole launch waits for it. */
static CUresult bind_events(struct sim_plan *plan, struct sim_op *op)
{
    for (size_t i = 0; i < plan->n_nodes; i++) {
        struct sim_task *task = &plan->nodes[i].task;
        CUresult result = CUDA_SUCCESS;
        if (task->kind == SIM_TASK_CHILD) {
            result = bind_events(task->u.graph.plan, op);
        } else if (task->kind == SIM_TASK_WAIT) {
            sim_op_after(op, task->u.event.event->op);
        } else if (task->kind == SIM_TASK_RECORD) {
            struct sim_op *record = sim_op_new(op->stream);
            if (!record)
                return CUDA_ERROR_OUT_OF_MEMORY;
            record->parent = sim_op_hold(op);
            op->task.u.graph.records[op->task.u.graph.n_records++] = record;
        }
        if (result)
            return result;
    }
    return CUDA_SUCCESS;
}

/* The events change hands only when the launch is certain. */
static void set_events(struct sim_plan *plan, struct sim_op *op, size_t *next)
{
    for (size_t i = 0; i < plan->n_nodes; i++) {
        struct sim_task *task = &plan->nodes[i].task;
        if (task->kind == SIM_TASK_CHILD)
            set_events(task->u.graph.plan, op, next);
        else if (task->kind == SIM_TASK_RECORD)
            sim_event_set(task->u.event.event, op->task.u.graph.records[(*next)++]);
    }
}

static uint64_t launch_ns(const struct sim_exec *exec)
{
    size_t n = exec->plan->n_nodes;
    uint64_t ns = 6 * (n < 32 ? n : 32) + (n > 32 ? n - 32 : 0) + 60 * exec->patched + 1200 * exec->retargeted;
    if (!exec->uploaded)
        ns += 2000 * n;
    return ns;
}

CUresult sim_cuGraphLaunch(CUgraphExec handle, CUstream stream_handle)
{
    struct sim_exec *exec = of(handle);
    struct sim_stream *stream;
    CUresult result = sim_stream_find(stream_handle, &stream);
    if (result)
        return result;
    if (!exec)
        return CUDA_ERROR_INVALID_VALUE;
    result = sim_capture_implicit(stream);
    if (result)
        return result;
    sim_log_detail(" exec=%p nodes=%zu", (void *)handle, exec->plan->n_nodes);
    if (stream->capture) {
        struct sim_task child = {.kind = SIM_TASK_CHILD};
        child.u.graph.plan = sim_plan_hold(exec->plan);
        return sim_capture_task(stream, &child);
    }
    size_t n_records = sim_plan_count(exec->plan, SIM_TASK_RECORD);
    struct sim_op *op = sim_op_new(stream);
    if (!op)
        return CUDA_ERROR_OUT_OF_MEMORY;
    op->bare = false;
    op->task.kind = SIM_TASK_GRAPH;
    op->task.u.graph.plan = sim_plan_hold(exec->plan);
    if (n_records)
        op->task.u.graph.records = calloc(n_records, sizeof(struct sim_op *));
    result = n_records && !op->task.u.graph.records ? CUDA_ERROR_OUT_OF_MEMORY : bind_events(exec->plan, op);
    if (!result && exec->last && !sim_op_after(op, exec->last))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result) {
        sim_op_release(op);
        return result;
    }
    sim_counts.graph_launches++;
    sim_counts.graph_nodes += exec->plan->n_nodes;
    sim_cost_host(launch_ns(exec));
    exec->patched = exec->retargeted = 0;
    exec->uploaded = true;
    sim_op_release(exec->last);
    exec->last = sim_op_hold(op);
    sim_log_detail(" op=%llu", (unsigned long long)op->number);
    size_t next = 0;
    if (n_records)
        set_events(exec->plan, op, &next);
    sim_stream_push(stream, op);
    return CUDA_SUCCESS;
}
SIM_ALSO(cuGraphLaunch_ptsz, cuGraphLaunch);

/* ---- updates ---- */
static CUresult find(CUgraphExec handle, CUgraphNode node_handle, CUgraphNodeType type, struct sim_exec **exec,
                     size_t *index)
{
    struct sim_node *node = sim_node_of(node_handle);
    *exec = of(handle);
    if (!*exec || !node)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < (*exec)->plan->n_nodes; i++) {
        if ((*exec)->plan->nodes[i].id != node->id)
            continue;
        *index = i;
        return (*exec)->plan->nodes[i].type == type ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

/* Takes over the task's content. */
static CUresult replace(struct sim_exec *exec, size_t index, struct sim_task *task)
{
    struct sim_plan *plan = sim_plan_own(exec->plan);
    if (!plan) {
        sim_task_drop(task);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    exec->plan = plan;
    struct sim_task *old = &plan->nodes[index].task;
    if (task->kind == SIM_TASK_KERNEL) {
        memcpy(task->u.kernel.attrs, old->u.kernel.attrs, sizeof(old->u.kernel.attrs));
        task->u.kernel.n_attrs = old->u.kernel.n_attrs;
    }
    sim_task_drop(old);
    *old = *task;
    sim_counts.set_params++;
    exec->patched++;
    return CUDA_SUCCESS;
}

static CUresult set_kernel(CUgraphExec handle, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
    struct sim_exec *exec;
    struct sim_task task;
    struct sim_where where = {0};
    size_t index;
    CUresult result = find(handle, node, CU_GRAPH_NODE_TYPE_KERNEL, &exec, &index);
    if (!result)
        result = sim_task_from_kernel(&task, p, &where);
    if (result)
        return result;
    struct sim_func *former = exec->plan->nodes[index].task.u.kernel.func;
    if (former->module->ctx != where.ctx) {
        sim_task_drop(&task);
        return CUDA_ERROR_INVALID_VALUE; /* the owning context cannot change */
    }
    if (former != task.u.kernel.func) {
        sim_counts.retargets++;
        exec->retargeted++;
        sim_cost_host(800);
    }
    sim_log_detail(" exec=%p node=%p %s", (void *)handle, (void *)node, task.u.kernel.func->info->name);
    return replace(exec, index, &task);
}

CUresult sim_cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
    return p ? set_kernel(exec, node, p) : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
    CUDA_KERNEL_NODE_PARAMS_v2 wide = {0};
    if (!p || !p->func)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(&wide, p, sizeof(*p));
    return set_kernel(exec, node, &wide);
}

static bool same_owner(uintptr_t a, uintptr_t b)
{
    struct sim_range *x = sim_range_find(a), *y = sim_range_find(b);
    if (!x || !y)
        return !x && !y;
    return x->kind == y->kind && x->device == y->device && x->ctx == y->ctx;
}

CUresult sim_cuGraphExecMemsetNodeSetParams(CUgraphExec handle, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *p,
                                            CUcontext ctx)
{
    struct sim_exec *exec;
    struct sim_task task;
    struct sim_where where = {0};
    size_t index;
    CUresult result = find(handle, node, CU_GRAPH_NODE_TYPE_MEMSET, &exec, &index);
    if (!result)
        result = sim_task_from_memset(&task, p, ctx, &where);
    if (result)
        return result;
    const struct sim_plan_node *old = &exec->plan->nodes[index];
    /* One-dimensional only, same context, same owner of the memory; width may change. */
    if (p->height != 1 || old->task.u.set.height != 1 || old->ctx != where.ctx ||
        !same_owner((uintptr_t)old->task.u.set.dst, (uintptr_t)p->dst))
        return CUDA_ERROR_INVALID_VALUE;
    return replace(exec, index, &task);
}

CUresult sim_cuGraphExecMemcpyNodeSetParams(CUgraphExec handle, CUgraphNode node, const CUDA_MEMCPY3D *p, CUcontext ctx)
{
    struct sim_exec *exec;
    struct sim_task task;
    struct sim_where where = {0};
    size_t index;
    CUresult result = find(handle, node, CU_GRAPH_NODE_TYPE_MEMCPY, &exec, &index);
    if (!result)
        result = sim_task_from_memcpy(&task, p, ctx, &where);
    if (result)
        return result;
    const struct sim_plan_node *old = &exec->plan->nodes[index];
    if (task.u.copy.height != 1 || task.u.copy.depth != 1 || old->task.u.copy.height != 1 ||
        old->task.u.copy.depth != 1 || old->ctx != where.ctx ||
        !same_owner((uintptr_t)old->task.u.copy.src, (uintptr_t)task.u.copy.src) ||
        !same_owner((uintptr_t)old->task.u.copy.dst, (uintptr_t)task.u.copy.dst))
        return CUDA_ERROR_INVALID_VALUE;
    return replace(exec, index, &task);
}

CUresult sim_cuGraphExecHostNodeSetParams(CUgraphExec handle, CUgraphNode node, const CUDA_HOST_NODE_PARAMS *p)
{
    struct sim_exec *exec;
    struct sim_task task;
    size_t index;
    CUresult result = find(handle, node, CU_GRAPH_NODE_TYPE_HOST, &exec, &index);
    if (!result)
        result = p ? sim_task_from_host(&task, p->fn, p->userData) : CUDA_ERROR_INVALID_VALUE;
    return result ? result : replace(exec, index, &task);
}

CUresult sim_cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *p)
{
    CUDA_KERNEL_NODE_PARAMS_v2 kernel;
    CUDA_MEMSET_NODE_PARAMS set;
    CUDA_HOST_NODE_PARAMS host;
    if (!p)
        return CUDA_ERROR_INVALID_VALUE;
    switch ((int)p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        memcpy(&kernel, &p->kernel, sizeof(kernel));
        return set_kernel(exec, node, &kernel);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        memcpy(&set, &p->memset, sizeof(set));
        return sim_cuGraphExecMemsetNodeSetParams(exec, node, &set, p->memset.ctx);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return sim_cuGraphExecMemcpyNodeSetParams(exec, node, &p->memcpy.copyParams, p->memcpy.copyCtx);
    case CU_GRAPH_NODE_TYPE_HOST:
        host = (CUDA_HOST_NODE_PARAMS){p->host.fn, p->host.userData};
        return sim_cuGraphExecHostNodeSetParams(exec, node, &host);
    default:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
}

CUresult sim_cuGraphNodeSetEnabled(CUgraphExec handle, CUgraphNode node_handle, unsigned int enabled)
{
    struct sim_exec *exec;
    struct sim_node *node = sim_node_of(node_handle);
    size_t index;
    CUresult result = node ? find(handle, node_handle, node->type, &exec, &index) : CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    if (node->type != CU_GRAPH_NODE_TYPE_KERNEL && node->type != CU_GRAPH_NODE_TYPE_MEMSET &&
        node->type != CU_GRAPH_NODE_TYPE_MEMCPY)
        return CUDA_ERROR_INVALID_VALUE;
    struct sim_plan *plan = sim_plan_own(exec->plan);
    if (!plan)
        return CUDA_ERROR_OUT_OF_MEMORY;
    exec->plan = plan;
    plan->nodes[index].disabled = !enabled;
    return CUDA_SUCCESS;
}

CUresult sim_cuGraphNodeGetEnabled(CUgraphExec handle, CUgraphNode node_handle, unsigned int *enabled)
{
    struct sim_exec *exec;
    struct sim_node *node = sim_node_of(node_handle);
    size_t index;
    CUresult result = node && enabled ? find(handle, node_handle, node->type, &exec, &index) : CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *enabled = !exec->plan->nodes[index].disabled;
    return result;
}

/* Whole-graph update: node types and edges must match in order; then everything is replaced. */
CUresult sim_cuGraphExecUpdate_v2(CUgraphExec handle, CUgraph graph_handle, CUgraphExecUpdateResultInfo *info)
{
    struct sim_exec *exec = of(handle);
    struct sim_graph *graph = sim_graph_of(graph_handle);
    CUresult result;
    if (!exec || !graph || !info)
        return CUDA_ERROR_INVALID_VALUE;
    memset(info, 0, sizeof(*info));
    struct sim_plan *plan = sim_plan_make(graph, &result);
    if (!plan)
        return result;
    info->result = plan->n_nodes == exec->plan->n_nodes ? CU_GRAPH_EXEC_UPDATE_SUCCESS
                                                        : CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    for (size_t i = 0; info->result == CU_GRAPH_EXEC_UPDATE_SUCCESS && i < plan->n_nodes; i++) {
        struct sim_plan_node *to = &plan->nodes[i], *from = &exec->plan->nodes[i];
        if (to->type != from->type)
            info->result = CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
        else if (to->n_deps != from->n_deps || memcmp(to->deps, from->deps, to->n_deps * sizeof(size_t)))
            info->result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
        else if (to->task.kind == SIM_TASK_KERNEL &&
                 to->task.u.kernel.func->module->ctx != from->task.u.kernel.func->module->ctx)
            info->result = CU_GRAPH_EXEC_UPDATE_ERROR_FUNCTION_CHANGED;
    }
    if (info->result != CU_GRAPH_EXEC_UPDATE_SUCCESS) {
        sim_plan_release(plan);
        return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    }
    /* Parameter updates keep naming the nodes of the graph that was instantiated. */
    for (size_t i = 0; i < plan->n_nodes; i++)
        plan->nodes[i].id = exec->plan->nodes[i].id;
    sim_plan_release(exec->plan);
    exec->plan = plan;
    return CUDA_SUCCESS;
}

CUresult sim_cuGraphExecUpdate(CUgraphExec handle, CUgraph graph, CUgraphNode *error_node, CUgraphExecUpdateResult *out)
{
    CUgraphExecUpdateResultInfo info;
    if (error_node)
        *error_node = NULL;
    CUresult result = out ? sim_cuGraphExecUpdate_v2(handle, graph, &info) : CUDA_ERROR_INVALID_VALUE;
    if (out && (!result || result == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE))
        *out = info.result;
    return result;
}

/* For tests: the argument bytes that the next launch of node `index` (in plan order) would use. */
__attribute__((visibility("default"))) CUresult sim_exec_node_args(CUgraphExec handle, size_t index, void *bytes,
                                                                   size_t *size);
CUresult sim_exec_node_args(CUgraphExec handle, size_t index, void *bytes, size_t *size)
{
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&sim_lock);
    struct sim_exec *exec = of(handle);
    if (exec && index < exec->plan->n_nodes && exec->plan->nodes[index].task.kind == SIM_TASK_KERNEL) {
        const struct sim_task *task = &exec->plan->nodes[index].task;
        size_t n = task->u.kernel.args_size < *size ? task->u.kernel.args_size : *size;
        memcpy(bytes, task->u.kernel.args, n);
        *size = task->u.kernel.args_size;
        result = CUDA_SUCCESS;
    }
    sim_unlock();
    return result;
}
