/* Calls that change what graphs were built under, or end a context, but that programs also make again and again without
 * any effect: only a change makes void what is known. */
#include <string.h>

#include "shim/hook/hook.h"
#include "shim/hook/known.h"
#include "shim/hook/limit.h"
#include "shim/hook/memory.h"
#include "shim/hook/observe.h"

/* Before a call that may wait and voids what is known when something changes. */
static void before(bool changes, enum ag_stat reason)
{
    if (atomic_load_explicit(&ag_window_open, memory_order_relaxed) != 0)
        ag_order_all(reason, AG_WAIT_LONG);
    if (changes)
        ag_window_forget_code(AG_WAIT_SOME);
}

CUresult ag_hook_cuCtxSetLimit(CUlimit limit, size_t value)
{
    size_t now;
    before(ag_real.cuCtxGetLimit(&now, limit) != CUDA_SUCCESS || now != value, AG_FLUSH_context);
    return ag_hook_late(AG_HOOK_FORWARD(cuCtxSetLimit)(limit, value));
}
AG_HOOK_EXPORT(cuCtxSetLimit, (CUlimit limit, size_t value))

CUresult ag_hook_cuCtxSetCacheConfig(CUfunc_cache config)
{
    CUfunc_cache now;
    before(ag_real.cuCtxGetCacheConfig(&now) != CUDA_SUCCESS || now != config, AG_FLUSH_context);
    return ag_hook_late(ag_real.cuCtxSetCacheConfig(config));
}
AG_HOOK_EXPORT(cuCtxSetCacheConfig, (CUfunc_cache config))

CUresult ag_hook_cuFuncSetCacheConfig(CUfunction hfunc, CUfunc_cache config)
{
    before(ag_known_config_changes(hfunc, config), AG_FLUSH_module);
    return ag_hook_late(ag_real.cuFuncSetCacheConfig(hfunc, config));
}
AG_HOOK_EXPORT(cuFuncSetCacheConfig, (CUfunction hfunc, CUfunc_cache config))

CUresult ag_hook_cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev)
{
    before(ag_known_config_changes(kernel, config), AG_FLUSH_module);
    return ag_hook_late(ag_real.cuKernelSetCacheConfig(kernel, config, dev));
}
AG_HOOK_EXPORT(cuKernelSetCacheConfig, (CUkernel kernel, CUfunc_cache config, CUdevice dev))

/* Same bytes; differing padding only costs a new window. */
static bool same(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(CUstreamAttrValue)) == 0;
}

/* A window knows its stream's priority: with another attribute its stream is a new one. */
#define STREAM_SET_ATTRIBUTE(symbol, getter, per_thread)                                                               \
    CUresult ag_hook_##symbol(CUstream hStream, CUstreamAttrID attr, const CUstreamAttrValue *value)                   \
    {                                                                                                                  \
        CUstreamAttrValue now;                                                                                         \
        memset(&now, 0, sizeof now);                                                                                   \
        ag_order_stream(hStream, per_thread, AG_FLUSH_stream);                                                         \
        if (value == NULL || ag_real.getter(hStream, attr, &now) != CUDA_SUCCESS || !same(&now, value))                \
            ag_window_forget(NULL, hStream == NULL ? CU_STREAM_LEGACY : hStream);                                      \
        return ag_hook_late(AG_HOOK_FORWARD(symbol)(hStream, attr, value));                                            \
    }                                                                                                                  \
    AG_HOOK_EXPORT(symbol, (CUstream hStream, CUstreamAttrID attr, const CUstreamAttrValue *value))

STREAM_SET_ATTRIBUTE(cuStreamSetAttribute, cuStreamGetAttribute, false)
STREAM_SET_ATTRIBUTE(cuStreamSetAttribute_ptsz, cuStreamGetAttribute_ptsz, true)

/* ---- the primary context ends with the release that matches its first retain ---- */

#define DEVICES_MAX 256

static atomic_int retained[DEVICES_MAX]; /* as far as seen here: never more than the driver's own count */

CUresult ag_hook_cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
    before(false, AG_FLUSH_context);
    CUresult result = AG_HOOK_FORWARD(cuDevicePrimaryCtxRetain)(pctx, dev);
    if (result == CUDA_SUCCESS && dev >= 0 && dev < DEVICES_MAX)
        atomic_fetch_add(&retained[dev], 1);
    return ag_hook_late(result);
}
AG_HOOK_EXPORT(cuDevicePrimaryCtxRetain, (CUcontext * pctx, CUdevice dev))

void ag_state_forget_primary(void)
{
    for (int i = 0; i < DEVICES_MAX; i++)
        atomic_store(&retained[i], 0);
}

/* Returns what ends for the memory record, if it may be the last release. */
static struct ag_memory_block *before_release(CUdevice dev)
{
    if (dev >= 0 && dev < DEVICES_MAX) {
        int count = atomic_load(&retained[dev]);
        while (count > 0 && !atomic_compare_exchange_weak(&retained[dev], &count, count - 1)) {
        }
        if (count > 1) {
            before(false, AG_FLUSH_context);
            return NULL;
        }
    }
    ag_order_all(AG_FLUSH_context, AG_WAIT_YES);
    ag_limit_forget();
    ag_observe_forget();
    ag_window_forget(NULL, NULL);
    return ag_memory_on() ? ag_memory_before_primary(dev) : NULL;
}

#define PRIMARY_RELEASE(symbol)                                                                                        \
    CUresult ag_hook_##symbol(CUdevice dev)                                                                            \
    {                                                                                                                  \
        struct ag_memory_block *gone = before_release(dev);                                                            \
        CUresult result = AG_HOOK_FORWARD(symbol)(dev);                                                                \
        ag_memory_after_release(result, dev, gone);                                                                    \
        return ag_hook_late(result);                                                                                   \
    }                                                                                                                  \
    AG_HOOK_EXPORT(symbol, (CUdevice dev))

PRIMARY_RELEASE(cuDevicePrimaryCtxRelease)
PRIMARY_RELEASE(cuDevicePrimaryCtxRelease_v2)
