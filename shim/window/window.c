/* How ops join a window, and when what is held is submitted. */
#include "shim/window/submit.h"

#include <stdlib.h>

#include "shim/base/real.h"
#include "shim/base/visit.h"
#include "shim/trace/trace.h"
#include "shim/window/submitter.h"

atomic_uint ag_window_open;
atomic_int ag_window_captures;
atomic_int ag_window_deferred;
atomic_int ag_window_bypass = AG_BYPASS_early;

_Thread_local __attribute__((tls_model("initial-exec"))) bool ag_window_inside;

static _Thread_local __attribute__((tls_model("initial-exec"))) struct ag_effort effort;

bool ag_window_rests(void)
{
    return ag_effort_rests(&effort);
}

unsigned char *ag_window_record(struct ag_window *w, uint32_t size)
{
    /* full although cut: the driver refuses work just now, as inside a host function */
    struct ag_held *held = &w->held;
    if (held->length == AG_CHUNK_MAX)
        return NULL;
    if (held->used + size > held->capacity) {
        uint32_t capacity = held->capacity != 0 ? 2 * held->capacity : 8192;
        while (capacity < held->used + size)
            capacity *= 2;
        unsigned char *records = realloc(held->records, capacity);
        if (records == NULL)
            return NULL;
        held->records = records;
        held->capacity = capacity;
    }
    return held->records + held->used;
}

/* Notes that some op is, or none is any more, not with the driver yet. */
static void open_for(struct ag_window *w, unsigned why)
{
    if (atomic_fetch_or(&w->open, why) == 0)
        atomic_fetch_add(&ag_window_open, 1);
}

static void closed_for(struct ag_window *w, unsigned why)
{
    unsigned before = atomic_fetch_and(&w->open, ~why);
    if (before != 0 && (before & ~why) == 0)
        atomic_fetch_sub(&ag_window_open, 1);
}

void ag_held_clear(struct ag_held *held)
{
    held->length = held->submitted = 0;
    held->used = held->submitted_used = 0;
}

bool ag_window_submit_handed(struct ag_window *w)
{
    struct ag_held *handed = &w->handed;
    if (handed->length == 0)
        return true;
    unsigned count = handed->length - handed->submitted;
    uint64_t replayed = w->submit_stats.count[AG_STAT_replayed];
    atomic_fetch_add_explicit(&w->submissions, 1, memory_order_relaxed);
    CUresult result = ag_submit_held(w, handed);
    w->past_held += count;
    w->past_replayed += (uint32_t)(w->submit_stats.count[AG_STAT_replayed] - replayed);
    if (result == CUDA_ERROR_NOT_PERMITTED && handed->submitted < handed->length)
        return false;
    ag_window_defer(result);
    ag_held_clear(handed);
    closed_for(w, AG_OPEN_HANDED);
    return true;
}

void ag_window_hand_over(struct ag_window *w)
{
    unsigned char *records = w->handed.records;
    uint32_t capacity = w->handed.capacity;
    /* a chunk of which the beginning is with the driver already is known as a whole the next time */
    if (w->held.submitted > 0)
        ag_book_learn(&w->book, w->held.tokens, w->held.length);
    w->handed = w->held;
    ag_held_clear(&w->held);
    w->held.records = records;
    w->held.capacity = capacity;
    w->submit_stats.count[AG_STAT_handed_over]++;
    open_for(w, AG_OPEN_HANDED);
    closed_for(w, AG_OPEN_HELD);
    ag_cut_next(&w->cutter, &w->cut);
    w->handed_over = true;
    ag_effort_note(&effort, w->past_held, w->past_replayed);
    w->past_held = w->past_replayed = 0;
}

CUresult ag_window_submit(struct ag_window *w, enum ag_stat reason, bool cut)
{
    CUresult result = CUDA_SUCCESS;
    struct ag_held *held = &w->held;
    if (!ag_window_submit_handed(w))
        return CUDA_ERROR_NOT_PERMITTED;
    unsigned count = held->length - held->submitted;
    if (count > 0) {
        atomic_fetch_add_explicit(&w->submissions, 1, memory_order_relaxed);
        if (count > w->stats.count[AG_STAT_held_max])
            w->stats.count[AG_STAT_held_max] = count;
        if (reason != AG_STAT_COUNT) {
            w->stats.count[reason]++;
            if (ag_trace_on())
                ag_trace_flush(w->target.stream, ag_stats_key(reason), count);
        }
        uint64_t replayed = w->submit_stats.count[AG_STAT_replayed];
        result = ag_submit_held(w, held);
        ag_effort_note(&effort, count, (uint32_t)(w->submit_stats.count[AG_STAT_replayed] - replayed));
        if (__builtin_expect(result != CUDA_SUCCESS, 0))
            ag_window_note(result);
        if (result == CUDA_ERROR_NOT_PERMITTED && held->submitted < held->length)
            return result;
        closed_for(w, AG_OPEN_HELD);
    }
    if (!cut)
        return result;
    /* went out in parts, or was not held at first: all of it is a chunk the next time */
    if (held->length > count)
        ag_book_learn(&w->book, held->tokens, held->length);
    ag_held_clear(held);
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

/* The same for who has `lock` alone. */
static CUresult submit(struct ag_window *w, enum ag_stat reason, bool cut)
{
    if (!ag_window_lock_more(w, AG_WAIT_YES))
        return CUDA_SUCCESS; /* inside a host function: it stays held */
    CUresult result = ag_window_submit(w, reason, cut);
    ag_lock_release(&w->submitting);
    return result;
}

/* Whether the last op is the calling thread's. */
static bool is_own(const struct ag_window *w)
{
    return atomic_load_explicit(&w->owner, memory_order_relaxed) == ag_window_thread();
}

CUresult ag_window_add(struct ag_window *w, const struct ag_token *token, bool is_held)
{
    struct ag_held *held = &w->held;
    w->stats.count[AG_STAT_launches]++;
    if (!is_held) {
        w->stats.count[AG_STAT_eager]++;
        w->stats.count[AG_STAT_driver_calls]++;
        /* other threads held ops while the driver was asked: this one has no place among them */
        if (held->submitted < held->length)
            return CUDA_SUCCESS;
    }
    held->tokens[held->length++] = token;
    held->used += token->record_size;
    atomic_store_explicit(&w->owner, ag_window_thread(), memory_order_relaxed);
    atomic_fetch_add_explicit(&w->progress, 1, memory_order_relaxed);
    if (!is_held) {
        held->submitted = held->length;
        held->submitted_used = held->used;
    } else if ((atomic_load_explicit(&w->open, memory_order_relaxed) & AG_OPEN_HELD) == 0) {
        open_for(w, AG_OPEN_HELD);
        if (!ag_watchdog_wake())
            return submit(w, AG_FLUSH_watchdog, true);
    }
    if (ag_cut_push(&w->cutter, &w->cut, token->mix))
        return ag_submitter_chunk(w);
    if (is_held && ag_stall_expected(&w->stalls, place(w)))
        return submit(w, AG_FLUSH_stall, false);
    return CUDA_SUCCESS;
}

/* Longer than any submission that does not wait for the device, in milliseconds; and than any whose thread another one
 * keeps from its processor. */
#define PATIENCE_MS 10
#define LONG_PATIENCE_MS 1000

/* Whether the thread is inside a host function or callback, as far as can be told: some drivers refuse every call
 * there. */
static bool inside(void)
{
    CUcontext ctx;
    return ag_window_inside || ag_real.cuCtxGetCurrent(&ctx) == CUDA_ERROR_NOT_PERMITTED;
}

static bool lock(struct ag_lock *lock, enum ag_patience patience)
{
    if (ag_lock_try(lock))
        return true;
    if (patience == AG_WAIT_NO || inside())
        return false;
    if (patience != AG_WAIT_YES)
        return ag_lock_try_for(lock, patience == AG_WAIT_SOME ? PATIENCE_MS : LONG_PATIENCE_MS);
    ag_lock_take(lock);
    return true;
}

bool ag_window_lock_more(struct ag_window *w, enum ag_patience patience)
{
    bool busy = !ag_lock_try(&w->submitting);
    /* nobody but the submitter has this lock without the other */
    if (busy && !lock(&w->submitting, is_own(w) ? AG_WAIT_YES : patience))
        return false;
    if (w->handed_over) {
        ag_handover_ended(&w->handover, busy || w->handed.length > 0);
        w->handed_over = false;
    }
    return true;
}

bool ag_window_lock(struct ag_window *w, enum ag_patience patience)
{
    if (!lock(&w->lock, patience == AG_WAIT_LONG && is_own(w) ? AG_WAIT_YES : patience))
        return false;
    if (ag_window_lock_more(w, patience))
        return true;
    ag_lock_release(&w->lock);
    return false;
}

void ag_window_unlock(struct ag_window *w)
{
    ag_lock_release(&w->submitting);
    ag_lock_release(&w->lock);
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

void ag_window_defer(CUresult result)
{
    ag_window_note(result);
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_PERMITTED && !is_sticky(result))
        atomic_store(&ag_window_deferred, (int)result);
}

bool ag_window_flush(struct ag_window *w, enum ag_stat reason, enum ag_patience patience)
{
    if (!atomic_load_explicit(&w->open, memory_order_relaxed) || ag_window_inside || !ag_window_lock(w, patience))
        return false;
    unsigned open = atomic_load_explicit(&w->open, memory_order_relaxed);
    bool held = open != 0;
    struct ag_visit visit;
    if (held && !ag_visit_begin(&visit, w->target.ctx)) {
        w->submit_stats.count[AG_STAT_failures]++; /* in another context it would be lost; the next flush may succeed */
    } else if (held) {
        /* where only a whole chunk waits, the program is at no place in the next one */
        bool within = (open & AG_OPEN_HELD) != 0;
        if (within && reason == AG_FLUSH_watchdog)
            ag_stall_note(&w->stalls, place(w));
        bool cut = within && reason != AG_FLUSH_watchdog && is_own(w);
        ag_window_defer(ag_window_submit(w, reason, cut));
        ag_visit_end(&visit);
    }
    ag_window_unlock(w);
    return held;
}
