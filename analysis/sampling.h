/* Sampling: which ops of a program the simulation sees, when seeing all of them costs too much.
 *
 * A program's beginning is seen whole. Then blocks of ops are seen, and between them ops are only counted (a rest).
 * What a block says of itself is taken for the rest before it. A block goes on while it sees work that is new to the
 * policy, as long as enough was rested to pay for it: else a loop with a long body would not be known for long. Rests
 * differ in length, so that blocks do not fall on the same part of a loop for ever.
 *
 * Knows counts, not ops. The caller shows the ops, and forgets what is held when a block ends. Thread rule: one thread.
 */
#ifndef AG_ANALYSIS_SAMPLING_H
#define AG_ANALYSIS_SAMPLING_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/simulate.h"

/* Ops that are seen before the first rest. */
#define AG_SAMPLING_FIRST 8192u

/* A later block begins with ops among which cuts find their places; then blocks go on by stretches. */
#define AG_SAMPLING_WARM 512u
#define AG_SAMPLING_STRETCH 2048u

/* Ops of the longest block, the beginning included, however new its work is. */
#define AG_SAMPLING_LONGEST 65536u

/* Ops of a rest on average: 31 of the shortest blocks. */
#define AG_SAMPLING_REST (31u * (AG_SAMPLING_WARM + AG_SAMPLING_STRETCH))

/* Longer blocks are paid from rests: at most one op in so many is seen after the beginning. */
#define AG_SAMPLING_SHARE 16u

/* A block need not go on when at most one in so many ops of its last stretch was new. */
#define AG_SAMPLING_NEW 16u

/* What the simulation made of some ops. */
struct ag_sampling_counts {
    uint64_t ops; /* submitted, in whichever way */
    uint64_t replayed, graphs;
    uint64_t fresh; /* ops that were not known, or not as a chunk */
};

struct ag_sampling {
    bool begun, resting;
    uint32_t left;   /* ops until the stretch or the rest ends */
    uint32_t block;  /* ops of this block so far */
    uint64_t blocks; /* ended */
    uint64_t rest;   /* ops rested since the last block, */
    uint64_t rested; /* and ever */
    uint64_t seen;   /* ops of the blocks after the first */
    /* what was counted when the stretch began, when what is judged of the block began, and in the last block judged */
    struct ag_sampling_counts stretch, judged, last;
    double ops, replayed, graphs; /* of the rests that are over, as their blocks say */
};

/* Notes that an op was shown; totals: the simulation's, after it. True when a block has ended: what is held is to be
 * forgotten (ag_sim_drop()), and the next ops are not shown. */
bool ag_sampling_saw(struct ag_sampling *sampling, const struct ag_sim_totals *totals);

/* While sampling->resting: takes up to `most` ops that need not be shown, and returns how many (at least 1). */
uint32_t ag_sampling_skip(struct ag_sampling *sampling, uint32_t most);

struct ag_sampling_forecast {
    uint64_t replayed, graphs;
};

/* What a program of so many launches would have seen replayed. With no rest: what the simulation counted. */
struct ag_sampling_forecast ag_sampling_foretell(const struct ag_sampling *sampling, const struct ag_sim_totals *totals,
                                                 uint64_t launches);

#endif
