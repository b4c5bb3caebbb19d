/* Tests of analysis/effort.h, analysis/price.h and analysis/template.h: what is done about work that does not repeat.
 */
#include "analysis/effort.h"
#include "analysis/price.h"
#include "analysis/template.h"
#include "tests/unit/unit.h"

/* A thread that issues ops in chunks of 16, a share of them replayed; returns how many of n ops were held. */
static unsigned held_of(struct ag_effort *effort, unsigned n, unsigned replayed_in_16)
{
    unsigned held = 0, open = 0;
    for (unsigned i = 0; i < n; i++) {
        if (ag_effort_rests(effort))
            continue;
        held++;
        if (++open == 16) {
            ag_effort_note(effort, open, replayed_in_16);
            open = 0;
        }
    }
    return held;
}

static void work_that_pays_never_rests(void)
{
    struct ag_effort effort = {0};
    EQUAL(held_of(&effort, 1000000, 16), 1000000);
    EQUAL(held_of(&effort, 1000000, 2), 1000000);
}

static void work_that_does_not_pay_is_held_for_a_tenth(void)
{
    struct ag_effort effort = {0};
    static const unsigned rests[] = {1, AG_EFFORT_SECOND, AG_EFFORT_REST, AG_EFFORT_REST};
    for (unsigned i = 0; i < 4; i++) {
        unsigned trial = AG_EFFORT_TRIAL << i;
        EQUAL(held_of(&effort, trial, 0), trial);
        EQUAL(held_of(&effort, trial * rests[i], 0), 0);
    }
    struct ag_effort endless = {0};
    unsigned n = 200000000;
    EXPECT(held_of(&endless, n, 1) < n / 8);
}

static void a_trial_that_pays_ends_the_resting(void)
{
    struct ag_effort effort = {0};
    held_of(&effort, 6 * AG_EFFORT_TRIAL, 0); /* somewhere in its second rest */
    held_of(&effort, 2 * AG_EFFORT_TRIAL * AG_EFFORT_SECOND + 8 * AG_EFFORT_TRIAL, 16);
    EQUAL(held_of(&effort, 1000000, 16), 1000000);
    /* and the next trial is a short one again */
    held_of(&effort, AG_EFFORT_TRIAL, 0);
    EXPECT(effort.rest > 0 && effort.rest <= AG_EFFORT_TRIAL);
}

/* A launch that waited once must not cost a program its graphs; one that is dear is tried seldom. */
static void a_price_that_is_too_high_comes_down(void)
{
    double price = 2;
    for (int i = 0; i < 400; i++)
        ag_price_draw_launch(&price, 1000, 8);
    EXPECT(price > 7.9 && price <= 8);
    unsigned declined = 0, tried = 0;
    for (; price >= 4; declined++)
        ag_price_declined(&price);
    EXPECT(declined > 10000 && declined < 30000);
    ag_price_draw_launch(&price, 2, 8);
    EXPECT(price < 3.8);
    for (price = 4, declined = 0; declined < 100000;) { /* an op costs 4, and a launch 6 */
        if (price < 4) {
            ag_price_draw_launch(&price, 6, 8);
            tried++;
        } else {
            ag_price_declined(&price);
            declined++;
        }
    }
    EXPECT(tried > 10 && tried * 50 < declined);
}

static unsigned released;

static void release(void *owner, void *exec)
{
    (void)owner;
    released += exec != NULL;
}

static void a_template_is_built_for_lengths_that_come_back(void)
{
    struct ag_templates templates = {0};
    int graph;
    unsigned asked = 0;
    enum ag_template_action action;
    do {
        EQUAL(ag_template_choose(&templates, 2), asked < 8 ? AG_TEMPLATE_NONE : AG_TEMPLATE_BUILD);
        action = ag_template_choose(&templates, 3);
    } while (action == AG_TEMPLATE_NONE && ++asked < 100);
    EQUAL(action, AG_TEMPLATE_BUILD);
    EXPECT(asked >= 4 && asked <= 16);
    ag_template_add(&templates, 3, &graph);
    EQUAL(templates.count, 1);
    for (int i = 0; i < 300; i++)
        EQUAL(ag_template_choose(&templates, 3), AG_TEMPLATE_USE);
    released = 0;
    ag_template_clear(&templates, release, NULL);
    EQUAL(released, 1);
    EQUAL(ag_template_choose(&templates, 3), AG_TEMPLATE_NONE);
}

static void a_chunk_goes_out_through_the_longest_templates(void)
{
    static const int none[] = {0, 1, AG_TEMPLATE_MIN - 1};
    for (unsigned i = 0; i < 3; i++)
        EQUAL(ag_template_for((unsigned)none[i]), -1);
    EQUAL(ag_template_for(AG_CHUNK_MAX), AG_TEMPLATE_KINDS - 1);
    EQUAL(ag_template_length(AG_TEMPLATE_KINDS - 1), AG_CHUNK_MAX);
    for (unsigned ops = AG_TEMPLATE_MIN; ops <= AG_CHUNK_MAX; ops++) {
        unsigned length = ag_template_length(ag_template_for(ops));
        EXPECT(length <= ops && 2 * length > ops);
    }
}

static void a_template_whose_memory_is_wanted_is_built_again_when_it_is_missed(void)
{
    struct ag_templates templates = {0};
    int graph;
    unsigned first = 0, again = 0;
    while (ag_template_choose(&templates, 2) != AG_TEMPLATE_BUILD && first < 100)
        first++;
    ag_template_add(&templates, 2, &graph);
    EXPECT(ag_template_take(&templates, 2) == &graph);
    EQUAL(templates.count, 0);
    while (ag_template_choose(&templates, 2) != AG_TEMPLATE_BUILD && again < 100)
        again++;
    EQUAL(again, first);
    EXPECT(first > 0);
}

static void a_refused_template_is_given_back_and_tried_less_and_less(void)
{
    struct ag_templates templates = {0};
    int graph;
    ag_template_add(&templates, 1, &graph);
    EQUAL(ag_template_choose(&templates, 1), AG_TEMPLATE_USE);
    EXPECT(ag_template_refuse(&templates, 1) == &graph);
    EXPECT(ag_template_refuse(&templates, 1) == NULL);
    EQUAL(templates.count, 0);
    unsigned tries = 0;
    for (int i = 0; i < 3000; i++)
        if (ag_template_choose(&templates, 1) == AG_TEMPLATE_BUILD) {
            ag_template_refuse(&templates, 1);
            tries++;
        }
    EXPECT(tries >= 5 && tries <= 12);
    /* nor for good: what made it fail may pass */
    unsigned waited = 0;
    while (ag_template_choose(&templates, 1) != AG_TEMPLATE_BUILD && waited < 5000)
        waited++;
    EXPECT(waited < 3000);
}

static const struct unit_case cases[] = {
        {"work that pays never rests", work_that_pays_never_rests},
        {"work that does not pay is held for a tenth of the time", work_that_does_not_pay_is_held_for_a_tenth},
        {"a trial that pays ends the resting", a_trial_that_pays_ends_the_resting},
        {"a price that is too high comes down", a_price_that_is_too_high_comes_down},
        {"a template is built for lengths that come back", a_template_is_built_for_lengths_that_come_back},
        {"a chunk goes out through the longest templates", a_chunk_goes_out_through_the_longest_templates},
        {"a template whose memory is wanted is built again when it is missed",
         a_template_whose_memory_is_wanted_is_built_again_when_it_is_missed},
        {"a refused template is given back and tried less and less",
         a_refused_template_is_given_back_and_tried_less_and_less},
};
UNIT_MAIN(cases)
