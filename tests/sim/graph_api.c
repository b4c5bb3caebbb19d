/* Graph construction functions of the driver API. */
#include "tests/sim/node_task.h"
#include "tests/sim/report.h"

CUresult sim_cuGraphCreate(CUgraph *out, unsigned int flags)
{
    if (!out || flags)
        return CUDA_ERROR_INVALID_VALUE;
    struct sim_graph *graph = sim_graph_new(true);
    if (!graph)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *out = graph->handle;
    return CUDA_SUCCESS;
}

CUresult sim_cuGraphDestroy(CUgraph handle)
{
    struct sim_graph *graph = sim_graph_of(handle);
    if (!graph || graph->capturing || graph->child)
        return CUDA_ERROR_INVALID_VALUE;
    sim_graph_destroy(graph);
    return CUDA_SUCCESS;
}

CUresult sim_cuGraphClone(CUgraph *out, CUgraph handle)
{
    struct sim_graph *graph = sim_graph_of(handle);
    if (!graph || !out)
        return CUDA_ERROR_INVALID_VALUE;
    struct sim_graph *clone = sim_graph_clone(graph, true);
    if (!clone)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *out = clone->handle;
    return CUDA_SUCCESS;
}

CUresult sim_cuGraphNodeFindInClone(CUgraphNode *out, CUgraphNode original, CUgraph clone)
{
    struct sim_node *node = sim_node_of(original);
    struct sim_graph *graph = sim_graph_of(clone);
    if (!node || !graph || !out)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < graph->n_nodes; i++) {
        if (graph->nodes[i]->origin == node->id) {
            *out = graph->nodes[i]->handle;
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_INVALID_VALUE;
}

/* Takes over the task's content. */
static CUresult add(CUgraphNode *out, CUgraph handle, const CUgraphNode *deps, const CUgraphEdgeData *edges,
                    size_t n_deps, struct sim_task *task, const struct sim_where *where)
{
    struct sim_graph *graph = sim_graph_of(handle);
    CUresult result = out && graph && !(n_deps && !deps) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; !result && i < n_deps; i++) {
        struct sim_node *on = sim_node_of(deps[i]);
        if (!on || on->graph != graph)
            result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result) {
        sim_task_drop(task);
        return result;
    }
    struct sim_node *node = sim_node_add(graph, sim_task_node_type(task), task);
    if (!node)
        return CUDA_ERROR_OUT_OF_MEMORY;
    node->ctx = where->ctx;
    node->kernel_handle = where->kernel_handle;
    for (size_t i = 0; i < n_deps; i++)
        sim_node_depend(node, sim_node_of(deps[i]), edges ? &edges[i] : NULL);
    *out = node->handle;
    sim_counts.nodes_added++;
    sim_log_detail(" node=%p", (void *)node->handle);
    return CUDA_SUCCESS;
}

#define ADD(fill)                                                                                                      \
    struct sim_task task = {0};                                                                                        \
    struct sim_where where = {0};                                                                                      \
    CUresult result = fill;                                                                                            \
    return result ? result : add(out, graph, deps, NULL, n_deps, &task, &where)

CUresult sim_cuGraphAddKernelNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t n_deps,
                                  const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
    ADD(sim_task_from_kernel_v1(&task, p, &where));
}

CUresult sim_cuGraphAddKernelNode_v2(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t n_deps,
                                     const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
    ADD(sim_task_from_kernel(&task, p, &where));
}

CUresult sim_cuGraphAddMemsetNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t n_deps,
                                  const CUDA_MEMSET_NODE_PARAMS *p, CUcontext ctx)
{
    ADD(sim_task_from_memset(&task, p, ctx, &where));
}

CUresult sim_cuGraphAddMemcpyNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t n_deps,
                                  const CUDA_MEMCPY3D *p, CUcontext ctx)
{
    ADD(sim_task_from_memcpy(&task, p, ctx, &where));
}

CUresult sim_cuGraphAddHostNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t n_deps,
                                const CUDA_HOST_NODE_PARAMS *p)
{
    ADD(p ? sim_task_from_host(&task, p->fn, p->userData) : CUDA_ERROR_INVALID_VALUE);
}

CUresult sim_cuGraphAddEmptyNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t n_deps)
{
    ADD(CUDA_SUCCESS);
}

CUresult sim_cuGraphAddEventRecordNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t n_deps,
                                       CUevent event)
{
    ADD(sim_task_from_event(&task, SIM_TASK_RECORD, event));
}

CUresult sim_cuGraphAddEventWaitNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t n_deps,
                                     CUevent event)
{
    ADD(sim_task_from_event(&task, SIM_TASK_WAIT, event));
}

CUresult sim_cuGraphAddChildGraphNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t n_deps,
                                      CUgraph child)
{
    ADD(sim_task_from_child(&task, child));
}

CUresult sim_cuGraphAddNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t n_deps,
                            CUgraphNodeParams *p)
{
    ADD(sim_task_from_any(&task, p, &where));
}

CUresult sim_cuGraphAddNode_v2(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, const CUgraphEdgeData *edges,
                               size_t n_deps, CUgraphNodeParams *p)
{
    struct sim_task task = {0};
    struct sim_where where = {0};
    CUresult result = sim_task_from_any(&task, p, &where);
    return result ? result : add(out, graph, deps, edges, n_deps, &task, &where);
}

static CUresult depend(CUgraph handle, const CUgraphNode *from, const CUgraphNode *to, const CUgraphEdgeData *edges,
                       size_t n)
{
    struct sim_graph *graph = sim_graph_of(handle);
    if (!graph || (n && (!from || !to)))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < n; i++) {
        struct sim_node *a = sim_node_of(from[i]), *b = sim_node_of(to[i]);
        if (!a || !b || a->graph != graph || b->graph != graph || sim_node_reaches(a, b))
            return CUDA_ERROR_INVALID_VALUE;
        sim_node_depend(b, a, edges ? &edges[i] : NULL);
    }
    return CUDA_SUCCESS;
}

CUresult sim_cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t n)
{
    return depend(graph, from, to, NULL, n);
}

CUresult sim_cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                       const CUgraphEdgeData *edges, size_t n)
{
    return depend(graph, from, to, edges, n);
}

CUresult sim_cuGraphDestroyNode(CUgraphNode handle)
{
    struct sim_node *node = sim_node_of(handle);
    if (!node || node->graph->child)
        return CUDA_ERROR_INVALID_VALUE;
    struct sim_graph *graph = node->graph;
    for (size_t i = 0; i < graph->n_nodes; i++) {
        struct sim_node *other = graph->nodes[i];
        for (size_t d = 0; d < other->n_deps; d++) {
            if (other->deps[d] != node)
                continue;
            other->deps[d] = other->deps[--other->n_deps];
            other->edges[d] = other->edges[other->n_deps];
            d--;
        }
    }
    for (size_t i = 0; i < graph->n_nodes; i++) {
        if (graph->nodes[i] == node) {
            memmove(&graph->nodes[i], &graph->nodes[i + 1], (graph->n_nodes - i - 1) * sizeof(struct sim_node *));
            graph->n_nodes--;
        }
    }
    sim_handle_free(SIM_NODE, handle);
    sim_task_drop(&node->task);
    free(node->deps);
    free(node->edges);
    free(node);
    return CUDA_SUCCESS;
}

/* Lists answer the usual way: count only, or up to *count entries with the rest set to NULL. */
static void put(CUgraphNode *out, size_t room, size_t *n, CUgraphNode handle)
{
    if (out && *n < room)
        out[*n] = handle;
    (*n)++;
}

static void finish(CUgraphNode *out, size_t *count, size_t n)
{
    for (size_t i = n; out && i < *count; i++)
        out[i] = NULL;
    if (!out || *count > n)
        *count = n;
}

CUresult sim_cuGraphGetNodes(CUgraph handle, CUgraphNode *nodes, size_t *count)
{
    struct sim_graph *graph = sim_graph_of(handle);
    size_t n = 0;
    if (!graph || !count)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < graph->n_nodes; i++)
        put(nodes, *count, &n, graph->nodes[i]->handle);
    finish(nodes, count, n);
    return CUDA_SUCCESS;
}

CUresult sim_cuGraphGetRootNodes(CUgraph handle, CUgraphNode *nodes, size_t *count)
{
    struct sim_graph *graph = sim_graph_of(handle);
    size_t n = 0;
    if (!graph || !count)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < graph->n_nodes; i++)
        if (!graph->nodes[i]->n_deps)
            put(nodes, *count, &n, graph->nodes[i]->handle);
    finish(nodes, count, n);
    return CUDA_SUCCESS;
}

CUresult sim_cuGraphGetEdges_v2(CUgraph handle, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *edges,
                                size_t *count)
{
    struct sim_graph *graph = sim_graph_of(handle);
    size_t n = 0, room = count ? *count : 0;
    if (!graph || !count || !from != !to)
        return CUDA_ERROR_INVALID_VALUE;
    static const CUgraphEdgeData plain;
    for (size_t i = 0; i < graph->n_nodes; i++) {
        struct sim_node *node = graph->nodes[i];
        for (size_t d = 0; d < node->n_deps; d++, n++) {
            if (!from || n >= room)
                continue;
            from[n] = node->deps[d]->handle;
            to[n] = node->handle;
            if (edges)
                edges[n] = node->edges[d];
            else if (memcmp(&node->edges[d], &plain, sizeof(plain)))
                return CUDA_ERROR_LOSSY_QUERY;
        }
    }
    for (size_t i = n; from && i < room; i++)
        from[i] = to[i] = NULL;
    if (!from || room > n)
        *count = n;
    return CUDA_SUCCESS;
}

CUresult sim_cuGraphGetEdges(CUgraph handle, CUgraphNode *from, CUgraphNode *to, size_t *count)
{
    return sim_cuGraphGetEdges_v2(handle, from, to, NULL, count);
}

CUresult sim_cuGraphNodeGetDependencies_v2(CUgraphNode handle, CUgraphNode *deps, CUgraphEdgeData *edges, size_t *count)
{
    struct sim_node *node = sim_node_of(handle);
    size_t n = 0;
    if (!node || !count)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < node->n_deps; i++) {
        if (edges && i < *count)
            edges[i] = node->edges[i];
        put(deps, *count, &n, node->deps[i]->handle);
    }
    finish(deps, count, n);
    return CUDA_SUCCESS;
}

CUresult sim_cuGraphNodeGetDependencies(CUgraphNode handle, CUgraphNode *deps, size_t *count)
{
    return sim_cuGraphNodeGetDependencies_v2(handle, deps, NULL, count);
}

CUresult sim_cuGraphNodeGetDependentNodes_v2(CUgraphNode handle, CUgraphNode *nodes, CUgraphEdgeData *edges,
                                             size_t *count)
{
    struct sim_node *node = sim_node_of(handle);
    size_t n = 0;
    if (!node || !count)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < node->graph->n_nodes; i++) {
        struct sim_node *other = node->graph->nodes[i];
        for (size_t d = 0; d < other->n_deps; d++) {
            if (other->deps[d] != node)
                continue;
            if (edges && n < *count)
                edges[n] = other->edges[d];
            put(nodes, *count, &n, other->handle);
        }
    }
    finish(nodes, count, n);
    return CUDA_SUCCESS;
}

CUresult sim_cuGraphNodeGetDependentNodes(CUgraphNode handle, CUgraphNode *nodes, size_t *count)
{
    return sim_cuGraphNodeGetDependentNodes_v2(handle, nodes, NULL, count);
}

CUresult sim_cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType *type)
{
    struct sim_node *node = sim_node_of(handle);
    if (!node || !type)
        return CUDA_ERROR_INVALID_VALUE;
    *type = node->type;
    return CUDA_SUCCESS;
}

CUresult sim_cuGraphChildGraphNodeGetGraph(CUgraphNode handle, CUgraph *out)
{
    struct sim_node *node = sim_node_of(handle);
    if (!node || node->type != CU_GRAPH_NODE_TYPE_GRAPH || !out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = node->task.u.graph.graph->handle;
    return CUDA_SUCCESS;
}

static CUresult separate(CUgraph handle, const CUgraphNode *from, const CUgraphNode *to, size_t n)
{
    struct sim_graph *graph = sim_graph_of(handle);
    if (!graph || (n && (!from || !to)))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < n; i++) {
        struct sim_node *a = sim_node_of(from[i]), *b = sim_node_of(to[i]);
        size_t d = 0;
        if (!a || !b || b->graph != graph)
            return CUDA_ERROR_INVALID_VALUE;
        while (d < b->n_deps && b->deps[d] != a)
            d++;
        if (d == b->n_deps)
            return CUDA_ERROR_INVALID_VALUE;
        b->deps[d] = b->deps[--b->n_deps];
        b->edges[d] = b->edges[b->n_deps];
    }
    return CUDA_SUCCESS;
}

CUresult sim_cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t n)
{
    return separate(graph, from, to, n);
}

CUresult sim_cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                          const CUgraphEdgeData *edges, size_t n)
{
    (void)edges;
    return separate(graph, from, to, n);
}
