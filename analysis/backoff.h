/* Backing off: when to try again what the driver has refused.
 *
 * A refusal may pass (device memory was short, a buffer was just freed) or never. So the first one costs nothing, and
 * each further one blocks for twice as many turns. What has gone well for twice as long as it was blocked starts anew.
 * Counts the turns that it is given and knows nothing else; turns may wrap. Thread rule: one thread at a time.
 */
#ifndef AG_ANALYSIS_BACKOFF_H
#define AG_ANALYSIS_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

/* Longest time that a refusal blocks, in turns. */
#define AG_BACKOFF_MAX (1u << 20)

struct ag_backoff {
    uint32_t turns; /* of the last refusal, its own included; 0: nothing was refused lately */
    uint32_t retry; /* the turn of the next try */
};

static inline bool ag_backoff_blocks(const struct ag_backoff *backoff, uint32_t now)
{
    return backoff->turns != 0 && (int32_t)(now - backoff->retry) < 0;
}

/* Notes a refusal in this turn. */
static inline void ag_backoff_refused(struct ag_backoff *backoff, uint32_t now)
{
    bool passed = !ag_backoff_blocks(backoff, now) && now - backoff->retry > 2 * backoff->turns;
    if (backoff->turns == 0 || passed)
        backoff->turns = 1;
    else if (backoff->turns < AG_BACKOFF_MAX)
        backoff->turns *= 2;
    backoff->retry = now + backoff->turns;
}

#endif
