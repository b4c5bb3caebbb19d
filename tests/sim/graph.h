/* Graphs, nodes, executable graphs and plans.
 *
 * Knows: how a graph becomes a plan and what may be changed in it. Refuses to know: how a plan is run (task.c) and
 * where nodes come from (graph_node.c, capture.c). Thread rule: sim_lock.
 */
#ifndef SIM_GRAPH_H
#define SIM_GRAPH_H

#include "tests/sim/core.h"
#include "samples/kernel_info.h"

struct sim_node {
    CUgraphNode handle;
    uint64_t id;
    uint64_t origin; /* id of the node this one was cloned from, for cuGraphNodeFindInClone; else its own */
    struct sim_graph *graph;
    CUgraphNodeType type;
    struct sim_task task;
    struct sim_ctx *ctx;
    bool kernel_handle; /* kernel nodes: added with `kern` */
    struct sim_node **deps;
    CUgraphEdgeData *edges;
    size_t n_deps;
    size_t index;                        /* scratch: place in the plan */
    void *params[SIM_KERNEL_PARAMS_MAX]; /* where the arguments are, for who asks for them */
};

struct sim_graph {
    CUgraph handle; /* NULL for the body of a child node's plan */
    uint64_t id;
    struct sim_node **nodes;
    size_t n_nodes, cap_nodes;
    bool capturing, child;
};

struct sim_plan_node {
    uint64_t id;
    CUgraphNodeType type;
    struct sim_task task;
    struct sim_ctx *ctx;
    bool disabled;
    size_t *deps, n_deps;
    bool done; /* scratch of one run: see sim_plan_order */
};
struct sim_plan {
    int refs;
    size_t n_nodes;
    struct sim_plan_node *nodes; /* dependencies come before dependents */
};

struct sim_exec {
    CUgraphExec handle;
    struct sim_plan *plan;
    struct sim_op *last; /* latest launch: the next one starts after it */
    struct sim_ctx *ctx; /* of the instantiating thread */
    unsigned long long flags;
    unsigned int patched, retargeted; /* since the last launch */
    bool uploaded;
    size_t memory_size; /* on the device, when graphs are charged for (graph_kb) */
};

struct sim_graph *sim_graph_new(bool with_handle);
void sim_graph_destroy(struct sim_graph *graph);
struct sim_graph *sim_graph_clone(const struct sim_graph *from, bool with_handle);
/* Adds a node whose task content is taken over, also on failure (NULL). */
struct sim_node *sim_node_add(struct sim_graph *graph, CUgraphNodeType type, struct sim_task *task);
bool sim_node_depend(struct sim_node *node, struct sim_node *on, const CUgraphEdgeData *edge);
bool sim_node_reaches(const struct sim_node *from, const struct sim_node *ancestor);
struct sim_graph *sim_graph_of(CUgraph handle);
struct sim_node *sim_node_of(CUgraphNode handle);

struct sim_plan *sim_plan_make(struct sim_graph *graph, CUresult *error);
struct sim_plan *sim_plan_hold(struct sim_plan *plan);
void sim_plan_release(struct sim_plan *plan);
struct sim_plan *
sim_plan_own(struct sim_plan *plan); /* a private copy unless there is one reference only; NULL: no memory */
size_t sim_plan_count(const struct sim_plan *plan, enum sim_task_kind kind); /* child plans included */

#endif
