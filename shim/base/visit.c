#include "shim/base/visit.h"

#include "shim/base/lock.h"
#include "shim/base/real.h"

bool ag_visit_begin(struct ag_visit *visit, CUcontext ctx)
{
    ag_lock_expect(AG_RANK_SUBMIT);
    *visit = (struct ag_visit){NULL, AG_VISIT_NONE};
    bool known = ag_real.cuCtxGetCurrent(&visit->before) == CUDA_SUCCESS;
    if (known && visit->before == ctx)
        return true;
    if (ag_real.cuCtxPushCurrent_v2(ctx) == CUDA_SUCCESS)
        visit->how = AG_VISIT_PUSHED;
    else if (known && ag_real.cuCtxSetCurrent(ctx) == CUDA_SUCCESS)
        visit->how = AG_VISIT_SET;
    return visit->how != AG_VISIT_NONE;
}

void ag_visit_end(const struct ag_visit *visit)
{
    CUcontext popped;
    if (visit->how == AG_VISIT_SET ||
        (visit->how == AG_VISIT_PUSHED && ag_real.cuCtxPopCurrent_v2(&popped) != CUDA_SUCCESS))
        ag_real.cuCtxSetCurrent(visit->before);
}
