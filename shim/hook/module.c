/* Modules and libraries: what ends when one is unloaded. A program that compiles code as it goes unloads some all the
 * time, and keeps launching the rest. */
#include "shim/hook/hook.h"
#include "shim/hook/known.h"
#include "shim/hook/limit.h"
#include "shim/hook/memory.h"
#include "shim/hook/observe.h"
#include "shim/trace/trace.h"

static void before(struct ag_caller *caller, const char *symbol, enum ag_patience patience)
{
    if (ag_trace_on())
        ag_trace_call(symbol);
    if (atomic_load_explicit(&ag_window_open, memory_order_relaxed) == 0)
        return;
    ag_stats_caller(caller, symbol);
    ag_order_all(AG_FLUSH_module, patience);
}

#define LOAD(symbol, params, args)                                                                                     \
    CUresult ag_hook_##symbol params                                                                                   \
    {                                                                                                                  \
        static struct ag_caller caller;                                                                                \
        before(&caller, #symbol, AG_WAIT_SOME);                                                                        \
        if (ag_shadow_on())                                                                                            \
            ag_shadow_flush_all();                                                                                     \
        CUresult result = AG_HOOK_FORWARD(symbol) args;                                                                \
        if (ag_hook_again(result))                                                                                     \
            result = ag_real.symbol args;                                                                              \
        if (result == CUDA_SUCCESS)                                                                                    \
            ag_known_module_loaded(*module);                                                                           \
        return ag_hook_late(result);                                                                                   \
    }                                                                                                                  \
    AG_HOOK_EXPORT(symbol, params)

LOAD(cuModuleLoad, (CUmodule * module, const char *fname), (module, fname))
LOAD(cuModuleLoadData, (CUmodule * module, const void *image), (module, image))
LOAD(cuModuleLoadDataEx,
     (CUmodule * module, const void *image, unsigned int numOptions, CUjit_option *options, void **optionValues),
     (module, image, numOptions, options, optionValues))
LOAD(cuModuleLoadFatBinary, (CUmodule * module, const void *fatCubin), (module, fatCubin))

/* The handles still mean what ends. */
static void before_unload(struct ag_caller *caller, const char *symbol, const void *owner)
{
    before(caller, symbol, AG_WAIT_YES);
    ag_observe_forget();
    if (owner == NULL)
        return;
    ag_limit_forget_owner(owner);
    ag_window_forget_owner(owner);
}

CUresult ag_hook_cuModuleUnload(CUmodule hmod)
{
    static struct ag_caller caller;
    before_unload(&caller, "cuModuleUnload", hmod);
    struct ag_memory_block *gone = ag_memory_on() ? ag_memory_before_unload(hmod) : NULL;
    CUresult result = AG_HOOK_FORWARD(cuModuleUnload)(hmod);
    if (ag_memory_on())
        ag_memory_after(result, gone);
    return ag_hook_late(result);
}
AG_HOOK_EXPORT(cuModuleUnload, (CUmodule hmod))

CUresult ag_hook_cuLibraryUnload(CUlibrary library)
{
    static struct ag_caller caller;
    before_unload(&caller, "cuLibraryUnload", library);
    struct ag_memory_block *gone = ag_memory_on() ? ag_memory_before_unload(library) : NULL;
    CUresult result = AG_HOOK_FORWARD(cuLibraryUnload)(library);
    if (ag_memory_on())
        ag_memory_after(result, gone);
    return ag_hook_late(result);
}
AG_HOOK_EXPORT(cuLibraryUnload, (CUlibrary library))
