/* Content-defined cutting: where a chunk ends.
 *
 * A rolling hash over the last few tokens decides, so that cuts fall on the same places in every iteration, whatever
 * its length, and find them again after inserted or skipped work. A minimum and a maximum bound the length. A loop with
 * a short body has few hashes, and none of them may be a cut: from half the maximum on, the lowest of the chunk is one,
 * which every round of the loop offers again. After a flush the device is probably idle: the first chunks are kept
 * short (the ramp), so that it has work soon.
 *
 * Knows tokens by their mix alone. Cost: O(1) an op.
 */
#ifndef AG_ANALYSIS_CUT_H
#define AG_ANALYSIS_CUT_H

#include <stdbool.h>
#include <stdint.h>

struct ag_cut_params {
    unsigned min;  /* no cut before this many ops */
    unsigned max;  /* always a cut after this many, at most AG_CHUNK_MAX */
    unsigned bits; /* a cut falls on one place in 2^bits on average, beyond the minimum */
    unsigned ramp; /* longest first chunk after a flush; three times as long for each further one; 0: no ramp */
};

struct ag_cutter {
    uint64_t hash;
    uint64_t lowest; /* of the hashes in the open chunk, mixed */
    unsigned length; /* ops in the open chunk */
    unsigned limit;  /* the ramp's present maximum; 0 when the ramp is over */
};

/* The parameters used unless options say otherwise. */
struct ag_cut_params ag_cut_defaults(void);

/* Adds an op; true when it ends its chunk. */
static inline bool ag_cut_push(struct ag_cutter *cutter, const struct ag_cut_params *params, uint64_t mix)
{
    unsigned length = ++cutter->length;
    uint64_t before = cutter->hash;
    /* each step shifts an old token 12 bits further out: about five tokens have a say */
    cutter->hash = (before << 12) + mix;
    uint64_t mixed = cutter->hash * 0x9e3779b97f4a7c15u;
    bool low = length == 1 || mixed <= cutter->lowest;
    if (low)
        cutter->lowest = mixed;
    if (length < params->min)
        return cutter->limit != 0 && length >= cutter->limit;
    if (length >= params->max || (cutter->limit != 0 && length >= cutter->limit))
        return true;
    /* one token over and over has no content to cut at: only the maximum ends it */
    return cutter->hash != before && (mixed >> 1 >> (63 - params->bits) == 0 || (low && length >= params->max / 2));
}

/* Starts the next chunk after a cut. */
static inline void ag_cut_next(struct ag_cutter *cutter, const struct ag_cut_params *params)
{
    cutter->length = 0;
    if (cutter->limit != 0) {
        cutter->limit *= 3;
        if (cutter->limit >= params->max)
            cutter->limit = 0;
    }
}

/* Starts the next chunk after a flush that the program's own calls caused (so that it comes back at the same place). */
static inline void ag_cut_flush(struct ag_cutter *cutter, const struct ag_cut_params *params)
{
    cutter->length = 0;
    cutter->hash = 0;
    cutter->limit = params->ramp;
}

#endif
