/* Backing off: how often something that was refused is tried, and that it is tried again. */
#include "analysis/backoff.h"
#include "tests/unit/unit.h"

/* Tries whenever it may, from turn `now` on; the driver refuses every try. Returns how often it was tried. */
static unsigned refused_tries(struct ag_backoff *backoff, uint32_t *now, unsigned turns)
{
    unsigned tries = 0;
    for (unsigned i = 0; i < turns; i++, ++*now)
        if (!ag_backoff_blocks(backoff, *now)) {
            ag_backoff_refused(backoff, *now);
            tries++;
        }
    return tries;
}

static void nothing_refused_blocks_nothing(void)
{
    struct ag_backoff backoff = {0};
    EXPECT(!ag_backoff_blocks(&backoff, 0) && !ag_backoff_blocks(&backoff, UINT32_MAX));
}

static void one_refusal_is_tried_again_at_once(void)
{
    struct ag_backoff backoff = {0};
    ag_backoff_refused(&backoff, 10);
    EXPECT(!ag_backoff_blocks(&backoff, 11));
}

static void each_further_refusal_blocks_for_twice_as_long(void)
{
    struct ag_backoff backoff = {0};
    uint32_t now = 1;
    for (unsigned blocked = 1; blocked <= 256; blocked *= 2) {
        EXPECT(!ag_backoff_blocks(&backoff, now));
        ag_backoff_refused(&backoff, now);
        for (unsigned i = 1; i < blocked; i++)
            EXPECT(ag_backoff_blocks(&backoff, now + i));
        now += blocked;
    }
}

static void what_is_always_refused_is_hardly_ever_tried(void)
{
    struct ag_backoff backoff = {0};
    uint32_t now = 1;
    unsigned early = refused_tries(&backoff, &now, 100000);
    EXPECT(early >= 10 && early <= 20);
    /* but never given up: one try in each longest time */
    unsigned late = refused_tries(&backoff, &now, 10 * AG_BACKOFF_MAX);
    EXPECT(late >= 10 && late <= 20);
}

static void what_went_well_for_long_starts_anew(void)
{
    struct ag_backoff backoff = {0};
    uint32_t now = 1;
    refused_tries(&backoff, &now, 1000); /* blocked for 512 turns */
    now += 512 + 2 * 512 + 10;
    ag_backoff_refused(&backoff, now);
    EXPECT(!ag_backoff_blocks(&backoff, now + 1));
    /* not so after a short time */
    refused_tries(&backoff, &now, 1000);
    for (unsigned i = 0; i < 5000 && ag_backoff_blocks(&backoff, now); i++)
        now++;
    ag_backoff_refused(&backoff, now + 20);
    EXPECT(ag_backoff_blocks(&backoff, now + 21));
}

static void a_refusal_while_blocked_blocks_longer(void)
{
    struct ag_backoff backoff = {0};
    uint32_t now = 1;
    refused_tries(&backoff, &now, 20); /* the last at turn 16, for 16 turns */
    ag_backoff_refused(&backoff, 21);
    EXPECT(ag_backoff_blocks(&backoff, 21 + 31) && !ag_backoff_blocks(&backoff, 21 + 32));
}

static void turns_may_wrap(void)
{
    struct ag_backoff backoff = {0};
    uint32_t now = UINT32_MAX - 50;
    unsigned tries = refused_tries(&backoff, &now, 1000);
    EXPECT(tries >= 8 && tries <= 12);
}

static const struct unit_case cases[] = {
        {"nothing refused blocks nothing", nothing_refused_blocks_nothing},
        {"one refusal is tried again at once", one_refusal_is_tried_again_at_once},
        {"each further refusal blocks for twice as long", each_further_refusal_blocks_for_twice_as_long},
        {"what is always refused is hardly ever tried", what_is_always_refused_is_hardly_ever_tried},
        {"what went well for long starts anew", what_went_well_for_long_starts_anew},
        {"a refusal while blocked blocks longer", a_refusal_while_blocked_blocks_longer},
        {"turns may wrap", turns_may_wrap},
};
UNIT_MAIN(cases)
