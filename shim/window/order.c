#include "shim/window/order.h"

#include "shim/base/real.h"

void ag_order_all(enum ag_stat reason, enum ag_patience patience)
{
    if (ag_window_inside)
        return;
    unsigned count = atomic_load(&ag_window_count);
    for (unsigned i = 0; i < count && atomic_load(&ag_window_open) != 0; i++)
        ag_window_flush(ag_windows[i], reason, patience);
}

bool ag_order_stop(enum ag_stat why)
{
    if (!ag_window_stop(why))
        return false;
    ag_order_all(AG_FLUSH_other, AG_WAIT_SOME);
    return true;
}

static void order_legacy(bool legacy, bool blocking)
{
    if (atomic_load_explicit(&ag_window_open, memory_order_relaxed) == 0 || (!legacy && !blocking))
        return;
    unsigned count = atomic_load(&ag_window_count);
    for (unsigned i = 0; i < count; i++) {
        struct ag_window *w = ag_windows[i];
        /* windows of other contexts are flushed as well: more than needed, never wrong */
        if (atomic_load_explicit(legacy ? &w->blocking : &w->legacy, memory_order_relaxed))
            ag_window_flush(w, AG_FLUSH_legacy, AG_WAIT_YES);
    }
}

struct ag_window *ag_order_enter(CUstream stream, bool ptsz)
{
    struct ag_window *w = ag_window_enter(stream, ptsz);
    if (w == NULL || atomic_load_explicit(&ag_window_open, memory_order_relaxed) <=
                             (atomic_load_explicit(&w->open, memory_order_relaxed) != 0))
        return w;
    /* another window holds work: two windows are never locked together */
    bool legacy = atomic_load_explicit(&w->legacy, memory_order_relaxed);
    bool blocking = atomic_load_explicit(&w->blocking, memory_order_relaxed);
    ag_lock_release(&w->lock);
    order_legacy(legacy, blocking);
    return ag_window_enter(stream, ptsz);
}

void ag_order_stream(CUstream stream, bool ptsz, enum ag_stat reason)
{
    if (atomic_load_explicit(&ag_window_open, memory_order_relaxed) == 0 || ag_window_inside)
        return;
    bool per_thread = stream == CU_STREAM_PER_THREAD || (stream == NULL && ptsz);
    bool legacy = stream == CU_STREAM_LEGACY || (stream == NULL && !ptsz);
    if (stream == NULL)
        stream = ptsz ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
    unsigned count = atomic_load(&ag_window_count);
    bool blocking = per_thread, known = false;
    for (unsigned i = 0; i < count; i++) {
        struct ag_window *w = ag_windows[i];
        if (atomic_load_explicit(&w->stream, memory_order_relaxed) != stream)
            continue;
        ag_window_flush(w, reason, AG_WAIT_YES);
        blocking = blocking || atomic_load_explicit(&w->blocking, memory_order_relaxed);
        known = true;
    }
    if (!legacy && !per_thread && !known)
        blocking = true; /* not known: assume that it waits for the legacy stream */
    order_legacy(legacy, blocking);
}
