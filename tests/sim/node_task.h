/* From the driver API's node parameter structs to tasks and back. Thread rule: sim_lock. */
#ifndef SIM_NODE_TASK_H
#define SIM_NODE_TASK_H

#include "tests/sim/graph.h"

struct sim_where {
    struct sim_ctx *ctx;
    bool kernel_handle;
};

/* `where` gets the context that the node runs in. */
CUresult sim_task_from_kernel(struct sim_task *task, const CUDA_KERNEL_NODE_PARAMS_v2 *p, struct sim_where *where);
CUresult sim_task_from_kernel_v1(struct sim_task *task, const CUDA_KERNEL_NODE_PARAMS_v1 *p, struct sim_where *where);
CUresult sim_task_from_memset(struct sim_task *task, const CUDA_MEMSET_NODE_PARAMS *p, CUcontext ctx,
                              struct sim_where *where);
CUresult sim_task_from_memcpy(struct sim_task *task, const CUDA_MEMCPY3D *p, CUcontext ctx, struct sim_where *where);
CUresult sim_task_from_host(struct sim_task *task, CUhostFn fn, void *data);
CUresult sim_task_from_event(struct sim_task *task, enum sim_task_kind kind, CUevent event);
CUresult sim_task_from_child(struct sim_task *task, CUgraph child);
CUresult sim_task_from_any(struct sim_task *task, CUgraphNodeParams *p, struct sim_where *where);
CUgraphNodeType sim_task_node_type(const struct sim_task *task);

/* Pointers in the result belong to the node and live until it changes. */
void sim_task_to_kernel(struct sim_node *node, CUDA_KERNEL_NODE_PARAMS_v2 *p);
void sim_task_to_memset(const struct sim_task *task, CUDA_MEMSET_NODE_PARAMS *p);
void sim_task_to_memcpy(const struct sim_task *task, CUDA_MEMCPY3D *p);

#endif
