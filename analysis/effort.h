/* Effort: whether holding a thread's work pays.
 *
 * Each held op costs a little, each replayed one saves ten times as much. A thread whose work was hardly ever replayed
 * over a whole trial rests: its ops are passed at once. Then it is tried again, twice as long, since its work may
 * repeat with a period longer than the trial. A program changes its ways most at its beginning, so the first rest is
 * one trial long, the second AG_EFFORT_SECOND; from then on it is AG_EFFORT_REST trials, so that what is lost stays
 * below 1 % of such a thread's launches. Thread rule: one thread, whose effort it is.
 */
#ifndef AG_ANALYSIS_EFFORT_H
#define AG_ANALYSIS_EFFORT_H

#include <stdbool.h>
#include <stdint.h>

/* Ops of the first trial, and of the longest one. */
#define AG_EFFORT_TRIAL 8192u
#define AG_EFFORT_TRIAL_MAX (AG_EFFORT_TRIAL << 8)

/* A rest in trials; the second one. */
#define AG_EFFORT_REST 10u
#define AG_EFFORT_SECOND 4u

/* A trial pays when one in so many of its ops was replayed. */
#define AG_EFFORT_SHARE 8u

struct ag_effort {
    uint32_t held, replayed; /* in this trial */
    uint32_t trial;          /* its length; 0 is AG_EFFORT_TRIAL */
    uint32_t rest;           /* ops left of the rest */
};

/* Notes ops that were held and are now submitted, and how many of them were replayed. */
static inline void ag_effort_note(struct ag_effort *effort, uint32_t held, uint32_t replayed)
{
    uint32_t trial = effort->trial != 0 ? effort->trial : AG_EFFORT_TRIAL;
    effort->held += held;
    effort->replayed += replayed;
    if (effort->held < trial)
        return;
    if (effort->replayed >= effort->held / AG_EFFORT_SHARE) {
        effort->trial = 0;
    } else {
        effort->rest = trial * (trial == AG_EFFORT_TRIAL       ? 1
                                : trial == 2 * AG_EFFORT_TRIAL ? AG_EFFORT_SECOND
                                                               : AG_EFFORT_REST);
        effort->trial = trial < AG_EFFORT_TRIAL_MAX ? 2 * trial : trial;
    }
    effort->held = effort->replayed = 0;
}

/* Whether the next op is passed at once. */
static inline bool ag_effort_rests(struct ag_effort *effort)
{
    if (effort->rest == 0)
        return false;
    effort->rest--;
    return true;
}

#endif
