/* Cuts: bounds, and the same places in content that comes back. */
#include "analysis/cut.h"
#include "analysis/op.h"
#include "tests/unit/unit.h"

#include <string.h>

#define OPS_MAX 8192

static const struct ag_cut_params no_ramp = {.min = 8, .max = 32, .bits = 3, .ramp = 0};

/* Cuts a whole sequence after a flush: ends[i] tells whether op i ended a chunk. */
static void cut_all(const struct ag_cut_params *params, const uint64_t *mixes, unsigned count, bool *ends)
{
    struct ag_cutter cutter = {0};
    ag_cut_flush(&cutter, params);
    for (unsigned i = 0; i < count; i++) {
        ends[i] = ag_cut_push(&cutter, params, mixes[i]);
        if (ends[i])
            ag_cut_next(&cutter, params);
    }
}

static void fill(uint64_t *mixes, unsigned count, uint64_t seed)
{
    for (unsigned i = 0; i < count; i++)
        mixes[i] = unit_random(&seed);
}

/* The length of the next chunk of one token over and over. */
static unsigned repeated_length(struct ag_cutter *cutter, const struct ag_cut_params *params, uint64_t mix)
{
    unsigned length = 1;
    while (!ag_cut_push(cutter, params, mix) && length < 1000)
        length++;
    ag_cut_next(cutter, params);
    return length;
}

static void defaults_are_sound(void)
{
    struct ag_cut_params params = ag_cut_defaults();
    EXPECT(params.min >= 1 && params.min <= params.max);
    EXPECT(params.max <= AG_CHUNK_MAX);
    EXPECT(params.bits >= 1 && params.bits < 64);
    EXPECT(params.ramp <= params.max);
}

static void repeated_content_is_cut_at_the_same_places(void)
{
    static uint64_t mixes[OPS_MAX];
    static bool ends[OPS_MAX];
    struct ag_cut_params params = ag_cut_defaults();
    for (unsigned seed = 1; seed <= 50; seed++) {
        unsigned period = 80 + 7 * seed, rounds = 12;
        fill(mixes, period, seed);
        for (unsigned r = 1; r < rounds; r++)
            memcpy(mixes + (size_t)r * period, mixes, period * sizeof mixes[0]);
        cut_all(&params, mixes, rounds * period, ends);
        unsigned cuts = 0;
        for (unsigned i = 0; i < period; i++)
            cuts += ends[4 * period + i];
        EXPECT(cuts > 0);
        for (unsigned r = 5; r < rounds; r++)
            EXPECT(memcmp(ends + (size_t)r * period, ends + (size_t)4 * period, period * sizeof ends[0]) == 0);
    }
}

/* Removes `dropped` ops at `at` and puts `inserted` others there: cuts before are untouched, those well behind fall on
 * the same ops as before. */
static void expect_resync(unsigned at, unsigned dropped, unsigned inserted, uint64_t seed)
{
    enum { count = 2000, reach = 250 };
    static uint64_t plain[count], other[count + 64];
    static bool plain_ends[count], other_ends[count + 64];
    unsigned total = count - dropped + inserted;
    fill(plain, count, seed);
    memcpy(other, plain, at * sizeof plain[0]);
    fill(other + at, inserted, ~seed);
    memcpy(other + at + inserted, plain + at + dropped, (count - at - dropped) * sizeof plain[0]);
    cut_all(&no_ramp, plain, count, plain_ends);
    cut_all(&no_ramp, other, total, other_ends);
    EXPECT(memcmp(plain_ends, other_ends, at * sizeof plain_ends[0]) == 0);
    unsigned from = at + dropped + reach;
    EXPECT(memcmp(plain_ends + from, other_ends + from - dropped + inserted, (count - from) * sizeof(bool)) == 0);
}

static void inserted_ops_move_no_later_cut(void)
{
    for (uint64_t seed = 1; seed <= 50; seed++)
        expect_resync(700, 0, 1 + (unsigned)seed % 7, seed);
}

static void dropped_ops_move_no_later_cut(void)
{
    for (uint64_t seed = 1; seed <= 50; seed++)
        expect_resync(700, 1 + (unsigned)seed % 7, 0, seed);
}

static void lengths_stay_between_the_bounds(void)
{
    static const struct ag_cut_params all[] = {{.min = 8, .max = 32, .bits = 3},
                                               {.min = 1, .max = 64, .bits = 2},
                                               {.min = 16, .max = 16, .bits = 3},
                                               {.min = 2, .max = 8, .bits = 1},
                                               {.min = 4, .max = 24, .bits = 10}};
    for (unsigned p = 0; p < sizeof all / sizeof all[0]; p++) {
        struct ag_cutter cutter = {0};
        uint64_t seed = p;
        unsigned length = 0;
        bool at_min = false, at_max = false;
        ag_cut_flush(&cutter, &all[p]);
        for (unsigned i = 0; i < 20000; i++) {
            length++;
            bool cut = ag_cut_push(&cutter, &all[p], unit_random(&seed));
            EQUAL(cutter.length, length);
            EXPECT(length <= all[p].max);
            if (!cut)
                continue;
            EXPECT(length >= all[p].min);
            at_min |= length == all[p].min;
            at_max |= length == all[p].max;
            length = 0;
            ag_cut_next(&cutter, &all[p]);
        }
        EXPECT(at_min || all[p].bits == 10);
        EXPECT(at_max || all[p].min == 1);
    }
}

static void cuts_are_as_frequent_as_asked(void)
{
    static uint64_t mixes[OPS_MAX];
    static bool ends[OPS_MAX];
    unsigned cuts = 0;
    fill(mixes, OPS_MAX, 1);
    cut_all(&no_ramp, mixes, OPS_MAX, ends);
    for (unsigned i = 0; i < OPS_MAX; i++)
        cuts += ends[i];
    /* 7 ops that cannot be cut at, then one in 8, less what the maximum takes off: about 15 */
    EXPECT(cuts > OPS_MAX / 17 && cuts < OPS_MAX / 13);
}

static void ramp_triples_until_the_maximum(void)
{
    static const unsigned want[] = {4, 12, 32, 32, 32};
    struct ag_cut_params params = {.min = 8, .max = 32, .bits = 3, .ramp = 4};
    struct ag_cutter cutter = {0};
    for (unsigned flush = 0; flush < 3; flush++) {
        ag_cut_flush(&cutter, &params);
        for (unsigned i = 0; i < sizeof want / sizeof want[0]; i++)
            EQUAL(repeated_length(&cutter, &params, 0x123456789abcdefu), want[i]);
    }
    EQUAL(cutter.limit, 0);
}

static void ramp_bounds_any_content(void)
{
    struct ag_cut_params params = {.min = 8, .max = 32, .bits = 3, .ramp = 4};
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct ag_cutter cutter = {0};
        uint64_t state = seed;
        ag_cut_flush(&cutter, &params);
        for (unsigned limit = 4; limit <= 36; limit *= 3) {
            unsigned length = 1;
            while (!ag_cut_push(&cutter, &params, unit_random(&state)) && length < 1000)
                length++;
            ag_cut_next(&cutter, &params);
            EXPECT(length <= limit && length <= params.max);
            EXPECT(length >= params.min || length == limit);
        }
    }
}

static void one_repeated_token_is_cut_only_at_the_maximum(void)
{
    uint64_t seed = 5;
    for (unsigned token = 0; token < 1000; token++) {
        uint64_t mix = token == 0 ? 0 : unit_random(&seed);
        struct ag_cutter cutter = {0};
        ag_cut_flush(&cutter, &no_ramp);
        for (unsigned i = 0; i < 8; i++)
            EQUAL(repeated_length(&cutter, &no_ramp, mix), no_ramp.max);
    }
}

/* Whatever the hashes of a loop with a short body are: the maximum, which falls on any of its places, never cuts it. */
static void short_loops_are_cut_by_content(void)
{
    static uint64_t mixes[OPS_MAX];
    static bool ends[OPS_MAX];
    struct ag_cut_params params = {.min = 16, .max = 64, .bits = 3, .ramp = 0};
    for (unsigned period = 2; period <= 24; period++)
        for (uint64_t seed = 1; seed <= 40; seed++) {
            uint64_t state = seed * 1000 + period;
            for (unsigned i = 0; i < OPS_MAX / 8; i++)
                mixes[i] = i < period ? unit_random(&state) : mixes[i - period];
            cut_all(&params, mixes, OPS_MAX / 8, ends);
            unsigned last = 0, cuts = 0;
            for (unsigned i = 0; i < OPS_MAX / 8; i++)
                if (ends[i]) {
                    EXPECT(cuts == 0 || i - last < params.max);
                    last = i;
                    cuts++;
                }
            EXPECT(cuts > OPS_MAX / 8 / params.max);
        }
}

static void a_flush_forgets_what_came_before(void)
{
    struct ag_cut_params params = ag_cut_defaults();
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct ag_cutter fresh = {0}, worn = {0};
        uint64_t before = ~seed, state = seed;
        for (uint64_t i = 0; i < seed; i++)
            if (ag_cut_push(&worn, &params, unit_random(&before)))
                ag_cut_next(&worn, &params);
        ag_cut_flush(&fresh, &params);
        ag_cut_flush(&worn, &params);
        for (unsigned i = 0; i < 200; i++) {
            uint64_t mix = unit_random(&state);
            bool cut = ag_cut_push(&fresh, &params, mix);
            EQUAL(ag_cut_push(&worn, &params, mix), cut);
            if (cut) {
                ag_cut_next(&fresh, &params);
                ag_cut_next(&worn, &params);
            }
        }
    }
}

static void no_bits_cut_at_every_place(void)
{
    volatile unsigned none = 0; /* as an option gives it: not known to the compiler */
    struct ag_cut_params params = {.min = 5, .max = 32, .bits = none, .ramp = 0};
    struct ag_cutter cutter = {0};
    uint64_t state = 1;
    ag_cut_flush(&cutter, &params);
    for (unsigned i = 1; i <= 1000; i++) {
        bool cut = ag_cut_push(&cutter, &params, unit_random(&state));
        EQUAL(cut, i % 5 == 0);
        if (cut)
            ag_cut_next(&cutter, &params);
    }
}

static const struct unit_case cases[] = {
        {"the defaults are sound", defaults_are_sound},
        {"repeated content is cut at the same places", repeated_content_is_cut_at_the_same_places},
        {"inserted ops move no later cut", inserted_ops_move_no_later_cut},
        {"dropped ops move no later cut", dropped_ops_move_no_later_cut},
        {"lengths stay between minimum and maximum", lengths_stay_between_the_bounds},
        {"cuts are as frequent as asked", cuts_are_as_frequent_as_asked},
        {"no bits: a cut at every place from the minimum on", no_bits_cut_at_every_place},
        {"the ramp triples until the maximum, after every flush", ramp_triples_until_the_maximum},
        {"the ramp bounds any content", ramp_bounds_any_content},
        {"one repeated token is cut only at the maximum", one_repeated_token_is_cut_only_at_the_maximum},
        {"short loops are cut by content", short_loops_are_cut_by_content},
        {"a flush forgets what came before", a_flush_forgets_what_came_before},
};
UNIT_MAIN(cases)
