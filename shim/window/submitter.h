/* The submitter: a thread that submits chunks on behalf of the program's threads (AUTOGRAPH_SUBMIT).
 *
 * A whole chunk that a window has cut is left to it where that pays (analysis/handover.h), so that what the driver
 * takes for a graph passes beside the program instead of in its way. Chunks of one window stay in order: a further one
 * waits until the first is with the driver, and whoever flushes the window submits it when the submitter has not begun.
 */
#ifndef AG_SHIM_WINDOW_SUBMITTER_H
#define AG_SHIM_WINDOW_SUBMITTER_H

#include "shim/window/window.h"

/* What the window holds is a chunk: hands it over, or submits it. The caller has `lock` alone. Returns the first code
 * of an op that the driver refused. */
CUresult ag_submitter_chunk(struct ag_window *window);

/* In a forked child: there is no such thread. */
void ag_submitter_after_fork(void);

#endif
