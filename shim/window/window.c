/* How ops join a window, and when what is held is submitted. */
#include "shim/window/submit.h"

#include <stdlib.h>
#include <string.h>

#include "shim/base/real.h"
#include "shim/base/visit.h"
#include "shim/trace/trace.h"

atomic_uint ag_window_open;
atomic_int ag_window_captures;
atomic_int ag_window_deferred;
atomic_int ag_window_bypass = AG_BYPASS_early;

_Atomic size_t ag_window_graph_bytes;

_Thread_local __attribute__((tls_model("initial-exec"))) bool ag_window_inside;

static _Thread_local __attribute__((tls_model("initial-exec"))) struct ag_effort effort;

bool ag_window_rests(void)
{
    return ag_effort_rests(&effort);
}

unsigned char *ag_window_record(struct ag_window *w, uint32_t size)
{
    /* full although cut: the driver refuses work just now, as inside a host function */
    if (w->length == AG_CHUNK_MAX)
        return NULL;
    if (w->used + size > w->capacity) {
        uint32_t capacity = w->capacity != 0 ? 2 * w->capacity : 8192;
        while (capacity < w->used + size)
            capacity *= 2;
        unsigned char *records = realloc(w->records, capacity);
        if (records == NULL)
            return NULL;
        w->records = records;
        w->capacity = capacity;
    }
    return w->records + w->used;
}

CUresult ag_window_submit(struct ag_window *w, enum ag_stat reason, bool cut)
{
    CUresult result = CUDA_SUCCESS;
    unsigned count = w->length - w->submitted;
    if (count > 0) {
        atomic_fetch_add_explicit(&w->submissions, 1, memory_order_relaxed);
        if (count > w->stats.count[AG_STAT_held_max])
            w->stats.count[AG_STAT_held_max] = count;
        if (reason != AG_STAT_COUNT) {
            w->stats.count[reason]++;
            if (ag_trace_on())
                ag_trace_flush(w->target.stream, ag_stats_key(reason), count);
        }
        uint64_t replayed = w->stats.count[AG_STAT_replayed];
        result = ag_submit_held(w);
        ag_effort_note(&effort, count, (uint32_t)(w->stats.count[AG_STAT_replayed] - replayed));
        if (__builtin_expect(result != CUDA_SUCCESS, 0))
            ag_window_note(result);
        if (result == CUDA_ERROR_NOT_PERMITTED && w->submitted < w->length)
            return result;
        if (atomic_load_explicit(&w->open, memory_order_relaxed)) {
            atomic_store(&w->open, false);
            atomic_fetch_sub(&ag_window_open, 1);
        }
    }
    if (!cut)
        return result;
    /* went out in parts, or was not held at first: all of it is a chunk the next time */
    if (w->length > count)
        ag_book_learn(&w->book, w->tokens, w->length);
    w->length = w->submitted = 0;
    w->used = w->submitted_used = 0;
    if (reason == AG_STAT_COUNT)
        ag_cut_next(&w->cutter, &w->cut);
    else
        ag_cut_flush(&w->cutter, &w->cut);
    return result;
}

/* Where the program is, as far as stalls go: its last three ops. */
static uint64_t place(const struct ag_window *w)
{
    return w->cutter.hash & 0xfffffffff;
}

CUresult ag_window_add(struct ag_window *w, const struct ag_token *token, bool held)
{
    w->stats.count[AG_STAT_launches]++;
    if (!held) {
        w->stats.count[AG_STAT_eager]++;
        w->stats.count[AG_STAT_driver_calls]++;
        /* other threads held ops while the driver was asked: this one has no place among them */
        if (w->submitted < w->length)
            return CUDA_SUCCESS;
    }
    w->tokens[w->length++] = token;
    w->used += token->record_size;
    w->owner = ag_window_thread();
    atomic_fetch_add_explicit(&w->progress, 1, memory_order_relaxed);
    if (!held) {
        w->submitted = w->length;
        w->submitted_used = w->used;
    } else if (!atomic_load_explicit(&w->open, memory_order_relaxed)) {
        atomic_store(&w->open, true);
        atomic_fetch_add(&ag_window_open, 1);
        if (!ag_watchdog_wake())
            return ag_window_submit(w, AG_FLUSH_watchdog, true);
    }
    if (ag_cut_push(&w->cutter, &w->cut, token->mix))
        return ag_window_submit(w, AG_STAT_COUNT, true);
    if (held && ag_stall_expected(&w->stalls, place(w)))
        return ag_window_submit(w, AG_FLUSH_stall, false);
    return CUDA_SUCCESS;
}

/* Longer than any submission that does not wait for the device, in milliseconds. */
#define PATIENCE_MS 10

/* Whether the thread is inside a host function or callback, as far as can be told: some drivers refuse every call
 * there. */
static bool inside(void)
{
    CUcontext ctx;
    return ag_window_inside || ag_real.cuCtxGetCurrent(&ctx) == CUDA_ERROR_NOT_PERMITTED;
}

bool ag_window_lock(struct ag_window *w, enum ag_patience patience)
{
    if (ag_lock_try(&w->lock))
        return true;
    if (patience == AG_WAIT_NO || inside())
        return false;
    if (patience == AG_WAIT_SOME)
        return ag_lock_try_for(&w->lock, PATIENCE_MS);
    ag_lock_take(&w->lock);
    return true;
}

/* Codes after which, in the driver's words, the process must be ended: each further launch answers the same. */
static bool is_sticky(CUresult result)
{
    switch ((int)result) {
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case 226: /* CUDA_ERROR_CONTAINED, since 12.9 */
    case 721: /* CUDA_ERROR_TENSOR_MEMORY_LEAK, since 12.8 */
        return true;
    default:
        return false;
    }
}

bool ag_window_stop(enum ag_stat why)
{
    int now = atomic_load(&ag_window_bypass);
    while (now == 0 || now == AG_BYPASS_early || now == AG_BYPASS_UNDECIDED || now == AG_BYPASS_alternate)
        if (atomic_compare_exchange_weak(&ag_window_bypass, &now, (int)why))
            return true;
    return false;
}

void ag_window_note(CUresult result)
{
    if (is_sticky(result))
        ag_window_stop(AG_BYPASS_error);
}

bool ag_window_flush(struct ag_window *w, enum ag_stat reason, enum ag_patience patience)
{
    if (!atomic_load_explicit(&w->open, memory_order_relaxed) || ag_window_inside || !ag_window_lock(w, patience))
        return false;
    bool held = atomic_load_explicit(&w->open, memory_order_relaxed);
    struct ag_visit visit;
    if (held && !ag_visit_begin(&visit, w->target.ctx)) {
        w->stats.count[AG_STAT_failures]++; /* in another context it would be lost; the next flush may succeed */
    } else if (held) {
        if (reason == AG_FLUSH_watchdog)
            ag_stall_note(&w->stalls, place(w));
        bool cut = reason != AG_FLUSH_watchdog && w->owner == ag_window_thread();
        CUresult result = ag_window_submit(w, reason, cut);
        if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_PERMITTED)
            atomic_store(&ag_window_deferred, (int)result);
        ag_visit_end(&visit);
    }
    ag_lock_release(&w->lock);
    return held;
}
