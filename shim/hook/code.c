/* Questions about code: the first touch of a function may load it and drain the device, so everything is flushed first;
 * a function that was launched before is loaded, and answering needs no flush. */
#include "shim/hook/hook.h"
#include "shim/hook/known.h"
#include "shim/hook/limit.h"
#include "shim/trace/trace.h"

static void before(struct ag_caller *caller, const char *symbol, void *handle)
{
    if (ag_trace_on())
        ag_trace_call_handle(symbol, handle, NULL, 0);
    if (atomic_load_explicit(&ag_window_open, memory_order_relaxed) != 0 && !ag_known_loaded(handle)) {
        ag_stats_caller(caller, symbol);
        ag_order_all(AG_FLUSH_module, AG_WAIT_SOME);
    }
}

/* loads: answering takes the code itself, which is on the device from now on. */
static CUresult after(CUresult result, void *handle, bool loads)
{
    if (result == CUDA_SUCCESS && loads)
        ag_known_set_loaded(handle);
    return ag_hook_late(result);
}

/* handle: the function asked about; shared: the dynamic shared memory that the answer depends on, bytes. */
#define QUESTION(symbol, params, args, handle, shared, loads)                                                          \
    CUresult ag_hook_##symbol params                                                                                   \
    {                                                                                                                  \
        static struct ag_caller caller;                                                                                \
        before(&caller, #symbol, handle);                                                                              \
        if ((shared) > 0)                                                                                              \
            ag_limit_enforce((CUfunction)(void *)(handle), (unsigned)(shared));                                        \
        CUresult result = AG_HOOK_FORWARD(symbol) args;                                                                \
        if (ag_hook_again(result))                                                                                     \
            result = ag_real.symbol args;                                                                              \
        return after(result, handle, loads);                                                                           \
    }                                                                                                                  \
    AG_HOOK_EXPORT(symbol, params)

QUESTION(cuOccupancyMaxActiveBlocksPerMultiprocessor,
         (int *numBlocks, CUfunction func, int blockSize, size_t dynamicSMemSize),
         (numBlocks, func, blockSize, dynamicSMemSize), func, dynamicSMemSize, true)
QUESTION(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
         (int *numBlocks, CUfunction func, int blockSize, size_t dynamicSMemSize, unsigned int flags),
         (numBlocks, func, blockSize, dynamicSMemSize, flags), func, dynamicSMemSize, true)
QUESTION(cuFuncGetModule, (CUmodule * hmod, CUfunction hfunc), (hmod, hfunc), hfunc, 0u, false)
QUESTION(cuFuncGetName, (const char **name, CUfunction hfunc), (name, hfunc), hfunc, 0u, false)
QUESTION(cuFuncLoad, (CUfunction function), (function), function, 0u, true)

CUresult ag_hook_cuKernelGetFunction(CUfunction *pFunc, CUkernel kernel)
{
    static struct ag_caller caller;
    before(&caller, "cuKernelGetFunction", kernel);
    CUresult result = AG_HOOK_FORWARD(cuKernelGetFunction)(pFunc, kernel);
    if (result == CUDA_SUCCESS)
        ag_known_same(*pFunc, kernel);
    return after(result, kernel, false);
}
AG_HOOK_EXPORT(cuKernelGetFunction, (CUfunction * pFunc, CUkernel kernel))
