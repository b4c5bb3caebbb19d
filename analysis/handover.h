/* Handover: whether a thread leaves its chunks to another thread to submit.
 *
 * Handing over costs waking that thread. It saves the thread what the driver takes for a chunk, which is a multiple of
 * that in some programs and less in others (caches), and nothing where the program waits for the chunk soon after. All
 * of it is measured, by time or by count. Thread rule: one thread at a time.
 */
#ifndef AG_ANALYSIS_HANDOVER_H
#define AG_ANALYSIS_HANDOVER_H

#include <stdbool.h>
#include <stdint.h>

/* Chunks are handed over while submitting one takes this much longer than handing one over, and so much besides. */
#define AG_HANDOVER_FACTOR 2.0
#define AG_HANDOVER_MARGIN_US 2.0

/* A trial is so many chunks; it failed when one in AG_HANDOVER_SHARE was late. Then so many chunks are not handed over,
 * twice as many after each further failure. */
#define AG_HANDOVER_TRIAL 16u
#define AG_HANDOVER_SHARE 4u
#define AG_HANDOVER_REST 64u
#define AG_HANDOVER_REST_MAX (AG_HANDOVER_REST << 10)

struct ag_handover {
    double submit_us, post_us; /* what a chunk's submission and its handover take (ag_price_draw()); 0: not known */
    uint32_t given, late;      /* in this trial */
    uint32_t rest;             /* chunks left that are not handed over */
    uint32_t next_rest;        /* 0 is AG_HANDOVER_REST */
};

/* Whether the next chunk is handed over. */
static inline bool ag_handover_pays(struct ag_handover *handover)
{
    if (handover->rest > 0) {
        handover->rest--;
        return false;
    }
    return handover->submit_us > AG_HANDOVER_FACTOR * handover->post_us + AG_HANDOVER_MARGIN_US;
}

/* Notes a chunk that was handed over; late: it was not with the driver yet when its thread needed that. */
static inline void ag_handover_ended(struct ag_handover *handover, bool late)
{
    handover->late += late;
    if (++handover->given < AG_HANDOVER_TRIAL)
        return;
    if (handover->late * AG_HANDOVER_SHARE >= handover->given) {
        handover->rest = handover->next_rest != 0 ? handover->next_rest : AG_HANDOVER_REST;
        handover->next_rest = handover->rest < AG_HANDOVER_REST_MAX ? 2 * handover->rest : handover->rest;
    } else {
        handover->next_rest = 0;
    }
    handover->given = handover->late = 0;
}

#endif
