/* Tests of analysis/sampling.h: what samples foretell, against what seeing everything says. */
#include "analysis/sampling.h"
#include "tests/unit/unit.h"

#include <string.h>

/* The identity of a program's op number i. */
typedef uint64_t program(uint64_t i);

struct outcome {
    uint64_t observed, replayed, graphs;
    struct ag_sampling_forecast foretold;
};

static void show(struct ag_sim *sim, uint64_t identity)
{
    uint64_t argument = 1;
    struct ag_sim_op op = {.kind = AG_OP_KERNEL,
                           .key = &identity,
                           .key_size = sizeof identity,
                           .record = &argument,
                           .record_size = sizeof argument,
                           .argument_bytes = sizeof argument};
    EQUAL(ag_sim_launch(sim, 0, 0, &op), 0);
}

static struct outcome play(program *next, uint64_t ops)
{
    struct ag_sim_params params = ag_sim_defaults();
    struct ag_sim whole, seen;
    struct ag_sampling sampling = {0};
    ag_sim_init(&whole, &params);
    ag_sim_init(&seen, &params);
    for (uint64_t i = 0; i < ops; i++) {
        uint64_t identity = next(i);
        show(&whole, identity);
        if (sampling.resting) {
            EQUAL(ag_sampling_skip(&sampling, 1), 1);
            continue;
        }
        show(&seen, identity);
        if (ag_sampling_saw(&sampling, &seen.totals)) {
            EXPECT(sampling.resting);
            ag_sim_drop(&seen);
            EQUAL(seen.open, 0);
        }
    }
    ag_sim_flush_all(&whole, 0);
    ag_sim_flush_all(&seen, 0);
    struct outcome outcome = {seen.totals.counts.launches, whole.totals.counts.replayed,
                              whole.totals.counts.graph_launches, ag_sampling_foretell(&sampling, &seen.totals, ops)};
    ag_sim_clear(&whole);
    ag_sim_clear(&seen);
    return outcome;
}

static bool near(uint64_t a, uint64_t b, uint64_t most)
{
    return a > b ? a - b <= most : b - a <= most;
}

static uint64_t loop(uint64_t i)
{
    return i % 97 < 30 ? i % 3 : i % 97;
}

static void a_short_program_is_seen_whole(void)
{
    struct outcome o = play(loop, AG_SAMPLING_FIRST);
    EQUAL(o.observed, AG_SAMPLING_FIRST);
    o = play(loop, AG_SAMPLING_FIRST - 1);
    EQUAL(o.observed, AG_SAMPLING_FIRST - 1);
    EQUAL(o.foretold.replayed, o.replayed);
    EQUAL(o.foretold.graphs, o.graphs);
}

static void a_loop_is_foretold_from_one_op_in_twenty(void)
{
    uint64_t ops = 1000000;
    struct outcome o = play(loop, ops);
    EXPECT(o.observed < ops / 20);
    EXPECT(near(o.foretold.replayed, o.replayed, ops / 100));
    EXPECT(near(o.foretold.graphs, o.graphs, o.graphs / 20));
    EXPECT(o.foretold.replayed <= ops);
}

/* A loop as long as blocks lie apart on average, half of it always new. */
#define APART (AG_SAMPLING_WARM + AG_SAMPLING_STRETCH + AG_SAMPLING_REST)

static uint64_t half_new(uint64_t i)
{
    return i % APART < APART / 2 ? i % 50 : 1000 + i;
}

static void blocks_do_not_fall_on_the_same_part_of_a_loop(void)
{
    uint64_t ops = (uint64_t)APART * 20;
    struct outcome o = play(half_new, ops);
    EXPECT(near(o.replayed, ops / 2, ops / 20));
    EXPECT(near(o.foretold.replayed, o.replayed, ops / 8));
}

static uint64_t other_half(uint64_t i)
{
    return i < 600000 ? i % 50 : 1000 + i % 20000;
}

static void another_loop_is_learned_anew(void)
{
    uint64_t ops = 1200000;
    struct outcome o = play(other_half, ops);
    EXPECT(near(o.foretold.replayed, o.replayed, ops / 10));
}

static uint64_t long_loop(uint64_t i)
{
    return i % 30000;
}

static void a_loop_longer_than_the_beginning_is_learned(void)
{
    uint64_t ops = 600000;
    struct outcome o = play(long_loop, ops);
    EXPECT(near(o.foretold.replayed, o.replayed, ops / 20));
    EXPECT(o.observed < ops / 6);
}

static uint64_t always_new(uint64_t i)
{
    return i;
}

static void work_that_never_repeats_costs_no_more(void)
{
    uint64_t ops = 1000000;
    struct outcome o = play(always_new, ops);
    EXPECT(o.observed <= AG_SAMPLING_LONGEST + ops / AG_SAMPLING_SHARE + AG_SAMPLING_STRETCH);
    EXPECT(near(o.foretold.replayed, o.replayed, ops / 100));
}

static void a_skip_takes_no_more_than_the_rest_has(void)
{
    struct ag_sampling sampling = {.begun = true, .resting = true, .left = 100, .blocks = 1};
    EQUAL(ag_sampling_skip(&sampling, 64), 64);
    EXPECT(sampling.resting);
    EQUAL(ag_sampling_skip(&sampling, 64), 36);
    EXPECT(!sampling.resting);
    EQUAL(sampling.rest, 100);
    EQUAL(sampling.left, AG_SAMPLING_WARM);
}

static void what_was_counted_elsewhere_is_like_the_rests(void)
{
    struct ag_sampling sampling = {.begun = true, .ops = 1000, .replayed = 500, .graphs = 50};
    struct ag_sim_totals totals;
    memset(&totals, 0, sizeof totals);
    totals.counts.replayed = 100;
    totals.counts.graph_launches = 10;
    totals.counts.eager = 100;
    struct ag_sampling_forecast f = ag_sampling_foretell(&sampling, &totals, 2200);
    EQUAL(f.replayed, 100 + 1000);
    EQUAL(f.graphs, 10 + 100);
    f = ag_sampling_foretell(&sampling, &totals, 200);
    EQUAL(f.replayed, 100);
    EQUAL(f.graphs, 10);
}

static const struct unit_case cases[] = {
        {"a short program is seen whole", a_short_program_is_seen_whole},
        {"a loop is foretold from one op in twenty", a_loop_is_foretold_from_one_op_in_twenty},
        {"blocks do not fall on the same part of a loop", blocks_do_not_fall_on_the_same_part_of_a_loop},
        {"another loop is learned anew", another_loop_is_learned_anew},
        {"a loop longer than the beginning is learned", a_loop_longer_than_the_beginning_is_learned},
        {"work that never repeats costs no more", work_that_never_repeats_costs_no_more},
        {"what was counted elsewhere is like the rests", what_was_counted_elsewhere_is_like_the_rests},
        {"a skip takes no more than the rest has", a_skip_takes_no_more_than_the_rest_has},
};
UNIT_MAIN(cases)
