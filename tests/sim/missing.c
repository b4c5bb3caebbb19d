/* Driver functions that the simulator does not implement: a weak version of each function of the hook table. */
#include "tests/sim/api.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define AG_HOOK(impl, symbol, api, since, variant, class, scope, blocking, rules, stream_arg, type, params, args,      \
                reason)                                                                                                \
    __attribute__((weak)) CUresult sim_##symbol params                                                                 \
    {                                                                                                                  \
        return CUDA_ERROR_NOT_SUPPORTED;                                                                               \
    }
#include "shim/hook/table.def"
