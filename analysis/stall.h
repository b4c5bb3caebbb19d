/* Stalls: places where a stream's program stops making calls.
 *
 * A program that polls memory, or waits for something else than the device, would wait for the age limit each time. A
 * place is the hash of the last few ops (the cutter's). After the second stall in a row at a place, what is held there
 * goes out at once; after a number of such times the place is tried again, four times later each time that it still
 * stalls, and half as late when it does not. One thread at a time.
 */
#ifndef AG_ANALYSIS_STALL_H
#define AG_ANALYSIS_STALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AG_STALL_PLACES 64u

/* Most times that a stall is expected before the place is tried again. */
#define AG_STALL_REACH_MAX 4096u

struct ag_stall {
    uint64_t place;
    uint16_t reach; /* how often a stall is expected before that is tried again */
    uint16_t left;  /* of these, still to come */
};

struct ag_stalls {
    struct ag_stall *trial; /* the last op's place, when it is being tried */
    struct ag_stall places[AG_STALL_PLACES];
};

static inline struct ag_stall *ag_stall_slot(struct ag_stalls *stalls, uint64_t place)
{
    return &stalls->places[(place * 0x9e3779b97f4a7c15u) >> 58];
}

/* After each op: whether a stall is expected here. */
static inline bool ag_stall_expected(struct ag_stalls *stalls, uint64_t place)
{
    if (stalls->trial != NULL) {
        /* the program went on */
        stalls->trial->reach /= 2;
        stalls->trial = NULL;
    }
    struct ag_stall *stall = ag_stall_slot(stalls, place);
    if (stall->reach == 0 || stall->place != place)
        return false;
    if (stall->left > 0) {
        stall->left--;
        return true;
    }
    stalls->trial = stall;
    return false;
}

/* The program stalled after the op at this place. */
static inline void ag_stall_note(struct ag_stalls *stalls, uint64_t place)
{
    struct ag_stall *stall = ag_stall_slot(stalls, place);
    unsigned reach = stall->place == place ? stall->reach : 0;
    stalls->trial = NULL;
    stall->place = place;
    stall->left = 0;
    if (reach == 0) {
        stall->reach = 1;
        return;
    }
    stall->reach = (uint16_t)(4 * reach + 4 < AG_STALL_REACH_MAX ? 4 * reach + 4 : AG_STALL_REACH_MAX);
    stall->left = stall->reach;
}

#endif
