/* The generic wrappers: order, forward. Made from the table. */
#include "shim/hook/hook.h"
#include "shim/hook/limit.h"
#include "shim/hook/memory.h"
#include "shim/hook/observe.h"
#include "shim/trace/trace.h"

enum class { RECORD, FLUSH, CAPTURE, DROP, STATE, LOOKUP, PASS };
enum variant { LEGACY, PTSZ, PTDS };
enum voids { NOTHING, GRAPHS, PINNED, WINDOW, CODE, CONTEXT, PRIMARY, SIGHT };
#define AG_SCOPE(scope) AG_SCOPE_##scope

/* A function of the table, as its wrapper needs it. No pointers: the loader would have to write to it in each process.
 */
struct call {
    enum class class;
    enum ag_scope scope;
    bool blocking, has_stream;
    enum variant variant;
    enum ag_stat flush;
    enum ag_patience patience;
    enum voids voids;
    bool again;
};

static void note(const struct call *call, const char *symbol, CUstream stream)
{
    if (call->has_stream)
        ag_trace_call_stream(symbol, stream, call->variant != LEGACY);
    else
        ag_trace_call(symbol);
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

static void before(const struct call *call, const char *symbol, struct ag_caller *caller, CUstream stream)
{
    if (ag_trace_on())
        note(call, symbol, stream);
    if (ag_shadow_on())
        shadow(call, stream);
    if (atomic_load_explicit(&ag_window_open, memory_order_relaxed) == 0)
        return;
    ag_stats_caller(caller, symbol);
    bool streams = call->has_stream || call->scope == AG_SCOPE_DEFAULT;
    if (streams)
        ag_order_stream(stream, call->variant != LEGACY, call->flush);
    if (!streams || call->blocking || call->scope == AG_SCOPE_ALL)
        ag_order_all(call->flush, call->patience);
}

/* What the call makes void. */
static void forget(const struct call *call)
{
    switch (call->voids) {
    case NOTHING:
    case WINDOW: /* only in wrappers written by hand */
        break;
    case GRAPHS:
    case SIGHT:
        ag_window_forget_code(AG_WAIT_SOME);
        if (call->voids == SIGHT)
            ag_order_stop(AG_BYPASS_blind);
        break;
    case PINNED:
        ag_window_forget_pinned();
        break;
    case CODE:
        ag_limit_forget();
        ag_window_forget_code(AG_WAIT_YES);
        break;
    case CONTEXT:
    case PRIMARY:
        ag_limit_forget();
        ag_window_forget(NULL, NULL);
        if (call->voids == PRIMARY)
            ag_state_forget_primary();
        break;
    }
}

/* Unpacks the rules of a row. */
#define RULES(flushes, patience_, voids_, again_)                                                                      \
    .flush = AG_FLUSH_##flushes, .patience = AG_WAIT_##patience_, .voids = voids_, .again = again_

/* What the memory record has for a function (hook/memory.h), else the default. */
#define CHOOSE(ignored, chosen, ...) chosen
#define CHOOSE_FROM(...) CHOOSE(__VA_ARGS__)
#define MEMORY_ENDS(symbol) CHOOSE_FROM(AG_MEMORY_ENDS_##symbol, NULL, ~)
#define MEMORY_BEGINS(symbol) CHOOSE_FROM(AG_MEMORY_BEGINS_##symbol, (void)0, ~)

#define GENERATE_NONE(...)
#define GENERATE_OWN(...)
#define GENERATE_GEN(symbol_, variant_, class_, scope_, blocking_, rules, stream, params, args)                        \
    CUresult ag_hook_##symbol_ params                                                                                  \
    {                                                                                                                  \
        static const struct call call = {.class = class_,                                                              \
                                         .scope = AG_SCOPE(scope_),                                                    \
                                         .blocking = blocking_,                                                        \
                                         .has_stream = HAS_STREAM(stream),                                             \
                                         .variant = variant_,                                                          \
                                         RULES rules};                                                                 \
        static struct ag_caller caller;                                                                                \
        before(&call, #symbol_, &caller, stream);                                                                      \
        forget(&call);                                                                                                 \
        struct ag_memory_block *gone = ag_memory_on() ? MEMORY_ENDS(symbol_) : NULL;                                   \
        CUresult result = AG_HOOK_FORWARD(symbol_) args;                                                               \
        if (call.again && ag_hook_again(result))                                                                       \
            result = ag_real.symbol_ args;                                                                             \
        if (gone != NULL)                                                                                              \
            ag_memory_after(result, gone);                                                                             \
        if (ag_memory_on())                                                                                            \
            MEMORY_BEGINS(symbol_);                                                                                    \
        return ag_hook_late(result);                                                                                   \
    }                                                                                                                  \
    AG_HOOK_EXPORT(symbol_, params)

/* AG_NO_STREAM arrives here expanded, and is the only stream column that begins with a parenthesis. */
#define HAS_STREAM(stream) (#stream[0] != '(')

#define AG_HOOK(impl, symbol, api, since, variant, class, scope, blocking, rules, stream, type, params, args, reason)  \
    GENERATE_##impl(symbol, variant, class, scope, blocking, rules, stream, params, args)
#include "shim/hook/table.def"
#undef AG_HOOK
