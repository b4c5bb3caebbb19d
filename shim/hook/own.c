/* Wrappers that do more than order and forward: queries, captures, streams, pointer lookup. */
#include <stdlib.h>
#include <string.h>

#include "shim/base/log.h"
#include "shim/hook/hook.h"
#include "shim/hook/unknown.h"
#include "shim/trace/shadow.h"
#include "shim/trace/trace.h"

/* A query that answers "not ready" must become ready without further calls, so everything is submitted first. */
static CUresult queried(const char *symbol, CUresult result)
{
    if (result == CUDA_ERROR_NOT_READY && ag_trace_on())
        ag_trace_call(symbol);
    if (result == CUDA_ERROR_NOT_READY && ag_shadow_on())
        ag_shadow_flush_all();
    if (result == CUDA_ERROR_NOT_READY)
        ag_order_all(AG_FLUSH_event, AG_WAIT_NO);
    return ag_hook_late(result);
}

#define EVENT_QUERY(symbol, params, args)                                                                              \
    CUresult ag_hook_##symbol params                                                                                   \
    {                                                                                                                  \
        return queried(#symbol, AG_HOOK_FORWARD(symbol) args);                                                         \
    }                                                                                                                  \
    AG_HOOK_EXPORT(symbol, params)

EVENT_QUERY(cuEventQuery, (CUevent hEvent), (hEvent))
EVENT_QUERY(cuEventElapsedTime, (float *pMilliseconds, CUevent hStart, CUevent hEnd), (pMilliseconds, hStart, hEnd))
#if CUDA_VERSION >= 12080
EVENT_QUERY(cuEventElapsedTime_v2, (float *pMilliseconds, CUevent hStart, CUevent hEnd), (pMilliseconds, hStart, hEnd))
#endif

#define STREAM_QUERY(symbol, per_thread)                                                                               \
    CUresult ag_hook_##symbol(CUstream hStream)                                                                        \
    {                                                                                                                  \
        if (atomic_load_explicit(&ag_window_open, memory_order_relaxed) != 0)                                          \
            ag_order_stream(hStream, per_thread, AG_FLUSH_event);                                                      \
        return queried(#symbol, AG_HOOK_FORWARD(symbol)(hStream));                                                     \
    }                                                                                                                  \
    AG_HOOK_EXPORT(symbol, (CUstream hStream))

STREAM_QUERY(cuStreamQuery, false)
STREAM_QUERY(cuStreamQuery_ptsz, true)

/* The streams in which captures began: destroying one ends its capture. More than fit are not known. */
static _Atomic(CUstream) origins[64];

/* Writes `now` over `was`; false when there is none. */
static bool origins_replace(CUstream was, CUstream now)
{
    for (size_t i = 0; i < sizeof origins / sizeof origins[0]; i++) {
        CUstream expected = was;
        if (atomic_compare_exchange_strong(&origins[i], &expected, now))
            return true;
    }
    return false;
}

static void capture_over(void)
{
    int now = atomic_load(&ag_window_captures);
    while (now > 0 && !atomic_compare_exchange_weak(&ag_window_captures, &now, now - 1)) {
    }
}

/* While a capture is under way anywhere nothing is held. */
#define BEGIN_CAPTURE(symbol, per_thread, params, args)                                                                \
    CUresult ag_hook_##symbol params                                                                                   \
    {                                                                                                                  \
        if (ag_trace_on())                                                                                             \
            ag_trace_call_stream(#symbol, hStream, per_thread);                                                        \
        if (ag_shadow_on())                                                                                            \
            ag_shadow_flush_all();                                                                                     \
        atomic_fetch_add(&ag_window_captures, 1);                                                                      \
        ag_order_stream(hStream, per_thread, AG_FLUSH_capture);                                                        \
        ag_order_all(AG_FLUSH_capture, AG_WAIT_SOME);                                                                  \
        CUresult result = AG_HOOK_FORWARD(symbol) args;                                                                \
        if (result != CUDA_SUCCESS)                                                                                    \
            capture_over();                                                                                            \
        else                                                                                                           \
            origins_replace(NULL, hStream);                                                                            \
        return result;                                                                                                 \
    }                                                                                                                  \
    AG_HOOK_EXPORT(symbol, params)

BEGIN_CAPTURE(cuStreamBeginCapture, false, (CUstream hStream), (hStream))
BEGIN_CAPTURE(cuStreamBeginCapture_ptsz, true, (CUstream hStream), (hStream))
BEGIN_CAPTURE(cuStreamBeginCapture_v2, false, (CUstream hStream, CUstreamCaptureMode mode), (hStream, mode))
BEGIN_CAPTURE(cuStreamBeginCapture_v2_ptsz, true, (CUstream hStream, CUstreamCaptureMode mode), (hStream, mode))
BEGIN_CAPTURE(cuStreamBeginCaptureToGraph, false,
              (CUstream hStream, CUgraph hGraph, const CUgraphNode *dependencies, const CUgraphEdgeData *dependencyData,
               size_t numDependencies, CUstreamCaptureMode mode),
              (hStream, hGraph, dependencies, dependencyData, numDependencies, mode))
BEGIN_CAPTURE(cuStreamBeginCaptureToGraph_ptsz, true,
              (CUstream hStream, CUgraph hGraph, const CUgraphNode *dependencies, const CUgraphEdgeData *dependencyData,
               size_t numDependencies, CUstreamCaptureMode mode),
              (hStream, hGraph, dependencies, dependencyData, numDependencies, mode))

/* The capture is over unless the stream is not the one that it began in, or not capturing at all. */
static CUresult ended(CUresult result, CUstream stream)
{
    if (result != CUDA_ERROR_ILLEGAL_STATE && result != CUDA_ERROR_INVALID_VALUE &&
        result != CUDA_ERROR_INVALID_HANDLE && result != CUDA_ERROR_STREAM_CAPTURE_UNMATCHED &&
        result != CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD && result != CUDA_ERROR_INVALID_CONTEXT &&
        result != CUDA_ERROR_NOT_INITIALIZED) {
        origins_replace(stream, NULL);
        capture_over();
    }
    return result;
}

#define END_CAPTURE(symbol)                                                                                            \
    CUresult ag_hook_##symbol(CUstream hStream, CUgraph *phGraph)                                                      \
    {                                                                                                                  \
        if (ag_trace_on())                                                                                             \
            ag_trace_call(#symbol);                                                                                    \
        return ended(AG_HOOK_FORWARD(symbol)(hStream, phGraph), hStream);                                              \
    }                                                                                                                  \
    AG_HOOK_EXPORT(symbol, (CUstream hStream, CUgraph * phGraph))

END_CAPTURE(cuStreamEndCapture)
END_CAPTURE(cuStreamEndCapture_ptsz)

/* The handle may come back for another stream. */
#define STREAM_DESTROY(symbol)                                                                                         \
    CUresult ag_hook_##symbol(CUstream hStream)                                                                        \
    {                                                                                                                  \
        if (ag_trace_on())                                                                                             \
            ag_trace_call_stream(#symbol, hStream, false);                                                             \
        if (ag_shadow_on())                                                                                            \
            ag_shadow_flush(hStream, false);                                                                           \
        ag_order_stream(hStream, false, AG_FLUSH_stream);                                                              \
        if (hStream != NULL && hStream != CU_STREAM_LEGACY && hStream != CU_STREAM_PER_THREAD)                         \
            ag_window_forget(NULL, hStream);                                                                           \
        bool origin = hStream != NULL && atomic_load(&ag_window_captures) > 0 && origins_replace(hStream, NULL);       \
        CUresult result = AG_HOOK_FORWARD(symbol)(hStream);                                                            \
        if (origin && result == CUDA_SUCCESS)                                                                          \
            capture_over();                                                                                            \
        else if (origin)                                                                                               \
            origins_replace(NULL, hStream);                                                                            \
        return ag_hook_late(result);                                                                                   \
    }                                                                                                                  \
    AG_HOOK_EXPORT(symbol, (CUstream hStream))

STREAM_DESTROY(cuStreamDestroy)
STREAM_DESTROY(cuStreamDestroy_v2)

/* A context made from a green one cannot be told from others later: from here on nothing is held. */
CUresult ag_hook_cuCtxFromGreenCtx(CUcontext *pContext, CUgreenCtx hCtx)
{
    ag_order_stop(AG_BYPASS_stream);
    return ag_real.cuCtxFromGreenCtx(pContext, hCtx);
}
AG_HOOK_EXPORT(cuCtxFromGreenCtx, (CUcontext * pContext, CUgreenCtx hCtx))

#if CUDA_VERSION >= 12050
/* registry.c asks the driver whether a stream is green when it first sees it. */
CUresult ag_hook_cuGreenCtxStreamCreate(CUstream *phStream, CUgreenCtx greenCtx, unsigned int flags, int priority)
{
    ag_order_all(AG_FLUSH_stream, AG_WAIT_SOME);
    return ag_hook_late(ag_real.cuGreenCtxStreamCreate(phStream, greenCtx, flags, priority));
}
AG_HOOK_EXPORT(cuGreenCtxStreamCreate, (CUstream * phStream, CUgreenCtx greenCtx, unsigned int flags, int priority))
#endif

/* ---- pointer lookup ---- */

struct pair {
    const void *real;
    void *hook;
};

#define PAIR_COUNT (sizeof(struct ag_driver) / sizeof(void *))

static struct pair pairs[PAIR_COUNT];

static int compare(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const struct pair *)a)->real, y = (uintptr_t)((const struct pair *)b)->real;
    return x < y ? -1 : x > y;
}

#define PAIR_NONE(symbol) *pair++ = (struct pair){(const void *)ag_real.symbol, NULL};
#define PAIR_GEN(symbol) *pair++ = (struct pair){(const void *)ag_real.symbol, (void *)ag_hook_##symbol};
#define PAIR_OWN(symbol) PAIR_GEN(symbol)

/* Code, since a table of addresses would be written by the loader in each process. */
static void sort_pairs(void)
{
    struct pair *pair = pairs;
    ag_real_open();
#define AG_HOOK(impl, symbol, api, since, variant, class, scope, blocking, rules, stream, type, params, args, reason)  \
    PAIR_##impl(symbol)
#include "shim/hook/table.def"
#undef AG_HOOK
    qsort(pairs, PAIR_COUNT, sizeof pairs[0], compare);
}

void *ag_hook_for(const void *real, bool *known)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    *known = true;
    if (ag_real_opening())
        return NULL; /* what loads with the driver gets what it asked for */
    pthread_once(&once, sort_pairs);
    struct pair wanted = {real, NULL};
    const struct pair *found = bsearch(&wanted, pairs, PAIR_COUNT, sizeof pairs[0], compare);
    *known = found != NULL;
    return found != NULL ? found->hook : NULL;
}

/* What the program gets instead of a driver function. */
static void swap(const char *name, void **function)
{
    bool known;
    if (name == NULL || function == NULL || *function == NULL)
        return;
    void *instead = ag_hook_for(*function, &known);
    if (!known) {
        instead = ag_unknown_stub(*function, name);
        if (instead == NULL && ag_order_stop(AG_BYPASS_blind))
            ag_log(AG_LOG_INFO, "%s is not in the hook table, and no stub is left: nothing is held", name);
    }
    if (instead != NULL)
        *function = instead;
}

CUresult ag_hook_cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags)
{
    CUresult result = ag_real.cuGetProcAddress(symbol, pfn, cudaVersion, flags);
    if (result == CUDA_SUCCESS)
        swap(symbol, pfn);
    return result;
}
AG_HOOK_EXPORT(cuGetProcAddress, (const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags))

CUresult ag_hook_cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
                                     CUdriverProcAddressQueryResult *symbolStatus)
{
    CUresult result = ag_real.cuGetProcAddress_v2(symbol, pfn, cudaVersion, flags, symbolStatus);
    if (result == CUDA_SUCCESS)
        swap(symbol, pfn);
    return result;
}
AG_HOOK_EXPORT(cuGetProcAddress_v2, (const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
                                     CUdriverProcAddressQueryResult *symbolStatus))
