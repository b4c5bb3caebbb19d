/* Tests of analysis/handover.h: when chunks are left to another thread. */
#include "analysis/handover.h"
#include "analysis/price.h"
#include "tests/unit/unit.h"

/* Costs that make handing over pay. */
static struct ag_handover dear(void)
{
    struct ag_handover handover = {0};
    ag_price_draw(&handover.submit_us, 30);
    ag_price_draw(&handover.post_us, 3);
    return handover;
}

/* Chunks of n that are handed over, when one in `share` of them is late (0: none). */
static unsigned given_of(struct ag_handover *handover, unsigned n, unsigned share)
{
    unsigned given = 0;
    for (unsigned i = 0; i < n; i++) {
        if (!ag_handover_pays(handover))
            continue;
        given++;
        ag_handover_ended(handover, share != 0 && given % share == 0);
    }
    return given;
}

static void nothing_is_handed_over_before_a_submission_was_measured(void)
{
    struct ag_handover handover = {0};
    EQUAL(given_of(&handover, 1000, 0), 0);
}

static void cheap_submissions_are_kept(void)
{
    struct ag_handover handover = {0};
    ag_price_draw(&handover.post_us, 3);
    ag_price_draw(&handover.submit_us, AG_HANDOVER_FACTOR * 3 + AG_HANDOVER_MARGIN_US);
    EQUAL(given_of(&handover, 1000, 0), 0);
    handover.submit_us += 0.1;
    EQUAL(given_of(&handover, 1000, 0), 1000);
}

static void one_interruption_changes_little(void)
{
    struct ag_handover handover = {0};
    ag_price_draw(&handover.submit_us, 4);
    ag_price_draw(&handover.submit_us, 100000);
    EXPECT(handover.submit_us < 5);
    for (int i = 0; i < 100; i++)
        ag_price_draw(&handover.submit_us, 40);
    EXPECT(handover.submit_us > 39 && handover.submit_us <= 40);
    for (int i = 0; i < 100; i++)
        ag_price_draw(&handover.submit_us, 5);
    EXPECT(handover.submit_us < 5.1);
}

static void chunks_that_are_in_time_go_on(void)
{
    struct ag_handover handover = dear();
    EQUAL(given_of(&handover, 100000, 0), 100000);
    EQUAL(given_of(&handover, 100000, 8), 100000);
}

static void chunks_that_are_late_are_kept_longer_and_longer(void)
{
    struct ag_handover handover = dear();
    EQUAL(given_of(&handover, AG_HANDOVER_TRIAL, 1), AG_HANDOVER_TRIAL);
    EQUAL(given_of(&handover, AG_HANDOVER_REST, 1), 0);
    EQUAL(given_of(&handover, AG_HANDOVER_TRIAL, AG_HANDOVER_SHARE), AG_HANDOVER_TRIAL);
    EQUAL(given_of(&handover, 2 * AG_HANDOVER_REST, 1), 0);
    EXPECT(given_of(&handover, 1000000, 1) < 1000);
}

static void the_rest_has_an_end(void)
{
    struct ag_handover handover = dear();
    given_of(&handover, 10000000, 1);
    EXPECT(handover.rest <= AG_HANDOVER_REST_MAX);
    EXPECT(given_of(&handover, 10 * AG_HANDOVER_REST_MAX, 0) > 8 * AG_HANDOVER_REST_MAX);
    /* and the next failure is the first again */
    given_of(&handover, AG_HANDOVER_TRIAL, 0);
    while (handover.rest == 0)
        given_of(&handover, 1, 1);
    EQUAL(handover.rest, AG_HANDOVER_REST);
}

static const struct unit_case cases[] = {
        {"nothing is handed over before a submission was measured",
         nothing_is_handed_over_before_a_submission_was_measured},
        {"cheap submissions are kept", cheap_submissions_are_kept},
        {"one interruption changes little", one_interruption_changes_little},
        {"chunks that are in time go on", chunks_that_are_in_time_go_on},
        {"chunks that are late are kept longer and longer", chunks_that_are_late_are_kept_longer_and_longer},
        {"the rest has an end", the_rest_has_an_end},
};
UNIT_MAIN(cases)
