/* Hooks: what the program reaches instead of the driver.
 *
 * Each function of the table whose impl is not NONE has a wrapper ag_hook_<symbol>, exported under the driver's name.
 * Wrappers only translate: what must be ordered is asked of window/order.h, what may be held goes to window/window.h.
 */
#ifndef AG_SHIM_HOOK_HOOK_H
#define AG_SHIM_HOOK_HOOK_H

#include <stdbool.h>

#include "shim/base/real.h"
#include "shim/window/budget.h"
#include "shim/window/order.h"

#define AG_HOOK_DECLARE_NONE(symbol, params)
#define AG_HOOK_DECLARE_GEN(symbol, params) CUresult ag_hook_##symbol params;
#define AG_HOOK_DECLARE_OWN(symbol, params) CUresult ag_hook_##symbol params;
#define AG_HOOK(impl, symbol, api, since, variant, class, scope, blocking, rules, stream, type, params, args, reason)  \
    AG_HOOK_DECLARE_##impl(symbol, params)
#include "shim/hook/table.def"
#undef AG_HOOK

/* Exports a wrapper under the driver's name. */
#define AG_HOOK_EXPORT(symbol, params)                                                                                 \
    __attribute__((visibility("default"), alias("ag_hook_" #symbol))) extern CUresult symbol params;

/* Whether launches may be held now; *why says otherwise. */
bool ag_hook_may_hold(enum ag_stat *why);

/* The hook that stands for a pointer into the real driver, NULL when it is not hooked; *known: the table lists it. */
void *ag_hook_for(const void *real, bool *known);

/* A primary context was reset: the release that ends it may be any from now on. */
void ag_state_forget_primary(void);

/* Hands a call of the program's to the driver, which may wait or call the program: no lock is held then. */
#define AG_HOOK_FORWARD(symbol) (*(ag_lock_expect(AG_RANK_NONE), &ag_real.symbol))

/* Whether a call that the driver had no memory for is worth another try: the shim has given back its graphs. No lock
 * held. */
static inline bool ag_hook_again(CUresult result)
{
    return __builtin_expect(result == CUDA_ERROR_OUT_OF_MEMORY, 0) && ag_budget_release();
}

/* Reports a held op's late error through a call that may carry one. */
static inline CUresult ag_hook_late(CUresult result)
{
    if (__builtin_expect(result != CUDA_SUCCESS, 0))
        ag_window_note(result);
    if (__builtin_expect(atomic_load_explicit(&ag_window_deferred, memory_order_relaxed) != 0, 0) &&
        !ag_window_inside) {
        int late = atomic_exchange(&ag_window_deferred, 0);
        if (result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY)
            return late != 0 ? (CUresult)late : result;
    }
    return result;
}

#endif
