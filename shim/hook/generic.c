/* The generic wrappers: order, forward. Made from the table. */
#include <string.h>

#include "shim/hook/hook.h"
#include "shim/hook/limit.h"
#include "shim/hook/observe.h"
#include "shim/trace/trace.h"

enum class { RECORD, FLUSH, CAPTURE, DROP, STATE, LOOKUP, PASS };
enum variant { LEGACY, PTSZ, PTDS };
#define AG_SCOPE(scope) AG_SCOPE_##scope

/* Why a function flushes, for the statistics: by the first part of its name. */
static enum ag_stat reason_of(const char *symbol)
{
    static const struct {
        const char *prefix;
        enum ag_stat reason;
    } reasons[] = {
            {"cuMemcpy", AG_FLUSH_copy},
            {"cuMemset", AG_FLUSH_copy},
            {"cuMem", AG_FLUSH_memory},
            {"cuCtxSynchronize", AG_FLUSH_sync},
            {"cuStreamSynchronize", AG_FLUSH_sync},
            {"cuEventSynchronize", AG_FLUSH_sync},
            {"cuEvent", AG_FLUSH_event},
            {"cuStreamWaitEvent", AG_FLUSH_event},
            {"cuLaunchHost", AG_FLUSH_host},
            {"cuStreamAddCallback", AG_FLUSH_host},
            {"cuLaunch", AG_FLUSH_launch},
            {"cuStream", AG_FLUSH_stream},
            {"cuCtx", AG_FLUSH_context},
            {"cuDevicePrimary", AG_FLUSH_context},
            {"cuModule", AG_FLUSH_module},
            {"cuLibrary", AG_FLUSH_module},
            {"cuKernel", AG_FLUSH_module},
            {"cuFunc", AG_FLUSH_module},
            {"cuOccupancy", AG_FLUSH_module},
            {"cuGraph", AG_FLUSH_graph},
            {"cuArray", AG_FLUSH_memory},
    };
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (strncmp(symbol, reasons[i].prefix, strlen(reasons[i].prefix)) == 0)
            return reasons[i].reason;
    return AG_FLUSH_other;
}

/* A function of the table, as its wrapper needs it. */
struct call {
    const char *symbol;
    enum class class;
    enum ag_scope scope;
    bool blocking, has_stream;
    enum variant variant;
    atomic_int reason;   /* of its flushes, an AG_FLUSH_ value; 0 until the first one */
    atomic_int patience; /* enum ag_patience; valid when the reason is */
    struct ag_caller caller;
};

/* How long a call that flushes windows of other streams may wait for their threads. */
static enum ag_patience patience_of(const struct call *call, enum ag_stat reason)
{
    static const char *const releasing[] = {"Destroy", "Free", "Unmap", "Unregister", "Release", "Unbind", "Close"};
    if (call->class == DROP)
        return AG_WAIT_YES;
    /* events cover work that was submitted when they were recorded */
    if (reason == AG_FLUSH_sync)
        return strcmp(call->symbol, "cuEventSynchronize") == 0 ? AG_WAIT_NO : AG_WAIT_YES;
    if (reason != AG_FLUSH_graph)
        for (size_t i = 0; i < sizeof releasing / sizeof releasing[0]; i++)
            if (strstr(call->symbol, releasing[i]) != NULL)
                return AG_WAIT_YES;
    return AG_WAIT_SOME;
}

static void note(const struct call *call, CUstream stream)
{
    if (call->has_stream)
        ag_trace_call_stream(call->symbol, stream, call->variant != LEGACY, NULL, 0);
    else
        ag_trace_call(call->symbol);
}

static void shadow(const struct call *call, CUstream stream)
{
    if (call->class == DROP || call->class == STATE)
        ag_observe_forget();
    else if (!call->has_stream || call->blocking || call->scope == AG_SCOPE_ALL)
        ag_shadow_flush_all();
    else
        ag_shadow_flush(stream, call->variant != LEGACY);
}

static void before(struct call *call, CUstream stream)
{
    if (ag_trace_on())
        note(call, stream);
    if (ag_shadow_on())
        shadow(call, stream);
    if (atomic_load_explicit(&ag_window_open, memory_order_relaxed) == 0)
        return;
    ag_stats_caller(&call->caller);
    int reason = atomic_load_explicit(&call->reason, memory_order_acquire);
    if (reason == 0) {
        reason = (int)reason_of(call->symbol);
        atomic_store_explicit(&call->patience, (int)patience_of(call, (enum ag_stat)reason), memory_order_relaxed);
        atomic_store_explicit(&call->reason, reason, memory_order_release);
    }
    /* copies and memsets without a stream are work of the default stream */
    bool default_stream = !call->has_stream && reason == AG_FLUSH_copy;
    if (!call->has_stream && !default_stream) {
        ag_order_all((enum ag_stat)reason, (enum ag_patience)atomic_load(&call->patience));
        return;
    }
    ag_order_stream(default_stream ? NULL : stream, call->variant != LEGACY, (enum ag_stat)reason);
    /* copies between devices without a stream come after all work of both */
    bool peer = default_stream && strstr(call->symbol, "Peer") != NULL;
    if (call->blocking || call->scope == AG_SCOPE_ALL)
        ag_order_all((enum ag_stat)reason, peer ? AG_WAIT_YES : AG_WAIT_NO);
}

/* What a call of class DROP or STATE makes void. */
static void forget(const char *symbol, enum class class)
{
    if (class == DROP) {
        ag_limit_forget();
        if (strncmp(symbol, "cuCtxDisablePeer", 16) == 0 || strncmp(symbol, "cuModule", 8) == 0 ||
            strncmp(symbol, "cuLibrary", 9) == 0 || strncmp(symbol, "cuGraph", 7) == 0)
            ag_window_forget_code(AG_WAIT_YES);
        else
            ag_window_forget(NULL, NULL);
        if (strncmp(symbol, "cuDevicePrimaryCtxReset", 23) == 0)
            ag_state_forget_primary();
    } else if (strncmp(symbol, "cuCtxCreate", 11) != 0) {
        /* rare: everything built under the old state is built anew */
        ag_window_forget_code(AG_WAIT_SOME);
        if (strncmp(symbol, "cuModuleGetTexRef", 17) == 0 || strncmp(symbol, "cuModuleGetSurfRef", 18) == 0)
            ag_order_stop(AG_BYPASS_blind);
    }
}

/* Whether a call that found no memory is tried once more after the shim has given back its own. */
static bool allocates(const char *symbol)
{
    static const char *const prefixes[] = {"cuMemAlloc",         "cuMemCreate",  "cuArray",       "cuMipmappedArray",
                                           "cuGraphInstantiate", "cuModuleLoad", "cuLibraryLoad", "cuStreamCreate"};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (strncmp(symbol, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

#define GENERATE_NONE(symbol, variant, class, scope, blocking, stream, params, args)
#define GENERATE_OWN(symbol, variant, class, scope, blocking, stream, params, args)
#define GENERATE_GEN(symbol, variant, class, scope, blocking, stream, params, args)                                    \
    CUresult ag_hook_##symbol params                                                                                   \
    {                                                                                                                  \
        static struct call call = {#symbol, class, AG_SCOPE(scope),   blocking, HAS_STREAM(stream), variant,           \
                                   0,       0,     AG_CALLER(#symbol)};                                                \
        before(&call, stream);                                                                                         \
        if (class == DROP || class == STATE)                                                                           \
            forget(#symbol, class);                                                                                    \
        CUresult result = AG_HOOK_FORWARD(symbol) args;                                                                \
        if (__builtin_expect(result == CUDA_ERROR_OUT_OF_MEMORY, 0) && allocates(#symbol) &&                           \
            ag_window_release_graphs())                                                                                \
            result = ag_real.symbol args;                                                                              \
        return ag_hook_late(result);                                                                                   \
    }                                                                                                                  \
    AG_HOOK_EXPORT(symbol, params)

/* AG_NO_STREAM arrives here expanded, and is the only stream column that begins with a parenthesis. */
#define HAS_STREAM(stream) (#stream[0] != '(')

#define AG_HOOK(impl, symbol, api, since, variant, class, scope, blocking, stream, type, params, args, reason)         \
    GENERATE_##impl(symbol, variant, class, scope, blocking, stream, params, args)
#include "shim/hook/table.def"
#undef AG_HOOK
