/* How a window's ops are submitted. */
#include "shim/window/window.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shim/base/log.h"
#include "shim/base/options.h"
#include "shim/base/real.h"
#include "shim/base/visit.h"
#include "shim/trace/trace.h"

atomic_uint ag_window_open;
atomic_int ag_window_captures;
atomic_int ag_window_deferred;
atomic_int ag_window_bypass = AG_BYPASS_early;

_Atomic size_t ag_window_graph_bytes;

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

/* Device memory for graphs, bytes; 0 until it is needed. */
static _Atomic size_t limit;

static size_t graph_limit(const struct ag_window *w)
{
    size_t bytes = atomic_load(&limit);
    if (bytes == 0) {
        size_t total = 0;
        bytes = (size_t)256 << 20;
        if (ag_options.graph_mb != 0)
            bytes = (size_t)ag_options.graph_mb << 20;
        else if (ag_real.cuDeviceTotalMem_v2(&total, w->device) == CUDA_SUCCESS && total / 50 < bytes)
            bytes = total / 50;
        atomic_store(&limit, bytes);
    }
    return bytes;
}

bool ag_window_release_graphs(void)
{
    size_t before = atomic_load(&ag_window_graph_bytes);
    unsigned count = atomic_load(&ag_window_count);
    if (before == 0)
        return false;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    ag_real.cuThreadExchangeStreamCaptureMode(&mode);
    for (unsigned i = 0; i < count; i++) {
        struct ag_window *w = ag_windows[i];
        struct ag_visit visit;
        if (!ag_window_lock(w, AG_WAIT_SOME))
            continue;
        if ((w->book.instance_count > 0 || w->templates.count > 0) && ag_visit_begin(&visit, w->target.ctx)) {
            w->stats.count[AG_STAT_evictions] += w->book.instance_count + w->templates.count;
            ag_book_drop_instances(&w->book);
            ag_template_clear(&w->templates, w->book.release, w->book.owner);
            ag_visit_end(&visit);
        }
        ag_lock_release(&w->lock);
    }
    ag_real.cuThreadExchangeStreamCaptureMode(&mode);
    /* the program needs the memory more, and may need it again */
    atomic_store(&limit, before / 2 + 1);
    return atomic_load(&ag_window_graph_bytes) < before;
}

/* The ops from the first held one on, one by one. Returns the first refusal. */
static CUresult submit_eagerly(struct ag_window *w)
{
    CUresult first = CUDA_SUCCESS;
    const unsigned char *record = w->records;
    for (unsigned i = 0; i < w->length; i++) {
        if (i >= w->submitted) {
            CUresult result = ag_graph_submit(&w->target, w->tokens[i], record);
            if (result == CUDA_ERROR_NOT_PERMITTED) {
                /* inside a host function of the program nothing can be submitted: it stays held */
                w->submitted = i;
                return result;
            }
            if (result != CUDA_SUCCESS && first == CUDA_SUCCESS)
                first = result;
            w->stats.count[AG_STAT_eager]++;
            w->stats.count[AG_STAT_driver_calls]++;
        }
        record += w->tokens[i]->record_size;
    }
    w->submitted = w->length;
    return first;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Draws a price of the book towards what n nodes have cost since start. A thread that was interrupted meanwhile tells
 * nothing: what is far above the price counts as twice the price. */
static void measured(double *price, uint64_t start, unsigned n)
{
    if (ag_options.costs != AG_COSTS_MEASURED)
        return;
    double us = (double)(now_ns() - start) / 1e3 / n;
    *price += ((us < 2 * *price ? us : 2 * *price) - *price) / 8;
}

/* Builds an executable graph of the window's ops; NULL when memory for graphs is short or the driver refuses, which
 * *result tells. */
static struct ag_exec *build_exec(struct ag_window *w, CUresult *result)
{
    *result = CUDA_SUCCESS;
    size_t bytes = (size_t)w->length * AG_GRAPH_NODE_BYTES;
    while (w->book.device_bytes > 0 && atomic_load(&ag_window_graph_bytes) + bytes > graph_limit(w)) {
        if (!ag_book_evict(&w->book, NULL))
            break;
        w->stats.count[AG_STAT_evictions]++;
    }
    if (atomic_load(&ag_window_graph_bytes) + bytes > graph_limit(w))
        return NULL;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    ag_real.cuThreadExchangeStreamCaptureMode(&mode);
    struct ag_exec *exec = NULL;
    uint64_t start = now_ns();
    *result = ag_graph_build(&w->target, w->tokens, w->length, w->records, &exec);
    measured(&w->book.params.build_us, start, w->length);
    ag_real.cuThreadExchangeStreamCaptureMode(&mode);
    if (*result != CUDA_SUCCESS) {
        w->stats.count[AG_STAT_failures]++;
        ag_log(AG_LOG_WARN, "a graph of %u operations could not be built (%d); they are launched one by one", w->length,
               (int)*result);
        return NULL;
    }
    w->stats.count[AG_STAT_builds]++;
    atomic_fetch_add(&ag_window_graph_bytes, bytes);
    return exec;
}

/* Builds an instance for the chunk of a choice; false: submit eagerly. */
static bool build(struct ag_window *w, struct ag_book_choice *choice)
{
    CUresult result;
    struct ag_exec *exec = build_exec(w, &result);
    if (exec == NULL) {
        if (result != CUDA_SUCCESS)
            choice->chunk->refused = true;
        return false;
    }
    choice->instance = ag_book_add(&w->book, choice->chunk, w->records, exec, (size_t)w->length * AG_GRAPH_NODE_BYTES);
    if (choice->instance == NULL) {
        w->book.release(w->book.owner, exec);
        return false;
    }
    choice->differing = 0;
    return true;
}

static void drop(struct ag_window *w, struct ag_instance *instance)
{
    ag_book_drop(&w->book, instance);
    w->stats.count[AG_STAT_failures]++;
}

/* Counts a graph launch of all ops of the window. */
static void launched(struct ag_window *w, unsigned patched, unsigned retargeted)
{
    w->stats.count[AG_STAT_graph_launches]++;
    w->stats.count[AG_STAT_driver_calls]++;
    w->stats.count[AG_STAT_replayed] += w->length;
    w->stats.count[AG_STAT_patched] += patched;
    w->stats.count[AG_STAT_retargeted] += retargeted;
    w->submitted = w->length;
}

/* Patches what differs and launches; false: nothing was launched. */
static bool launch(struct ag_window *w, struct ag_book_choice *choice, CUresult *code)
{
    struct ag_exec *exec = choice->instance->exec;
    uint64_t start = choice->differing > 0 ? now_ns() : 0;
    uint32_t offset = 0;
    unsigned next = 0;
    for (unsigned i = 0; i < w->length && next < choice->differing; i++) {
        if (choice->differs[next] == i) {
            CUresult result = ag_graph_patch(&w->target, exec, i, w->tokens[i], w->records + offset);
            if (result != CUDA_SUCCESS) {
                ag_log(AG_LOG_INFO, "patching node %u failed (%d)", i, (int)result);
                choice->chunk->refusals++;
                if (choice->chunk->refusals >= 4)
                    choice->chunk->refused = true;
                drop(w, choice->instance);
                return false;
            }
            next++;
        }
        offset += w->tokens[i]->record_size;
    }
    if (choice->differing > 0) {
        measured(&w->book.params.patch_us, start, choice->differing);
        ag_book_patched(choice->instance, choice, w->records);
    }
    *code = ag_graph_launch(&w->target, exec);
    if (*code == CUDA_ERROR_NOT_PERMITTED)
        return true;
    if (*code != CUDA_SUCCESS) {
        ag_log(AG_LOG_INFO, "launching a graph failed (%d)", (int)*code);
        drop(w, choice->instance);
        return false;
    }
    ag_book_used(&w->book, choice->instance);
    launched(w, choice->differing, 0);
    return true;
}

/* Whether a node of any template takes the op. */
static bool is_plain(const struct ag_token *token)
{
    const struct ag_site *site = token->user;
    return token->kind == AG_OP_KERNEL && site->attribute_count == 0;
}

/* A chunk that has no instance goes out through a template; false: nothing was launched. */
static bool launch_template(struct ag_window *w, CUresult *code)
{
    for (unsigned i = 0; i < w->length; i++)
        if (!is_plain(w->tokens[i]))
            return false;
    struct ag_exec *exec = NULL;
    CUresult result = CUDA_SUCCESS;
    bool fresh = false;
    switch (ag_template_choose(&w->templates, w->length)) {
    case AG_TEMPLATE_NONE:
        return false;
    case AG_TEMPLATE_BUILD:
        exec = build_exec(w, &result);
        if (exec == NULL) {
            ag_template_refuse(&w->templates, w->length);
            return false;
        }
        ag_template_add(&w->templates, w->length, exec);
        fresh = true;
        break;
    case AG_TEMPLATE_USE:
        exec = w->templates.exec[w->length];
        break;
    }
    uint32_t offset = 0;
    for (unsigned i = 0; !fresh && i < w->length && result == CUDA_SUCCESS; i++) {
        result = ag_graph_patch(&w->target, exec, i, w->tokens[i], w->records + offset);
        offset += w->tokens[i]->record_size;
    }
    if (result == CUDA_SUCCESS) {
        *code = result = ag_graph_launch(&w->target, exec);
        if (result == CUDA_ERROR_NOT_PERMITTED)
            return true;
    }
    if (result != CUDA_SUCCESS) {
        ag_log(AG_LOG_INFO, "retargeting a graph of %u operations failed (%d)", w->length, (int)result);
        w->stats.count[AG_STAT_failures]++;
        w->book.release(w->book.owner, ag_template_refuse(&w->templates, w->length));
        *code = CUDA_SUCCESS;
        return false;
    }
    launched(w, fresh ? 0 : w->length, fresh ? 0 : w->length);
    return true;
}

static CUresult submit_chunk(struct ag_window *w)
{
    struct ag_book_choice choice;
    CUresult code = CUDA_SUCCESS;
    ag_book_choose(&w->book, w->tokens, w->length, w->records, &choice);
    bool ready = choice.action == AG_BOOK_LAUNCH || (choice.action == AG_BOOK_BUILD && build(w, &choice));
    if (ready && launch(w, &choice, &code))
        return code;
    w->book.previous = NULL;
    bool refused = choice.chunk != NULL && choice.chunk->refused;
    if (choice.action == AG_BOOK_EAGER && !refused && launch_template(w, &code))
        return code;
    return submit_eagerly(w);
}

CUresult ag_window_submit(struct ag_window *w, enum ag_stat reason, bool cut)
{
    CUresult result = CUDA_SUCCESS;
    bool held = w->submitted < w->length;
    bool whole = held && w->submitted == 0;
    if (held) {
        atomic_fetch_add_explicit(&w->submissions, 1, memory_order_relaxed);
        unsigned count = w->length - w->submitted;
        if (count > w->stats.count[AG_STAT_held_max])
            w->stats.count[AG_STAT_held_max] = count;
        if (reason != AG_STAT_COUNT) {
            w->stats.count[reason]++;
            if (ag_trace_on())
                ag_trace_flush(w->target.stream, ag_stats_key(reason), count);
        }
        uint64_t replayed = w->stats.count[AG_STAT_replayed];
        result = whole ? submit_chunk(w) : submit_eagerly(w);
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
    if (!cut && !held)
        return result;
    if (w->length > 0 && !whole)
        ag_book_learn(&w->book, w->tokens, w->length);
    w->length = w->submitted = 0;
    w->used = 0;
    /* what comes next is a chunk of its own, up to the place where content cuts: stalls and other threads' flushes come
     * back at the same places, so both parts are soon known */
    if (!cut)
        return result;
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

bool ag_window_lock(struct ag_window *w, enum ag_patience patience)
{
    if (ag_lock_try(&w->lock))
        return true;
    if (patience == AG_WAIT_NO)
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

void ag_window_note(CUresult result)
{
    int none = 0;
    if (is_sticky(result))
        atomic_compare_exchange_strong(&ag_window_bypass, &none, AG_BYPASS_error);
}

bool ag_window_flush(struct ag_window *w, enum ag_stat reason, enum ag_patience patience)
{
    if (!atomic_load_explicit(&w->open, memory_order_relaxed) || !ag_window_lock(w, patience))
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
