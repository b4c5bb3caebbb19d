#include "shim/trace/shadow.h"

#include <stdint.h>
#include <string.h>

#include "shim/base/lock.h"

static struct ag_lock lock = AG_LOCK_INIT(AG_RANK_LEAF);
/* under the lock: */
static struct ag_sim sim;
static bool ready, broken; /* broken: memory was short, and what was counted since means nothing */

static atomic_uint threads;
static _Thread_local __attribute__((tls_model("initial-exec"))) uint32_t thread;

static uint32_t own_thread(void)
{
    if (thread == 0)
        thread = atomic_fetch_add(&threads, 1) + 1;
    return thread;
}

/* Takes the lock; false: there is no shadow, and the lock is not taken. */
static bool enter(void)
{
    if (!ag_shadow_on())
        return false;
    ag_lock_take(&lock);
    if (!ready) {
        struct ag_sim_params params = ag_sim_defaults();
        params.cut = (struct ag_cut_params){.min = (unsigned)ag_options.chunk_min,
                                            .max = (unsigned)ag_options.chunk_max,
                                            .bits = (unsigned)ag_options.chunk_bits,
                                            .ramp = (unsigned)ag_options.chunk_ramp};
        ag_sim_init(&sim, &params);
        ready = true;
    }
    return true;
}

static uint64_t number(CUstream stream, bool ptsz)
{
    if (stream == NULL)
        stream = ptsz ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
    return (uint64_t)(uintptr_t)stream;
}

void ag_shadow_launch(CUstream stream, bool ptsz, const struct ag_sim_op *op)
{
    if (number(stream, ptsz) == (uint64_t)(uintptr_t)CU_STREAM_PER_THREAD) {
        ag_shadow_pass();
        return;
    }
    if (!enter())
        return;
    if (!broken && ag_sim_launch(&sim, number(stream, ptsz), own_thread(), op) != 0)
        broken = true;
    ag_lock_release(&lock);
}

void ag_shadow_pass(void)
{
    if (!enter())
        return;
    ag_sim_flush_all(&sim, own_thread());
    ag_sim_pass(&sim);
    ag_lock_release(&lock);
}

void ag_shadow_flush(CUstream stream, bool ptsz)
{
    if (!enter())
        return;
    ag_sim_flush(&sim, number(stream, ptsz), own_thread());
    ag_lock_release(&lock);
}

void ag_shadow_flush_all(void)
{
    if (!enter())
        return;
    ag_sim_flush_all(&sim, own_thread());
    ag_lock_release(&lock);
}

void ag_shadow_forget(void)
{
    if (!enter())
        return;
    ag_sim_flush_all(&sim, own_thread());
    ag_sim_forget(&sim);
    ag_lock_release(&lock);
}

void ag_shadow_collect(struct ag_stats *total)
{
    if (!enter())
        return;
    ag_sim_flush_all(&sim, own_thread());
    total->count[AG_STAT_replayable] += sim.totals.counts.replayed;
    total->count[AG_STAT_replayable_graphs] += sim.totals.counts.graph_launches;
    ag_lock_release(&lock);
}

void ag_shadow_in_child(void)
{
    /* another thread of the parent may have had it; what it was at is given up */
    ag_lock_setup(&lock, AG_RANK_LEAF);
    memset(&sim, 0, sizeof sim);
    ready = broken = false;
}
