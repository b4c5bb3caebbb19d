/* Verify mode: what a graph is about to do, against what the program issued.
 *
 * The nodes of an executable graph cannot be read, those of the graph that it was made from can. So in verify mode each
 * patch goes into both (ag_graph_patch), and before each launch every node is read back. This finds records mixed up
 * among nodes, layouts read wrongly and patches left out, of the shim's own making or on the way through the driver; it
 * does not find a driver that takes a patch for the executable graph otherwise than the same one for the graph. Launch
 * attributes and edges are not read: they are written when the graph is built and never patched.
 *
 * Every difference is logged (warn) with its node. Thread rule: the lock of the window that owns the ops, its context
 * is current.
 */
#ifndef AG_SHIM_GRAPH_VERIFY_H
#define AG_SHIM_GRAPH_VERIFY_H

#include "shim/base/options.h"
#include "shim/graph/graph.h"

static inline bool ag_verify_on(void)
{
    return __builtin_expect(ag_options.mode == AG_MODE_VERIFY, 0);
}

/* Reads every node back and adds the number of differences from the records to *differences. A code other than success:
 * some node could not be read, so not everything was compared. */
CUresult ag_verify_nodes(const struct ag_exec *exec, const struct ag_token *const *tokens, const unsigned char *records,
                         unsigned *differences);

/* Adds the number of records that differ from the image: what is believed that the nodes hold. */
void ag_verify_image(const struct ag_token *const *tokens, unsigned length, const unsigned char *records,
                     const unsigned char *image, unsigned *differences);

#endif
