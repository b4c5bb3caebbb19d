/* Graphs as data: nodes, edges, clones, and the plan made from a graph. See graph.h. */
#include "tests/sim/graph.h"

static uint64_t next_id = 1;

struct sim_graph *sim_graph_of(CUgraph handle)
{
    return sim_handle_object(SIM_GRAPH, handle);
}

struct sim_node *sim_node_of(CUgraphNode handle)
{
    return sim_handle_object(SIM_NODE, handle);
}

struct sim_graph *sim_graph_new(bool with_handle)
{
    struct sim_graph *graph = calloc(1, sizeof(*graph));
    if (!graph)
        return NULL;
    graph->id = next_id++;
    if (with_handle)
        graph->handle = sim_handle_make(SIM_GRAPH, graph);
    return graph;
}

static void free_node(struct sim_node *node)
{
    sim_handle_free(SIM_NODE, node->handle);
    sim_task_drop(&node->task);
    free(node->deps);
    free(node->edges);
    free(node);
}

void sim_graph_destroy(struct sim_graph *graph)
{
    for (size_t i = graph->n_nodes; i-- > 0;)
        free_node(graph->nodes[i]);
    if (graph->handle)
        sim_handle_free(SIM_GRAPH, graph->handle);
    free(graph->nodes);
    free(graph);
}

struct sim_node *sim_node_add(struct sim_graph *graph, CUgraphNodeType type, struct sim_task *task)
{
    struct sim_node *node = calloc(1, sizeof(*node));
    if (node && graph->n_nodes == graph->cap_nodes) {
        size_t cap = graph->cap_nodes ? 2 * graph->cap_nodes : 16;
        struct sim_node **nodes = realloc(graph->nodes, cap * sizeof(struct sim_node *));
        if (nodes) {
            graph->nodes = nodes;
            graph->cap_nodes = cap;
        } else {
            free(node);
            node = NULL;
        }
    }
    if (!node) {
        sim_task_drop(task);
        return NULL;
    }
    node->id = node->origin = next_id++;
    node->graph = graph;
    node->type = type;
    node->task = *task;
    node->handle = sim_handle_make(SIM_NODE, node);
    graph->nodes[graph->n_nodes++] = node;
    return node;
}

bool sim_node_depend(struct sim_node *node, struct sim_node *on, const CUgraphEdgeData *edge)
{
    for (size_t i = 0; i < node->n_deps; i++)
        if (node->deps[i] == on)
            return true;
    struct sim_node **deps = realloc(node->deps, (node->n_deps + 1) * sizeof(struct sim_node *));
    if (deps)
        node->deps = deps;
    CUgraphEdgeData *edges = realloc(node->edges, (node->n_deps + 1) * sizeof(*edges));
    if (edges)
        node->edges = edges;
    if (!deps || !edges)
        return false;
    deps[node->n_deps] = on;
    memset(&edges[node->n_deps], 0, sizeof(*edges));
    if (edge)
        edges[node->n_deps] = *edge;
    node->n_deps++;
    return true;
}

bool sim_node_reaches(const struct sim_node *from, const struct sim_node *ancestor)
{
    if (from == ancestor)
        return true;
    for (size_t i = 0; i < from->n_deps; i++)
        if (sim_node_reaches(from->deps[i], ancestor))
            return true;
    return false;
}

struct sim_graph *sim_graph_clone(const struct sim_graph *from, bool with_handle)
{
    struct sim_graph *graph = sim_graph_new(with_handle);
    if (!graph)
        return NULL;
    for (size_t i = 0; i < from->n_nodes; i++)
        from->nodes[i]->index = i;
    for (size_t i = 0; i < from->n_nodes; i++) {
        const struct sim_node *old = from->nodes[i];
        struct sim_task task;
        struct sim_node *node = sim_task_copy(&task, &old->task) ? sim_node_add(graph, old->type, &task) : NULL;
        if (!node) {
            sim_graph_destroy(graph);
            return NULL;
        }
        node->origin = old->id;
        node->ctx = old->ctx;
        node->kernel_handle = old->kernel_handle;
    }
    for (size_t i = 0; i < from->n_nodes; i++)
        for (size_t d = 0; d < from->nodes[i]->n_deps; d++)
            sim_node_depend(graph->nodes[i], graph->nodes[from->nodes[i]->deps[d]->index], &from->nodes[i]->edges[d]);
    return graph;
}

/* ---- plans ---- */
struct sim_plan *sim_plan_hold(struct sim_plan *plan)
{
    plan->refs++;
    return plan;
}

void sim_plan_release(struct sim_plan *plan)
{
    if (!plan || --plan->refs)
        return;
    for (size_t i = 0; i < plan->n_nodes; i++) {
        sim_task_drop(&plan->nodes[i].task);
        free(plan->nodes[i].deps);
    }
    free(plan->nodes);
    free(plan);
}

static struct sim_plan *new_plan(size_t n)
{
    struct sim_plan *plan = calloc(1, sizeof(*plan));
    if (!plan)
        return NULL;
    plan->nodes = calloc(n + 1, sizeof(*plan->nodes));
    if (!plan->nodes) {
        free(plan);
        return NULL;
    }
    plan->refs = 1;
    return plan;
}

/* A child graph's task in a plan holds the child's own plan instead of a graph. */
static CUresult plan_task(struct sim_task *to, const struct sim_node *node)
{
    if (node->task.kind != SIM_TASK_CHILD || !node->task.u.graph.graph)
        return sim_task_copy(to, &node->task) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    CUresult error = CUDA_SUCCESS;
    memset(to, 0, sizeof(*to));
    to->kind = SIM_TASK_CHILD;
    to->u.graph.plan = sim_plan_make(node->task.u.graph.graph, &error);
    return error;
}

struct sim_plan *sim_plan_make(struct sim_graph *graph, CUresult *error)
{
    struct sim_plan *plan = new_plan(graph->n_nodes);
    *error = CUDA_ERROR_OUT_OF_MEMORY;
    if (!plan)
        return NULL;
    for (size_t i = 0; i < graph->n_nodes; i++)
        graph->nodes[i]->index = SIZE_MAX;
    while (plan->n_nodes < graph->n_nodes) {
        size_t before = plan->n_nodes;
        for (size_t i = 0; i < graph->n_nodes; i++) {
            struct sim_node *node = graph->nodes[i];
            bool ready = node->index == SIZE_MAX;
            for (size_t d = 0; d < node->n_deps && ready; d++)
                ready = node->deps[d]->index != SIZE_MAX;
            if (!ready)
                continue;
            struct sim_plan_node *planned = &plan->nodes[plan->n_nodes];
            CUresult result = plan_task(&planned->task, node);
            if (result) {
                *error = result;
                sim_plan_release(plan);
                return NULL;
            }
            planned->id = node->id;
            planned->type = node->type;
            planned->ctx = node->ctx;
            planned->deps = calloc(node->n_deps + 1, sizeof(size_t));
            for (size_t d = 0; planned->deps && d < node->n_deps; d++)
                planned->deps[planned->n_deps++] = node->deps[d]->index;
            node->index = plan->n_nodes++;
        }
        if (plan->n_nodes == before) {
            *error = CUDA_ERROR_INVALID_VALUE; /* a cycle */
            sim_plan_release(plan);
            return NULL;
        }
    }
    *error = CUDA_SUCCESS;
    return plan;
}

struct sim_plan *sim_plan_own(struct sim_plan *plan)
{
    if (plan->refs == 1)
        return plan;
    struct sim_plan *copy = new_plan(plan->n_nodes);
    for (size_t i = 0; copy && i < plan->n_nodes; i++) {
        const struct sim_plan_node *from = &plan->nodes[i];
        struct sim_plan_node *to = &copy->nodes[i];
        struct sim_task task;
        size_t *deps = calloc(from->n_deps + 1, sizeof(size_t));
        if (!deps || !sim_task_copy(&task, &from->task)) {
            free(deps);
            sim_plan_release(copy);
            return NULL;
        }
        if (from->n_deps)
            memcpy(deps, from->deps, from->n_deps * sizeof(size_t));
        *to = *from;
        to->task = task;
        to->deps = deps;
        copy->n_nodes++;
    }
    if (copy)
        sim_plan_release(plan);
    return copy;
}

size_t sim_plan_count(const struct sim_plan *plan, enum sim_task_kind kind)
{
    size_t n = 0;
    for (size_t i = 0; i < plan->n_nodes; i++) {
        if (plan->nodes[i].task.kind == kind)
            n++;
        if (plan->nodes[i].task.kind == SIM_TASK_CHILD)
            n += sim_plan_count(plan->nodes[i].task.u.graph.plan, kind);
    }
    return n;
}
