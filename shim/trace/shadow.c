#include "shim/trace/shadow.h"

#include <stdint.h>
#include <string.h>

#include "analysis/sampling.h"
#include "shim/base/lock.h"
#include "shim/trace/trace.h"

/* Ops that a thread passes before it asks again. */
#define CREDIT 64

static struct ag_lock lock = AG_LOCK_INIT(AG_RANK_LEAF);
/* under the lock: */
static struct ag_sim sim;
static struct ag_sampling sampling;
static bool ready, broken; /* broken: memory was short, and what was counted since means nothing */

static atomic_bool resting; /* sampling.resting, changed under the lock */
_Thread_local __attribute__((tls_model("initial-exec"))) uint32_t ag_shadow_credit;

static atomic_uint threads;
static _Thread_local __attribute__((tls_model("initial-exec"))) uint32_t thread;

static uint32_t own_thread(void)
{
    if (thread == 0)
        thread = atomic_fetch_add(&threads, 1) + 1;
    return thread;
}

/* Takes the lock. */
static void enter_anyhow(void)
{
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
}

/* The same, unless nothing is to be told now: false then, and the lock is not taken. */
static bool enter(void)
{
    if (!ag_shadow_on() || atomic_load_explicit(&resting, memory_order_relaxed))
        return false;
    enter_anyhow();
    return true;
}

/* After an op was told. The caller has the lock. */
static void told(void)
{
    /* while a trace is written there is nothing to be saved */
    if (!ag_trace_on() && ag_sampling_saw(&sampling, &sim.totals)) {
        ag_sim_drop(&sim);
        atomic_store(&resting, true);
    }
}

bool ag_shadow_refill(void)
{
    if (!atomic_load_explicit(&resting, memory_order_relaxed))
        return false;
    bool rests = false;
    ag_lock_take(&lock);
    if (sampling.resting) {
        ag_shadow_credit = ag_sampling_skip(&sampling, CREDIT) - 1;
        atomic_store(&resting, sampling.resting);
        rests = true;
    }
    ag_lock_release(&lock);
    return rests;
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
    told();
    ag_lock_release(&lock);
}

void ag_shadow_pass(void)
{
    if (!enter())
        return;
    ag_sim_flush_all(&sim, own_thread());
    ag_sim_pass(&sim);
    told();
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
    if (!ag_shadow_on())
        return;
    enter_anyhow();
    ag_sim_flush_all(&sim, own_thread());
    ag_sim_forget(&sim);
    ag_lock_release(&lock);
}

void ag_shadow_collect(struct ag_stats *total)
{
    if (!ag_shadow_on())
        return;
    enter_anyhow();
    ag_sim_flush_all(&sim, own_thread());
    struct ag_sampling_forecast forecast = ag_sampling_foretell(&sampling, &sim.totals, total->count[AG_STAT_launches]);
    total->count[AG_STAT_replayable] += forecast.replayed;
    total->count[AG_STAT_replayable_graphs] += forecast.graphs;
    total->count[AG_STAT_observed] += sim.totals.counts.launches;
    ag_lock_release(&lock);
}

void ag_shadow_in_child(void)
{
    /* another thread of the parent may have had it; what it was at is given up */
    ag_lock_setup(&lock, AG_RANK_LEAF);
    memset(&sim, 0, sizeof sim);
    memset(&sampling, 0, sizeof sampling);
    ready = broken = false;
    atomic_store(&resting, false);
    ag_shadow_credit = 0;
}
