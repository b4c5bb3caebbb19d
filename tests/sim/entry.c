/* The exported functions: every one of the hook table, each with the checks that all calls share.
 *
 * A call: refused in a forked child, after shutdown and inside host functions; takes the lock; is counted, charged and
 * logged; may be failed on request; meets the sticky error of a poisoned context; then runs its implementation.
 */
#include "tests/sim/config.h"
#include "tests/sim/report.h"
#include "tests/sim/state.h"

#define SIM_EXPORT __attribute__((visibility("default")))

__thread struct sim_thread sim_self;
pthread_mutex_t sim_lock = PTHREAD_MUTEX_INITIALIZER;
struct sim_state sim_state;
unsigned long sim_calls[SIM_FN_COUNT];

struct sim_call {
    enum sim_fn fn;
    uint64_t order;
    unsigned long nap_us; /* when it is done */
    bool locked, outer_ptsz;
};

/* What a call may do although the driver is not initialised or its context is poisoned. */
enum rule { NEEDS_ALL, ALWAYS, POISON_OK };

static const unsigned char rules[SIM_FN_COUNT] = {
        [SIM_FN_cuInit] = ALWAYS,
        [SIM_FN_cuDriverGetVersion] = ALWAYS,
        [SIM_FN_cuGetProcAddress] = ALWAYS,
        [SIM_FN_cuGetProcAddress_v2] = ALWAYS,
        [SIM_FN_cuGetErrorName] = ALWAYS,
        [SIM_FN_cuGetErrorString] = ALWAYS,
        [SIM_FN_cuGetExportTable] = ALWAYS,
        [SIM_FN_cuCtxDestroy] = POISON_OK,
        [SIM_FN_cuCtxDestroy_v2] = POISON_OK,
        [SIM_FN_cuCtxPopCurrent_v2] = POISON_OK,
        [SIM_FN_cuCtxPushCurrent_v2] = POISON_OK,
        [SIM_FN_cuCtxSetCurrent] = POISON_OK,
        [SIM_FN_cuCtxGetCurrent] = POISON_OK,
        [SIM_FN_cuCtxGetDevice] = POISON_OK,
        [SIM_FN_cuCtxCreate_v2] = POISON_OK,
        [SIM_FN_cuCtxCreate_v3] = POISON_OK,
        [SIM_FN_cuDeviceGet] = POISON_OK,
        [SIM_FN_cuDeviceGetCount] = POISON_OK,
        [SIM_FN_cuDeviceGetAttribute] = POISON_OK,
        [SIM_FN_cuDevicePrimaryCtxGetState] = POISON_OK,
        [SIM_FN_cuDevicePrimaryCtxRelease_v2] = POISON_OK,
        [SIM_FN_cuDevicePrimaryCtxReset_v2] = POISON_OK,
        [SIM_FN_cuDevicePrimaryCtxRetain] = POISON_OK,
};

static bool same_name(const char *wanted, enum sim_fn fn)
{
    return !strcmp(wanted, sim_fn_table[fn].symbol) || !strcmp(wanted, sim_fn_table[fn].api);
}

/* Counts calls of all versions of a function together when its plain name was given. */
static bool is_nth(const struct sim_nth *call, enum sim_fn fn, unsigned long *seen)
{
    return same_name(call->function, fn) && (++*seen == call->nth || (call->onwards && *seen > call->nth));
}

/* The number that is asked for with this call, 0 for none. seen: how often each of the list was called. */
static unsigned long requested(const struct sim_requests *requests, enum sim_fn fn, unsigned long *seen)
{
    unsigned long number = 0;
    for (size_t i = 0; i < requests->n; i++)
        if (is_nth(&requests->items[i].call, fn, &seen[i]))
            number = requests->items[i].number;
    return number;
}

/* What a real driver answers from then on, once some call answered it. */
static bool is_sticky(CUresult code)
{
    static const int codes[] = {214, 220, 226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721};
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        if ((int)code == codes[i])
            return true;
    return false;
}

static const char *requested_corruption(enum sim_fn fn)
{
    static unsigned long seen[SIM_FAILURES_MAX];
    const char *field = NULL;
    for (size_t i = 0; i < sim_config.n_corruptions; i++)
        if (is_nth(&sim_config.corruptions[i].call, fn, &seen[i]))
            field = sim_config.corruptions[i].field;
    return field;
}

static void nap(unsigned long us)
{
    struct timespec time = {.tv_sec = (time_t)(us / 1000000), .tv_nsec = (long)(us % 1000000) * 1000};
    nanosleep(&time, NULL);
}

/* Naps that were asked for, with the lock given to others: now, or when the call is done. */
static void preempt(struct sim_call *call)
{
    static uint64_t calls;
    static unsigned long seen[SIM_FAILURES_MAX];
    unsigned long us = requested(&sim_config.slow, call->fn, seen);
    uint64_t x = sim_config.preempt_us ? sim_dice(calls++) : 1;
    if (x % 1024 == 0 && (x >> 10) % 2)
        call->nap_us = (x >> 11) % sim_config.preempt_us + 1;
    else if (x % 1024 == 0)
        us += (x >> 11) % sim_config.preempt_us + 1;
    if (us == 0)
        return;
    sim_unlock();
    nap(us);
    pthread_mutex_lock(&sim_lock);
}

static void requested_drain(enum sim_fn fn)
{
    struct sim_ctx *ctx = sim_ctx_peek();
    for (size_t i = 0; ctx && i < sim_config.n_drains; i++)
        if (same_name(sim_config.drains[i], fn))
            sim_ctx_drain(ctx);
}

static CUresult enter(struct sim_call *call)
{
    static int threads;
    static unsigned long seen[SIM_FAILURES_MAX];
    /* The lock's state is unknown in a forked child, so this test comes before it. */
    if (sim_state.forked && rules[call->fn] != ALWAYS)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (sim_state.forked)
        return call->fn == SIM_FN_cuInit ? CUDA_ERROR_NOT_INITIALIZED : CUDA_SUCCESS;
    if (sim_self.in_callback && rules[call->fn] != ALWAYS)
        return CUDA_ERROR_NOT_PERMITTED;
    pthread_mutex_lock(&sim_lock);
    call->locked = true;
    sim_config_load();
    if (sim_config.slow.n || sim_config.preempt_us)
        preempt(call);
    if (!sim_self.number)
        sim_self.number = ++threads;
    call->outer_ptsz = sim_self.ptsz;
    sim_self.ptsz = sim_fn_table[call->fn].variant != SIM_LEGACY;
    sim_self.detail[0] = 0;
    sim_self.stream = AG_NO_STREAM;
    call->order = sim_log_order();
    sim_calls[call->fn]++;
    sim_cost_call(call->fn);
    sim_sched_touch();
    CUresult code = (CUresult)requested(&sim_config.failures, call->fn, seen);
    if (code) {
        struct sim_ctx *ctx = rules[call->fn] == NEEDS_ALL && is_sticky(code) ? sim_ctx_peek() : NULL;
        if (ctx)
            sim_ctx_poison(ctx, code);
        return code;
    }
    sim_self.corrupt = requested_corruption(call->fn);
    if (rules[call->fn] == ALWAYS)
        return CUDA_SUCCESS;
    if (sim_state.shut_down)
        return CUDA_ERROR_DEINITIALIZED;
    if (!sim_state.initialized)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (rules[call->fn] == NEEDS_ALL) {
        struct sim_ctx *ctx = sim_ctx_peek();
        if (ctx && ctx->sticky)
            return ctx->sticky;
        if (sim_config.n_drains)
            requested_drain(call->fn);
    }
    return CUDA_SUCCESS;
}

/* A wait inside the call may have met the fault: the call then reports it. */
static CUresult leave(struct sim_call *call, CUresult result)
{
    if (!call->locked)
        return result;
    struct sim_ctx *ctx = sim_ctx_peek();
    if (!result && rules[call->fn] == NEEDS_ALL && ctx && ctx->sticky)
        result = ctx->sticky;
    if (sim_log_on())
        sim_log_call(call->order, call->fn, sim_self.stream, result);
    sim_self.ptsz = call->outer_ptsz;
    sim_unlock();
    if (call->nap_us)
        nap(call->nap_us);
    return result;
}

#define AG_HOOK(impl, symbol, api, since, variant, class, scope, blocking, rules, stream_arg, type, params, args,      \
                reason)                                                                                                \
    SIM_EXPORT CUresult CUDAAPI symbol params                                                                          \
    {                                                                                                                  \
        struct sim_call sim_call_ = {.fn = SIM_FN_##symbol};                                                           \
        CUresult sim_result_ = enter(&sim_call_);                                                                      \
        if (!sim_result_)                                                                                              \
            sim_result_ = sim_##symbol args;                                                                           \
        return leave(&sim_call_, sim_result_);                                                                         \
    }
#include "shim/hook/table.def"
#undef AG_HOOK

#define AG_HOOK(impl, symbol_, api_, since_, variant_, class, scope, blocking, rules, stream_arg, type, params, args,  \
                reason)                                                                                                \
    [SIM_FN_##symbol_] = {#symbol_, #api_, since_, SIM_##variant_, (void *)symbol_},
const struct sim_fn_info sim_fn_table[SIM_FN_COUNT] = {
#include "shim/hook/table.def"
};
