/* The engine without a driver: what goes out how, and why. Numbers follow from the parameters given here. */
#include "analysis/simulate.h"
#include "tests/unit/unit.h"

#include <string.h>

static struct ag_sim sim;

/* Chunks of four, no ramp, an instance at the second sight. */
static void set_up(void)
{
    struct ag_sim_params params = ag_sim_defaults();
    params.cut = (struct ag_cut_params){.min = 4, .max = 4, .bits = 3, .ramp = 0};
    params.book.build_after = 2;
    params.book.build_us = 1; /* short chunks are built as soon as long ones */
    params.book.advance = params.book.learning_us = params.book.later = 0; /* nothing is built ahead */
    ag_sim_init(&sim, &params);
}

static void tear_down(void)
{
    EQUAL(sim.totals.counts.launches, sim.totals.counts.replayed + sim.totals.counts.eager);
    uint64_t eager = 0;
    for (int i = 0; i < AG_SIM_EAGER_COUNT; i++)
        eager += sim.totals.eager[i];
    EQUAL(sim.totals.counts.eager, eager);
    ag_sim_clear(&sim);
    EQUAL(sim.open, 0);
}

static void launch_shared(uint64_t stream, uint32_t thread, uint64_t identity, uint64_t argument, uint32_t shared)
{
    struct ag_sim_op op = {.kind = AG_OP_KERNEL,
                           .key = &identity,
                           .key_size = sizeof identity,
                           .record = &argument,
                           .record_size = sizeof argument,
                           .argument_bytes = sizeof argument,
                           .shared = shared};
    EQUAL(ag_sim_launch(&sim, stream, thread, &op), 0);
}

static void four(uint64_t stream, uint32_t thread, uint64_t argument)
{
    for (uint64_t i = 0; i < 4; i++)
        launch_shared(stream, thread, i, argument, 0);
}

static void a_chunk_is_learned_built_and_launched(void)
{
    set_up();
    four(0, 0, 1); /* each op is new; the chunk is seen the first time */
    EQUAL(sim.totals.eager[AG_SIM_FIRST], 4);
    four(0, 0, 1);
    EQUAL(sim.totals.counts.builds, 1);
    EQUAL(sim.totals.counts.built_nodes, 4);
    EQUAL(sim.totals.counts.replayed, 4);
    four(0, 0, 1);
    EQUAL(sim.totals.counts.replayed, 8);
    EQUAL(sim.totals.counts.patched, 0);
    EQUAL(sim.totals.exact, 2);
    four(0, 0, 2);
    EQUAL(sim.totals.counts.replayed, 12);
    EQUAL(sim.totals.counts.patched, 4);
    EQUAL(sim.totals.counts.patched_bytes, 32);
    EQUAL(sim.totals.counts.graph_launches, 3);
    EQUAL(sim.totals.counts.held, 12);
    EQUAL(sim.totals.lengths[4], 3);
    EQUAL(sim.totals.counts.builds, 1);
    tear_down();
}

static void a_flush_ends_a_chunk(void)
{
    set_up();
    four(0, 0, 1);
    for (int round = 0; round < 3; round++) {
        launch_shared(0, 0, 0, 1, 0);
        launch_shared(0, 0, 1, 1, 0);
        EQUAL(sim.open, 1);
        ag_sim_flush(&sim, 5, 0); /* another stream */
        EQUAL(sim.open, 1);
        if (round != 1)
            ag_sim_flush(&sim, 0, 0);
        else
            ag_sim_flush_all(&sim, 0);
        EQUAL(sim.open, 0);
    }
    EQUAL(sim.totals.eager[AG_SIM_UNKNOWN], 2);
    EQUAL(sim.totals.lengths[2], 2);
    EQUAL(sim.totals.flushes, 3);
    tear_down();
}

static void a_flush_by_another_thread_leaves_the_cuts(void)
{
    set_up();
    four(0, 7, 1);
    four(0, 7, 1);
    uint64_t replayed = sim.totals.counts.replayed;
    for (int round = 0; round < 3; round++) {
        launch_shared(0, 7, 0, 1, 0);
        ag_sim_flush(&sim, 0, 8);
        for (uint64_t i = 1; i < 4; i++)
            launch_shared(0, 7, i, 1, 0);
        EQUAL(sim.open, 0);
    }
    /* one op, and the three to the cut: unknown at first, then built, then launched */
    EQUAL(sim.totals.eager[AG_SIM_UNKNOWN], 4);
    EQUAL(sim.totals.counts.replayed, replayed + 8);
    EQUAL(sim.totals.lengths[1], 2);
    EQUAL(sim.totals.lengths[3], 2);
    four(0, 7, 1); /* and the cuts are where they were */
    EQUAL(sim.totals.counts.replayed, replayed + 12);
    EQUAL(sim.totals.lengths[4], 2);
    tear_down();
}

static void a_new_op_parts_its_chunk_once(void)
{
    set_up();
    four(0, 0, 1);
    four(0, 0, 1);
    launch_shared(0, 0, 0, 1, 0);
    uint64_t unknown = sim.totals.eager[AG_SIM_UNKNOWN], replayed = sim.totals.counts.replayed;
    launch_shared(0, 0, 9, 1, 0); /* new: submits what is held, as a chunk of one, and begins the next */
    EQUAL(sim.totals.eager[AG_SIM_UNKNOWN], unknown + 1);
    for (int i = 0; i < 3; i++)
        launch_shared(0, 0, 0, 1, 0);
    /* the three are a chunk that is unknown; that all four are one is learned */
    EQUAL(sim.totals.eager[AG_SIM_UNKNOWN], unknown + 4);
    EQUAL(sim.open, 0);
    launch_shared(0, 0, 9, 1, 0);
    for (int i = 0; i < 3; i++)
        launch_shared(0, 0, 0, 1, 0);
    EQUAL(sim.totals.counts.replayed, replayed + 4);
    EQUAL(sim.totals.lengths[4], 2);
    tear_down();
}

static void age_submits_without_a_cut(void)
{
    set_up();
    four(0, 0, 1);
    four(0, 0, 1);
    ag_sim_advance(&sim, 1000, 200);
    launch_shared(0, 0, 0, 1, 0);
    ag_sim_advance(&sim, 1200, 200);
    EQUAL(sim.open, 1);
    ag_sim_advance(&sim, 1201, 200);
    EQUAL(sim.open, 0);
    EQUAL(sim.totals.eager[AG_SIM_UNKNOWN], 1);
    for (uint64_t i = 1; i < 4; i++)
        launch_shared(0, 0, i, 1, 0);
    EQUAL(sim.open, 0); /* the cut is where it would have been */
    tear_down();
}

static void more_shared_memory_is_a_first_launch(void)
{
    set_up();
    launch_shared(0, 0, 1, 1, 100);
    launch_shared(0, 0, 1, 1, 100);
    EQUAL(sim.totals.eager[AG_SIM_FIRST], 1);
    launch_shared(0, 0, 1, 1, 101); /* submits what is held first */
    EQUAL(sim.totals.eager[AG_SIM_FIRST], 2);
    EQUAL(sim.open, 0);
    launch_shared(0, 0, 1, 1, 99);
    EQUAL(sim.open, 1);
    ag_sim_flush(&sim, 0, 0);
    tear_down();
}

static void passed_launches_and_forgetting(void)
{
    set_up();
    four(0, 0, 1);
    ag_sim_pass(&sim);
    EQUAL(sim.totals.eager[AG_SIM_PASSED], 1);
    EQUAL(sim.totals.counts.held, 0);
    ag_sim_forget(&sim);
    four(0, 0, 1);
    EQUAL(sim.totals.eager[AG_SIM_FIRST], 8);
    tear_down();
}

static void plain_chunks_without_instance_use_templates(void)
{
    struct ag_sim_params params = ag_sim_defaults();
    params.cut = (struct ag_cut_params){.min = 4, .max = 4, .bits = 3, .ramp = 0};
    params.book.build_after = 1000;
    params.book.advance = params.book.learning_us = params.book.later = 0;
    ag_sim_init(&sim, &params);
    for (uint64_t round = 0; round < 20; round++)
        for (uint64_t i = 0; i < 4; i++) {
            uint64_t identity = i;
            struct ag_sim_op op = {.kind = AG_OP_KERNEL,
                                   .key = &identity,
                                   .key_size = sizeof identity,
                                   .record = &round,
                                   .record_size = sizeof round,
                                   .argument_bytes = 8,
                                   .plain = true};
            EQUAL(ag_sim_launch(&sim, 0, 0, &op), 0);
        }
    /* some chunks until one is worth it, one built, the others through it */
    const struct ag_cost_counts *counts = &sim.totals.counts;
    EQUAL(counts->builds, 1);
    EXPECT(sim.totals.eager[AG_SIM_UNKNOWN] > 0 && counts->retargeted >= 40);
    EQUAL(counts->retargeted, counts->patched);
    EQUAL(counts->replayed, counts->retargeted + 4);
    EQUAL(counts->patched_bytes, 0);
    ag_sim_forget(&sim);
    tear_down();
}

static const struct unit_case cases[] = {
        {"a chunk is learned, built and launched", a_chunk_is_learned_built_and_launched},
        {"a flush ends a chunk", a_flush_ends_a_chunk},
        {"a flush by another thread leaves the cuts", a_flush_by_another_thread_leaves_the_cuts},
        {"a new op parts its chunk once", a_new_op_parts_its_chunk_once},
        {"age submits without a cut", age_submits_without_a_cut},
        {"more shared memory is a first launch", more_shared_memory_is_a_first_launch},
        {"plain chunks without instance use templates", plain_chunks_without_instance_use_templates},
        {"passed launches, and forgetting", passed_launches_and_forgetting},
};

UNIT_MAIN(cases)
