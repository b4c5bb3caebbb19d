/* Which window belongs to which stream. */
#include <stdlib.h>
#include <string.h>

#include "shim/base/log.h"
#include "shim/base/options.h"
#include "shim/base/real.h"
#include "shim/base/visit.h"
#include "shim/window/budget.h"
#include "shim/window/submitter.h"
#include "shim/window/window.h"

struct ag_window *ag_windows[AG_WINDOWS_MAX];
atomic_uint ag_window_count;

static struct ag_lock registry = AG_LOCK_INIT(AG_RANK_REGISTRY);

/* Per thread: the windows found last. */
#define FOUND 4
static _Thread_local __attribute__((tls_model("initial-exec"))) struct ag_window *found[FOUND];

const void *ag_window_thread(void)
{
    return found;
}

static void release_exec(void *owner, void *exec)
{
    ag_budget_give(owner, exec);
    ag_graph_free(exec);
}

static void release_site(void *user)
{
    struct ag_site *site = user;
    free(site->attributes);
    free(site->params);
    free(site);
}

/* Whether the stream has attributes that its launches inherit and graph nodes do not. */
static bool has_attributes(CUstream stream)
{
    CUstreamAttrValue value;
    memset(&value, 0, sizeof value);
    if (ag_real.cuStreamGetAttribute(stream, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &value) == CUDA_SUCCESS &&
        value.accessPolicyWindow.num_bytes != 0)
        return true;
    memset(&value, 0, sizeof value);
    return ag_real.cuStreamGetAttribute(stream, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, &value) == CUDA_SUCCESS &&
           value.memSyncDomain != CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT;
}

static void setup(struct ag_window *w, CUcontext ctx, CUstream stream)
{
    unsigned flags = 0;
    CUcontext owner = NULL;
    memset(&w->stats, 0, sizeof w->stats);
    memset(&w->submit_stats, 0, sizeof w->submit_stats);
    bool legacy = stream == CU_STREAM_LEGACY;
    atomic_store_explicit(&w->legacy, legacy, memory_order_relaxed);
    w->holdable = ag_real.cuStreamGetFlags(stream, &flags) == CUDA_SUCCESS &&
                  ag_real.cuStreamGetCtx(stream, &owner) == CUDA_SUCCESS && owner == ctx;
    atomic_store_explicit(&w->blocking, !legacy && (flags & CU_STREAM_NON_BLOCKING) == 0, memory_order_relaxed);
    if (AG_REAL_HAS(cuStreamGetGreenCtx)) {
        CUgreenCtx green = NULL;
        if (!legacy && ag_real.cuStreamGetGreenCtx(stream, &green) == CUDA_SUCCESS && green != NULL)
            w->holdable = false;
    }
    if (ag_real.cuCtxGetDevice(&w->device) != CUDA_SUCCESS)
        w->holdable = false;
    w->target = (struct ag_target){.ctx = ctx, .stream = stream};
    if (ag_real.cuStreamGetPriority(stream, &w->target.priority) != CUDA_SUCCESS)
        w->target.priority = 0;
    if (has_attributes(stream))
        w->holdable = false;
    ag_held_clear(&w->held);
    w->handed_over = false;
    w->past_held = w->past_replayed = 0;
    memset(&w->handover, 0, sizeof w->handover);
    w->cut = (struct ag_cut_params){.min = (unsigned)ag_options.chunk_min,
                                    .max = (unsigned)ag_options.chunk_max,
                                    .bits = (unsigned)ag_options.chunk_bits,
                                    .ramp = (unsigned)ag_options.chunk_ramp};
    memset(&w->cutter, 0, sizeof w->cutter);
    static atomic_uint advanced;
    struct ag_book_params params = ag_book_defaults();
    if (atomic_fetch_add(&advanced, 1) >= AG_BOOK_ADVANCED)
        params.advance = 0;
    if (ag_options.costs == AG_COSTS_LOW) {
        params.build_us = 1;
        params.launch_us = 0;
    }
    ag_book_init(&w->book, &params, release_exec, w);
    atomic_store(&w->stream, stream);
    atomic_store(&w->ctx, ctx);
}

static struct ag_window *find(CUcontext ctx, CUstream stream)
{
    unsigned count = atomic_load(&ag_window_count);
    for (unsigned i = 0; i < count; i++) {
        struct ag_window *w = ag_windows[i];
        if (atomic_load(&w->stream) == stream && atomic_load(&w->ctx) == ctx)
            return w;
    }
    return NULL;
}

/* Finds or makes the window. */
static struct ag_window *find_or_make(CUcontext ctx, CUstream stream)
{
    ag_lock_take(&registry);
    struct ag_window *w = find(ctx, stream);
    if (w == NULL)
        w = find(NULL, NULL);
    if (w == NULL) {
        unsigned count = atomic_load(&ag_window_count);
        w = count < AG_WINDOWS_MAX ? calloc(1, sizeof *w) : NULL;
        if (w != NULL) {
            ag_lock_setup(&w->lock, AG_RANK_WINDOW);
            ag_lock_setup(&w->submitting, AG_RANK_SUBMIT);
            ag_windows[count] = w;
            atomic_store(&ag_window_count, count + 1);
        }
    }
    if (w != NULL && atomic_load(&w->ctx) == NULL) {
        ag_lock_take(&w->lock);
        ag_lock_take(&w->submitting);
        setup(w, ctx, stream);
        ag_window_unlock(w);
    }
    ag_lock_release(&registry);
    return w;
}

static bool all_submitted(const struct ag_window *w)
{
    return w->held.submitted == w->held.length && w->handed.length == 0;
}

/* Adds a window's counters to total; the caller has both locks. */
static void add_up(struct ag_stats *total, const struct ag_window *w)
{
    for (int s = 0; s < AG_STAT_COUNT; s++)
        if (s == AG_STAT_held_max)
            total->count[s] = w->stats.count[s] > total->count[s] ? w->stats.count[s] : total->count[s];
        else
            total->count[s] += w->stats.count[s] + w->submit_stats.count[s];
    total->count[AG_STAT_chunks] += w->book.chunk_count;
}

/* The caller has both locks. What another thread has held since the caller's flush is submitted, not lost; false when
 * the driver refuses it just now (inside a host function), and nothing is changed. */
static bool clear(struct ag_window *w)
{
    struct ag_visit visit = {NULL, AG_VISIT_NONE};
    if (w->book.instance_count > 0 || w->templates.count > 0 || !all_submitted(w))
        ag_visit_begin(&visit, w->target.ctx);
    ag_window_defer(ag_window_submit(w, AG_STAT_COUNT, false));
    if (!all_submitted(w)) {
        ag_visit_end(&visit);
        return false;
    }
    struct ag_stats stats = {{0}};
    add_up(&stats, w);
    for (int i = 0; i < AG_STAT_COUNT; i++)
        if (stats.count[i] != 0 && i != AG_STAT_held_max)
            ag_stats_add(i, stats.count[i]);
    ag_stats_max(AG_STAT_held_max, stats.count[AG_STAT_held_max]);
    memset(&w->stats, 0, sizeof w->stats);
    memset(&w->submit_stats, 0, sizeof w->submit_stats);
    if (atomic_exchange(&w->open, 0) != 0)
        atomic_fetch_sub(&ag_window_open, 1);
    ag_held_clear(&w->held);
    memset(&w->cutter, 0, sizeof w->cutter);
    memset(w->cache, 0, sizeof w->cache);
    memset(&w->stalls, 0, sizeof w->stalls);
    ag_book_clear(&w->book);
    ag_template_clear(&w->templates, release_exec, w);
    ag_visit_end(&visit);
    ag_token_clear(&w->table, release_site);
    atomic_store(&w->pinned, false);
    return true;
}

static bool ends_with(const struct ag_token *token, const void *owner)
{
    const struct ag_site *site = token->user;
    return token->kind == AG_OP_KERNEL && site != NULL && (site->owner == NULL || site->owner == owner);
}

/* The caller has both locks. Drops the tokens that end with the owner and what refers to them; false as for clear(). */
static bool clear_owner(struct ag_window *w, const void *owner)
{
    struct ag_visit visit;
    if (ag_token_mark(&w->table, ends_with, owner) == 0)
        return true;
    if (!ag_visit_begin(&visit, w->target.ctx))
        return false;
    ag_window_defer(ag_window_submit(w, AG_FLUSH_module, true));
    bool cleared = w->held.length == 0 && w->handed.length == 0;
    if (cleared) {
        w->submit_stats.count[AG_STAT_chunks] += w->book.chunk_count;
        ag_book_sweep(&w->book, true);
        w->submit_stats.count[AG_STAT_chunks] -= w->book.chunk_count;
        /* their nodes hold functions of any code */
        ag_template_clear(&w->templates, release_exec, w);
    }
    ag_visit_end(&visit);
    if (cleared) {
        memset(w->cache, 0, sizeof w->cache);
        ag_token_sweep(&w->table, release_site);
    }
    return cleared;
}

static bool copies_from_host(const struct ag_token *token, const void *unused)
{
    const struct ag_site *site = token->user;
    (void)unused;
    return token->kind == AG_OP_COPY && site != NULL && site->from_host;
}

/* The caller has both locks. What another thread has held since the caller's flush copies from other memory: its nodes
 * are set anew. Templates hold kernels only. False when the context cannot be entered. */
static bool clear_pinned(struct ag_window *w)
{
    struct ag_visit visit;
    /* the marks mean nothing once the book is swept: the tokens stay */
    if (w->book.instance_count == 0 || ag_token_mark(&w->table, copies_from_host, NULL) == 0)
        return true;
    if (!ag_visit_begin(&visit, w->target.ctx))
        return false;
    ag_book_sweep(&w->book, false);
    ag_visit_end(&visit);
    return true;
}

/* The caller has both locks. */
static void refresh(struct ag_window *w)
{
    if (atomic_load(&w->ctx) == NULL || clear(w))
        atomic_store(&w->stale, false);
}

struct ag_window *ag_window_enter(CUstream stream, bool ptsz)
{
    CUcontext ctx;
    if (stream == NULL)
        stream = ptsz ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
    if (stream == CU_STREAM_PER_THREAD || ag_window_inside)
        return NULL;
    if (ag_real.cuCtxGetCurrent(&ctx) != CUDA_SUCCESS || ctx == NULL)
        return NULL;
    unsigned hint = ((unsigned)((uintptr_t)stream >> 6)) % FOUND;
    struct ag_window *w = found[hint];
    if (w == NULL || atomic_load_explicit(&w->stream, memory_order_relaxed) != stream ||
        atomic_load_explicit(&w->ctx, memory_order_relaxed) != ctx) {
        w = find_or_make(ctx, stream);
        if (w == NULL)
            return NULL;
        found[hint] = w;
    }
    ag_lock_take(&w->lock);
    /* forgotten meanwhile: the stream is being destroyed under the program's own feet */
    if (!w->holdable || atomic_load_explicit(&w->stream, memory_order_relaxed) != stream ||
        atomic_load_explicit(&w->ctx, memory_order_relaxed) != ctx) {
        ag_lock_release(&w->lock);
        return NULL;
    }
    if (__builtin_expect(atomic_load_explicit(&w->stale, memory_order_relaxed), 0)) {
        if (ag_window_lock_more(w, AG_WAIT_YES)) {
            refresh(w);
            ag_lock_release(&w->submitting);
        }
        if (atomic_load(&w->stale)) {
            ag_lock_release(&w->lock);
            return NULL;
        }
    }
    return w;
}

void ag_window_forget(CUcontext ctx, CUstream stream)
{
    if (!ag_window_inside)
        ag_lock_take(&registry);
    else if (!ag_lock_try(&registry))
        return;
    unsigned count = atomic_load(&ag_window_count);
    for (unsigned i = 0; i < count; i++) {
        struct ag_window *w = ag_windows[i];
        if (atomic_load(&w->ctx) == NULL || (ctx != NULL && atomic_load(&w->ctx) != ctx) ||
            (stream != NULL && atomic_load(&w->stream) != stream))
            continue;
        if (!ag_window_lock(w, AG_WAIT_YES))
            continue;
        if (clear(w)) {
            atomic_store(&w->stream, NULL);
            atomic_store(&w->ctx, NULL);
        }
        ag_window_unlock(w);
    }
    ag_lock_release(&registry);
}

void ag_window_forget_code(enum ag_patience patience)
{
    unsigned count = atomic_load(&ag_window_count);
    for (unsigned i = 0; i < count; i++) {
        struct ag_window *w = ag_windows[i];
        atomic_store(&w->stale, true);
        if (ag_window_lock(w, patience)) {
            refresh(w);
            ag_window_unlock(w);
        }
    }
}

void ag_window_forget_owner(const void *owner)
{
    unsigned count = atomic_load(&ag_window_count);
    for (unsigned i = 0; i < count; i++) {
        struct ag_window *w = ag_windows[i];
        if (!ag_window_lock(w, AG_WAIT_YES)) {
            atomic_store(&w->stale, true);
            continue;
        }
        if (atomic_load(&w->stale))
            refresh(w);
        else if (atomic_load(&w->ctx) != NULL && !clear_owner(w, owner))
            atomic_store(&w->stale, true);
        ag_window_unlock(w);
    }
}

void ag_window_forget_pinned(void)
{
    unsigned count = atomic_load(&ag_window_count);
    for (unsigned i = 0; i < count; i++) {
        struct ag_window *w = ag_windows[i];
        if (!atomic_load(&w->pinned))
            continue;
        if (!ag_window_lock(w, AG_WAIT_YES)) {
            atomic_store(&w->stale, true);
            continue;
        }
        if (atomic_load(&w->stale))
            refresh(w);
        else if (atomic_load(&w->ctx) != NULL && !clear_pinned(w))
            atomic_store(&w->stale, true);
        ag_window_unlock(w);
    }
}

void ag_window_after_fork(void)
{
    atomic_store(&ag_window_open, 0);
    atomic_store(&ag_window_count, 0);
    pthread_mutex_init(&registry.mutex, NULL);
    ag_submitter_after_fork();
}

void ag_window_collect(struct ag_stats *total)
{
    unsigned count = atomic_load(&ag_window_count);
    for (unsigned i = 0; i < count; i++) {
        struct ag_window *w = ag_windows[i];
        if (!ag_window_lock(w, AG_WAIT_NO))
            continue;
        add_up(total, w);
        total->count[AG_STAT_instances] += w->book.instance_count + w->templates.count;
        total->count[AG_STAT_device_bytes] += atomic_load(&w->graph_bytes);
        ag_window_unlock(w);
    }
}
