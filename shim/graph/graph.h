/* Graphs: building, patching and launching executable graphs of held ops, and submitting single ops.
 *
 * Knows the driver's graph calls and sites. Refuses to know windows and policy. Every call happens under the lock of
 * the window that owns the ops, in the window's context. Codes are the driver's.
 */
#ifndef AG_SHIM_GRAPH_GRAPH_H
#define AG_SHIM_GRAPH_GRAPH_H

#include "shim/graph/site.h"

/* Where ops are submitted to. */
struct ag_target {
    CUcontext ctx;
    CUstream stream; /* CU_STREAM_LEGACY for the legacy default stream */
    int priority;    /* of the stream; kernel nodes get it */
};

struct ag_exec {
    CUgraph graph; /* kept: node handles belong to it */
    CUgraphExec exec;
    unsigned length;
    uint64_t used; /* when it was launched last (window/budget.h) */
    CUgraphNode nodes[];
};

/* Device memory of one node, bytes: measured at 5.8 KiB on driver 580. */
#define AG_GRAPH_NODE_BYTES 5940u

/* Builds an executable graph: the ops in line, one after the other. records as for ag_book_choose(). On success *made
 * is the caller's, to be given to ag_graph_free(). */
CUresult ag_graph_build(const struct ag_target *target, const struct ag_token *const *tokens, unsigned length,
                        const unsigned char *records, struct ag_exec **made);

/* Writes a record into node i. The node must have been built for the same token. */
CUresult ag_graph_patch(const struct ag_target *target, struct ag_exec *exec, unsigned i, const struct ag_token *token,
                        const unsigned char *record);

CUresult ag_graph_launch(const struct ag_target *target, const struct ag_exec *exec);

/* Frees the graph; launches under way still complete (the driver frees it afterwards). */
void ag_graph_free(struct ag_exec *exec);

/* Submits one op as the program would have. */
CUresult ag_graph_submit(const struct ag_target *target, const struct ag_token *token, const unsigned char *record);

#endif
