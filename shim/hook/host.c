/* Host functions and callbacks of streams. No driver call is legal inside them, and the program's other thread may be
 * blocked in the driver, with a window's lock, until the function returns: so while one runs its thread waits for no
 * lock and holds nothing. The driver gets a function of ours that says so and then calls the program's.
 *
 * What a capture takes runs as often as its graph is launched, so it is the program's own function, as are those of
 * graph nodes. Calls from there wait for no lock either as long as the driver refuses to answer in them
 * (ag_window_lock()).
 */
#include <stdint.h>

#include "shim/hook/hook.h"
#include "shim/trace/shadow.h"
#include "shim/trace/trace.h"

/* A function on its way. Slots are never freed, so a call can come at any time, or never: a function that is lost with
 * its context keeps its slot. When none is free the driver gets the program's own function. */
struct slot {
    atomic_uint state; /* odd while in use; every use has its own */
    union {
        CUhostFn function;
        CUstreamCallback callback;
    } call;
    void *data;
};

#define SLOTS 1024u
#define PROBES 64u

static struct slot slots[SLOTS];

/* What the driver passes to us: the slot and its state. NULL: no slot is free. */
static void *claim(const struct slot *wanted)
{
    static atomic_uint next;
    unsigned first = atomic_fetch_add(&next, 1);
    for (unsigned i = 0; i < PROBES; i++) {
        struct slot *slot = &slots[(first + i) % SLOTS];
        unsigned state = atomic_load(&slot->state);
        if (state % 2 != 0 || !atomic_compare_exchange_strong(&slot->state, &state, state + 1))
            continue;
        slot->call = wanted->call;
        slot->data = wanted->data;
        return (void *)((uintptr_t)(state + 1) * SLOTS + (first + i) % SLOTS);
    }
    return NULL;
}

/* Ends a use; false: it had ended before. */
static bool release(void *claimed, struct slot *was)
{
    struct slot *slot = &slots[(uintptr_t)claimed % SLOTS];
    unsigned state = (unsigned)((uintptr_t)claimed / SLOTS);
    was->call = slot->call;
    was->data = slot->data;
    return atomic_compare_exchange_strong(&slot->state, &state, state + 1);
}

static void CUDA_CB run_function(void *claimed)
{
    struct slot slot;
    bool outer = ag_window_inside;
    if (!release(claimed, &slot))
        return;
    ag_window_inside = true;
    slot.call.function(slot.data);
    ag_window_inside = outer;
}

static void CUDA_CB run_callback(CUstream stream, CUresult status, void *claimed)
{
    struct slot slot;
    bool outer = ag_window_inside;
    if (!release(claimed, &slot))
        return;
    ag_window_inside = true;
    slot.call.callback(stream, status, slot.data);
    ag_window_inside = outer;
}

/* Whether the driver's answer means that it did not take the function. After any other it may come all the same. */
static bool refused(CUresult result)
{
    switch (result) {
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_INVALID_HANDLE:
    case CUDA_ERROR_INVALID_CONTEXT:
    case CUDA_ERROR_NOT_INITIALIZED:
    case CUDA_ERROR_NOT_PERMITTED:
    case CUDA_ERROR_NOT_SUPPORTED:
    case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:
    case CUDA_ERROR_STREAM_CAPTURE_IMPLICIT:
        return true;
    default:
        return false;
    }
}

static void before(struct ag_caller *caller, const char *symbol, CUstream stream, bool ptsz)
{
    if (ag_trace_on())
        ag_trace_call_stream(symbol, stream, ptsz);
    if (ag_shadow_on())
        ag_shadow_flush(stream, ptsz);
    if (atomic_load_explicit(&ag_window_open, memory_order_relaxed) == 0)
        return;
    ag_stats_caller(caller, symbol);
    ag_order_stream(stream, ptsz, AG_FLUSH_host);
}

/* A claimed slot, or NULL when the program's own function is to be used. */
static void *wrap(CUstream stream, bool ptsz, const struct slot *wanted)
{
    enum ag_stat why;
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    if (wanted->call.function == NULL || !ag_hook_may_hold(&why) ||
        (ptsz ? ag_real.cuStreamIsCapturing_ptsz : ag_real.cuStreamIsCapturing)(stream, &capture) != CUDA_SUCCESS ||
        capture != CU_STREAM_CAPTURE_STATUS_NONE)
        return NULL;
    return claim(wanted);
}

static CUresult after(CUresult result, void *claimed)
{
    struct slot unused;
    if (claimed != NULL && result != CUDA_SUCCESS && refused(result))
        release(claimed, &unused);
    return ag_hook_late(result);
}

#define HOST_FUNCTION(symbol, per_thread)                                                                              \
    CUresult ag_hook_##symbol(CUstream hStream, CUhostFn fn, void *userData)                                           \
    {                                                                                                                  \
        static struct ag_caller caller;                                                                                \
        before(&caller, #symbol, hStream, per_thread);                                                                 \
        void *own = wrap(hStream, per_thread, &(struct slot){.call.function = fn, .data = userData});                  \
        return after(own != NULL ? AG_HOOK_FORWARD(symbol)(hStream, run_function, own)                                 \
                                 : AG_HOOK_FORWARD(symbol)(hStream, fn, userData),                                     \
                     own);                                                                                             \
    }                                                                                                                  \
    AG_HOOK_EXPORT(symbol, (CUstream hStream, CUhostFn fn, void *userData))

HOST_FUNCTION(cuLaunchHostFunc, false)
HOST_FUNCTION(cuLaunchHostFunc_ptsz, true)

#define CALLBACK(symbol, per_thread)                                                                                   \
    CUresult ag_hook_##symbol(CUstream hStream, CUstreamCallback callback, void *userData, unsigned int flags)         \
    {                                                                                                                  \
        static struct ag_caller caller;                                                                                \
        before(&caller, #symbol, hStream, per_thread);                                                                 \
        void *own = wrap(hStream, per_thread, &(struct slot){.call.callback = callback, .data = userData});            \
        return after(own != NULL ? AG_HOOK_FORWARD(symbol)(hStream, run_callback, own, flags)                          \
                                 : AG_HOOK_FORWARD(symbol)(hStream, callback, userData, flags),                        \
                     own);                                                                                             \
    }                                                                                                                  \
    AG_HOOK_EXPORT(symbol, (CUstream hStream, CUstreamCallback callback, void *userData, unsigned int flags))

CALLBACK(cuStreamAddCallback, false)
CALLBACK(cuStreamAddCallback_ptsz, true)
