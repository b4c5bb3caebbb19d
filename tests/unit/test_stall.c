/* Tests of analysis/stall.h. */
#include "analysis/stall.h"
#include "tests/unit/unit.h"

/* A program that stalls after each op at this place, n times; returns how often it had to wait for the age limit. */
static unsigned waits_of(struct ag_stalls *stalls, uint64_t place, unsigned n)
{
    unsigned waits = 0;
    for (unsigned i = 0; i < n; i++)
        if (!ag_stall_expected(stalls, place)) {
            ag_stall_note(stalls, place);
            waits++;
        }
    return waits;
}

static void a_poller_waits_less_and_less(void)
{
    struct ag_stalls stalls = {0};
    EQUAL(waits_of(&stalls, 77, 2), 2);
    EQUAL(waits_of(&stalls, 77, 8), 0);
    EXPECT(waits_of(&stalls, 77, 1000) <= 4);
    EXPECT(waits_of(&stalls, 77, 100000) <= 100000 / AG_STALL_REACH_MAX + 2);
}

static void one_stall_is_no_rule(void)
{
    struct ag_stalls stalls = {0};
    ag_stall_expected(&stalls, 5);
    ag_stall_note(&stalls, 5);
    for (int i = 0; i < 100; i++) {
        EXPECT(!ag_stall_expected(&stalls, 5));
        EXPECT(!ag_stall_expected(&stalls, 6));
    }
    /* and that it went on has wiped it out: another one is the first again */
    ag_stall_note(&stalls, 5);
    EXPECT(!ag_stall_expected(&stalls, 5));
}

static void places_do_not_share(void)
{
    struct ag_stalls stalls = {0};
    waits_of(&stalls, 77, 1000);
    for (uint64_t place = 78; place < 1078; place++)
        EXPECT(!ag_stall_expected(&stalls, place));
    EXPECT(ag_stall_expected(&stalls, 77));
}

static void a_place_that_stalls_no_more_is_held_again(void)
{
    struct ag_stalls stalls = {0};
    waits_of(&stalls, 9, 1000);
    unsigned early = 0;
    for (int i = 0; i < 20000; i++)
        early += ag_stall_expected(&stalls, 9);
    EXPECT(early < 2 * AG_STALL_REACH_MAX);
    for (int i = 0; i < 1000; i++)
        EXPECT(!ag_stall_expected(&stalls, 9));
}

static const struct unit_case cases[] = {
        {"a poller waits less and less", a_poller_waits_less_and_less},
        {"one stall is no rule", one_stall_is_no_rule},
        {"places do not share", places_do_not_share},
        {"a place that stalls no more is held again", a_place_that_stalls_no_more_is_held_again},
};
UNIT_MAIN(cases)
