/* Questions about code: the first touch of a function may load it and drain the device, so everything is flushed first;
 * a function that was launched before is loaded, and answering needs no flush. */
#include "shim/hook/hook.h"
#include "shim/hook/limit.h"

static void before(void *handle)
{
    if (atomic_load_explicit(&ag_window_open, memory_order_relaxed) != 0 && !ag_limit_launched(handle))
        ag_order_all(AG_FLUSH_module, true);
}

/* handle: the function asked about; shared: the dynamic shared memory that the answer depends on, bytes. */
#define QUESTION(symbol, params, args, handle, shared)                                                                 \
    CUresult ag_hook_##symbol params                                                                                   \
    {                                                                                                                  \
        before(handle);                                                                                                \
        if ((shared) > 0)                                                                                              \
            ag_limit_enforce((CUfunction)(void *)(handle), (unsigned)(shared));                                        \
        return ag_hook_late(ag_real.symbol args);                                                                      \
    }                                                                                                                  \
    AG_HOOK_EXPORT(symbol, params)

QUESTION(cuOccupancyMaxActiveBlocksPerMultiprocessor,
         (int *numBlocks, CUfunction func, int blockSize, size_t dynamicSMemSize),
         (numBlocks, func, blockSize, dynamicSMemSize), func, dynamicSMemSize)
QUESTION(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
         (int *numBlocks, CUfunction func, int blockSize, size_t dynamicSMemSize, unsigned int flags),
         (numBlocks, func, blockSize, dynamicSMemSize, flags), func, dynamicSMemSize)
QUESTION(cuKernelGetFunction, (CUfunction * pFunc, CUkernel kernel), (pFunc, kernel), kernel, 0u)
QUESTION(cuFuncGetModule, (CUmodule * hmod, CUfunction hfunc), (hmod, hfunc), hfunc, 0u)
QUESTION(cuFuncGetName, (const char **name, CUfunction hfunc), (name, hfunc), hfunc, 0u)
QUESTION(cuFuncLoad, (CUfunction function), (function), function, 0u)
