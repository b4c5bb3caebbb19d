#include "shim/window/order.h"

#include "shim/base/real.h"

void ag_order_all(enum ag_stat reason, bool wait)
{
    unsigned count = atomic_load(&ag_window_count);
    for (unsigned i = 0; i < count && atomic_load(&ag_window_open) != 0; i++)
        ag_window_flush(ag_windows[i], reason, wait);
}

void ag_order_legacy(bool legacy, bool blocking)
{
    if (atomic_load_explicit(&ag_window_open, memory_order_relaxed) == 0 || (!legacy && !blocking))
        return;
    unsigned count = atomic_load(&ag_window_count);
    for (unsigned i = 0; i < count; i++) {
        struct ag_window *w = ag_windows[i];
        /* windows of other contexts are flushed as well: more than needed, never wrong */
        if (legacy ? w->blocking : w->legacy)
            ag_window_flush(w, AG_FLUSH_legacy, true);
    }
}

void ag_order_stream(CUstream stream, bool ptsz, enum ag_stat reason)
{
    unsigned flags = 0;
    bool per_thread = stream == CU_STREAM_PER_THREAD || (stream == NULL && ptsz);
    bool legacy = stream == CU_STREAM_LEGACY || (stream == NULL && !ptsz);
    if (stream == NULL)
        stream = ptsz ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
    unsigned count = atomic_load(&ag_window_count);
    bool blocking = per_thread;
    for (unsigned i = 0; i < count; i++) {
        struct ag_window *w = ag_windows[i];
        if (atomic_load_explicit(&w->stream, memory_order_relaxed) != stream)
            continue;
        ag_window_flush(w, reason, true);
        blocking = blocking || w->blocking;
        flags = 1;
    }
    if (!legacy && !per_thread && flags == 0)
        blocking = true; /* not known: assume that it waits for the legacy stream */
    ag_order_legacy(legacy, blocking);
}
