/* The shadow (AUTOGRAPH_MODE=observe): the policy sees what the program issues and decides, but nothing is held, built
 * or launched. Its decisions are counted, so that a report can say what replay mode would do. Of a long run it sees
 * samples (analysis/sampling.h); the ops of a rest cost a counter of their thread. With a trace it sees everything,
 * since everything is written.
 *
 * Knows the policy through analysis/simulate.h. Makes no call to the driver. Each of the calls below is one branch in
 * other modes. Thread rule: any thread, no lock but a window's held.
 */
#ifndef AG_SHIM_TRACE_SHADOW_H
#define AG_SHIM_TRACE_SHADOW_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/simulate.h"
#include "shim/base/cuda.h"
#include "shim/base/options.h"
#include "shim/base/stats.h"

/* Ops of the calling thread that go past uncounted here; use ag_shadow_rests(). */
extern _Thread_local __attribute__((tls_model("initial-exec"))) uint32_t ag_shadow_credit;

static inline bool ag_shadow_on(void)
{
    return __builtin_expect(ag_options.mode == AG_MODE_OBSERVE, 0);
}

/* Whether the next op is only counted: it must not be told by the calls below then. */
bool ag_shadow_refill(void);
static inline bool ag_shadow_rests(void)
{
    if (__builtin_expect(ag_shadow_credit == 0, 0))
        return ag_shadow_refill();
    ag_shadow_credit--;
    return true;
}

/* An op on a stream; mix 0: of the key. What it would have come after was told before. */
void ag_shadow_launch(CUstream stream, bool ptsz, const struct ag_sim_op *op);

/* A launch that replay mode would pass. */
void ag_shadow_pass(void);

/* A call that would submit a stream's work, and one that would submit all. */
void ag_shadow_flush(CUstream stream, bool ptsz);
void ag_shadow_flush_all(void);

/* Code was unloaded or its meaning changed. */
void ag_shadow_forget(void);

/* Adds what was counted to the statistics, which hold the number of launches already. */
void ag_shadow_collect(struct ag_stats *total);

/* In a fork's child, which is another process. */
void ag_shadow_in_child(void);

#endif
