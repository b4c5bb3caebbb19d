#include "shim/window/budget.h"

#include "shim/base/options.h"
#include "shim/base/real.h"
#include "shim/base/visit.h"

/* Later devices share the last one's. */
#define DEVICES_MAX 64

/* Short memory never makes a limit lower than this: a few loops' graphs, which each later shortage frees again. */
#define LEAST_LIMIT ((size_t)1 << 20)

/* Bytes; limit: 0 until it is needed. */
static struct {
    _Atomic size_t limit, used;
} devices[DEVICES_MAX];

/* Graphs built so far: the clock of what was launched when. */
static atomic_ullong builds;

static unsigned device_of(const struct ag_window *w)
{
    return w->device >= 0 && w->device < DEVICES_MAX ? (unsigned)w->device : DEVICES_MAX - 1;
}

static size_t bytes_of(const struct ag_exec *exec)
{
    return (size_t)exec->length * AG_GRAPH_NODE_BYTES;
}

static size_t limit_of(const struct ag_window *w)
{
    unsigned device = device_of(w);
    size_t bytes = atomic_load(&devices[device].limit);
    if (bytes == 0) {
        size_t total = 0;
        bytes = (size_t)256 << 20;
        if (ag_options.graph_mb != 0)
            bytes = (size_t)ag_options.graph_mb << 20;
        else if (ag_real.cuDeviceTotalMem_v2(&total, w->device) == CUDA_SUCCESS && total / 50 < bytes)
            bytes = total / 50;
        atomic_store(&devices[device].limit, bytes);
    }
    return bytes;
}

void ag_budget_take(struct ag_window *w, const struct ag_exec *exec)
{
    atomic_fetch_add(&devices[device_of(w)].used, bytes_of(exec));
    atomic_fetch_add(&w->graph_bytes, bytes_of(exec));
    atomic_fetch_add(&builds, 1);
}

void ag_budget_give(struct ag_window *w, const struct ag_exec *exec)
{
    atomic_fetch_sub(&devices[device_of(w)].used, bytes_of(exec));
    atomic_fetch_sub(&w->graph_bytes, bytes_of(exec));
}

void ag_budget_used(struct ag_exec *exec)
{
    exec->used = atomic_load_explicit(&builds, memory_order_relaxed);
}

/* The graph of a window that was launched least recently: an instance's, or the template of *kind (else -1). */
static const struct ag_exec *oldest_of(const struct ag_window *w, int *kind)
{
    const struct ag_exec *oldest = w->book.oldest != NULL ? w->book.oldest->exec : NULL;
    *kind = -1;
    for (int i = 0; i < AG_TEMPLATE_KINDS; i++) {
        const struct ag_exec *exec = w->templates.exec[i];
        if (exec != NULL && (oldest == NULL || exec->used < oldest->used)) {
            oldest = exec;
            *kind = i;
        }
    }
    return oldest;
}

/* Frees it; false when the window has none. The caller has its lock of submission, its context is current. */
static bool evict(struct ag_window *w)
{
    int kind;
    if (oldest_of(w, &kind) == NULL)
        return false;
    if (kind < 0)
        ag_book_evict(&w->book, NULL);
    else
        w->book.release(w->book.owner, ag_template_take(&w->templates, kind));
    w->submit_stats.count[AG_STAT_evictions]++;
    return true;
}

/* The window of the same device whose oldest graph is the oldest of all; `own` when none is older than its own, NULL
 * when no window has any. Only `own` is locked. */
static struct ag_window *window_of_oldest(struct ag_window *own)
{
    int kind;
    const struct ag_exec *exec = oldest_of(own, &kind);
    struct ag_window *found = exec != NULL ? own : NULL;
    uint64_t least = exec != NULL ? exec->used : UINT64_MAX;
    unsigned count = atomic_load(&ag_window_count);
    for (unsigned i = 0; i < count; i++) {
        struct ag_window *w = ag_windows[i];
        if (w == own || atomic_load(&w->graph_bytes) == 0 || !ag_lock_try_beside(&w->submitting))
            continue;
        exec = device_of(w) == device_of(own) ? oldest_of(w, &kind) : NULL;
        if (exec != NULL && exec->used < least) {
            least = exec->used;
            found = w;
        }
        ag_lock_release(&w->submitting);
    }
    return found;
}

/* The same for a window of which only that lock may be had by trying. */
static bool evict_beside(struct ag_window *w)
{
    struct ag_visit visit;
    bool done = false;
    if (!ag_lock_try_beside(&w->submitting))
        return false;
    if (ag_visit_begin(&visit, w->target.ctx)) {
        done = evict(w);
        ag_visit_end(&visit);
    }
    ag_lock_release(&w->submitting);
    return done;
}

bool ag_budget_room(struct ag_window *w, size_t bytes)
{
    size_t limit = limit_of(w);
    _Atomic size_t *used = &devices[device_of(w)].used;
    if (atomic_load(used) + bytes <= limit)
        return true;
    if (bytes > limit)
        return false;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    ag_real.cuThreadExchangeStreamCaptureMode(&mode);
    bool more = true;
    while (more && atomic_load(used) + bytes > limit) {
        struct ag_window *from = window_of_oldest(w);
        more = from != NULL && ((from != w && evict_beside(from)) || evict(w));
    }
    ag_real.cuThreadExchangeStreamCaptureMode(&mode);
    return atomic_load(used) + bytes <= limit;
}

void ag_budget_drop(struct ag_window *w)
{
    w->submit_stats.count[AG_STAT_evictions] += w->book.instance_count + w->templates.count;
    ag_book_drop_instances(&w->book);
    ag_template_clear(&w->templates, w->book.release, w->book.owner);
}

static size_t used_in_all(void)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < DEVICES_MAX; i++)
        bytes += atomic_load(&devices[i].used);
    return bytes;
}

bool ag_budget_release(void)
{
    size_t before[DEVICES_MAX], all = used_in_all();
    unsigned count = atomic_load(&ag_window_count);
    if (all == 0)
        return false;
    for (unsigned i = 0; i < DEVICES_MAX; i++)
        before[i] = atomic_load(&devices[i].used);
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    ag_real.cuThreadExchangeStreamCaptureMode(&mode);
    for (unsigned i = 0; i < count; i++) {
        struct ag_window *w = ag_windows[i];
        struct ag_visit visit;
        if (!ag_window_lock(w, AG_WAIT_SOME))
            continue;
        if (atomic_load(&w->graph_bytes) > 0 && ag_visit_begin(&visit, w->target.ctx)) {
            ag_budget_drop(w);
            ag_visit_end(&visit);
        }
        ag_window_unlock(w);
    }
    ag_real.cuThreadExchangeStreamCaptureMode(&mode);
    /* the program needs the memory more, and may need it again */
    for (unsigned i = 0; i < DEVICES_MAX; i++) {
        size_t half = before[i] / 2 > LEAST_LIMIT ? before[i] / 2 : LEAST_LIMIT;
        if (before[i] > 0 && half < atomic_load(&devices[i].limit))
            atomic_store(&devices[i].limit, half);
    }
    return used_in_all() < all;
}
