/* Work in a context that may not be the calling thread's current one.
 *
 * Knows the driver's stack of current contexts. A visit ends in the context that it began in, also where the driver
 * refuses to push or pop. Thread rule: any thread; a visit belongs to the thread that began it.
 */
#ifndef AG_SHIM_BASE_VISIT_H
#define AG_SHIM_BASE_VISIT_H

#include <stdbool.h>

#include "shim/base/cuda.h"

struct ag_visit {
    CUcontext before;
    enum { AG_VISIT_NONE, AG_VISIT_PUSHED, AG_VISIT_SET } how;
};

/* Makes the context current. False: it cannot be, and nothing has changed; ag_visit_end() does nothing then. */
bool ag_visit_begin(struct ag_visit *visit, CUcontext ctx);
void ag_visit_end(const struct ag_visit *visit);

#endif
