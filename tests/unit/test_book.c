/* The book: what is answered for a chunk, and which instances it gets. */
#include "tests/unit/book.h"

/* ---- what is answered ---- */

static void first_eager_then_built_then_launched(void)
{
    for (unsigned after = 1; after <= 4; after++) {
        struct ag_book_params params = ag_book_defaults();
        params.build_after = after;
        params.advance = 0;
        set_up_with(&params);
        for (unsigned i = 1; i < after; i++)
            EQUAL(step(set_of(1)).action, AG_BOOK_EAGER);
        EQUAL(the.book.instance_count, 0);
        EQUAL(step(set_of(1)).action, AG_BOOK_BUILD);
        EQUAL(the.book.instance_count, 1);
        EQUAL(the.book.device_bytes, DEVICE_BYTES);
        for (unsigned i = 0; i < 5; i++)
            EQUAL(step(set_of(1)).action, AG_BOOK_LAUNCH);
        EQUAL(the.built, 1);
        EQUAL(the.book.chunk_count, 1);
        tear_down();
    }
}

static void short_chunks_wait_until_an_instance_would_have_paid(void)
{
    static const struct {
        double launch_us;
        unsigned length, sightings;
    } cases[] = {
            /* an op saves 3.94 us, building it costs 10: an instance of n ops pays after 10 n / (3.94 n - launch) */
            {2.1, 1, 6},
            {2.1, 2, 4},
            {2.1, 3, 4},
            {2.1, 7, 2},
            {2.1, 8, 2},
            {2.1, 30, 2},
            /* a launch that costs more than its ops is never made */
            {8, 1, 0},
            {8, 2, 0},
            {8, 3, 8},
            {8, 8, 2},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ag_book_params params = ag_book_defaults();
        params.advance = 0;
        params.launch_us = cases[i].launch_us;
        set_up_with(&params);
        static unsigned char records[64 * RECORD];
        unsigned seen = 0;
        for (unsigned k = 1; seen == 0 && k <= 100; k++)
            if (step_at(0, cases[i].length, records).action == AG_BOOK_BUILD)
                seen = k;
        EQUAL(seen, cases[i].sightings);
        tear_down();
    }
}

/* Asks for the first ops with these records, which have an instance or are too few for one. */
static struct ag_book_choice ask(unsigned length, const unsigned char *records)
{
    struct ag_book_choice choice;
    ag_book_choose(&the.book, the.tokens, length, records, &choice);
    return choice;
}

static void an_instance_that_costs_more_than_its_ops_is_not_launched(void)
{
    struct ag_book_params params = ag_book_defaults();
    params.patch_us = 3;
    set_up_with(&params);
    while (step_at(0, 3, set_of(1)).action != AG_BOOK_LAUNCH)
        ;
    /* 3 x 3.94 - 2.1 = 9.7 us are saved; patching all three costs 9 or 10.5 */
    EQUAL(step_at(0, 3, set_of(2)).action, AG_BOOK_LAUNCH);
    the.book.params.patch_us = 3.5;
    struct ag_book_choice choice = ask(3, set_of(3));
    EXPECT(choice.action == AG_BOOK_EAGER && choice.instance != NULL);
    EQUAL(step_at(0, 3, set_of(2)).action, AG_BOOK_LAUNCH);
    /* prices change: also for what was expected, and is exact */
    EQUAL(step_at(0, 3, set_of(2)).action, AG_BOOK_LAUNCH);
    the.book.params.launch_us = 20;
    choice = ask(3, set_of(2));
    EXPECT(choice.action == AG_BOOK_EAGER && choice.instance != NULL);
    /* but not for long chunks: prices are measured, and may be wrong */
    the.book.params.patch_us = the.book.params.launch_us = 1000;
    while (step(set_of(1)).action != AG_BOOK_BUILD)
        ;
    EQUAL(step(set_of(2)).action, AG_BOOK_LAUNCH);
    tear_down();
}

static void learning_counts_as_a_sighting(void)
{
    set_up();
    ag_book_learn(&the.book, the.tokens, LENGTH);
    EQUAL(the.book.chunk_count, 1);
    EQUAL(step(set_of(1)).action, AG_BOOK_BUILD);
    EXPECT(the.book.previous != NULL);
    ag_book_learn(&the.book, the.tokens, LENGTH);
    EXPECT(the.book.previous == NULL);
    EQUAL(the.book.chunk_count, 1);
    tear_down();
}

static void a_prefix_is_another_chunk(void)
{
    set_up();
    for (unsigned i = 0; i < 3; i++) {
        step_at(0, LENGTH, set_of(1));
        step_at(0, LENGTH - 1, set_of(1));
        step_at(1, LENGTH - 1, set_of(1));
    }
    EQUAL(the.book.chunk_count, 3);
    EQUAL(the.book.instance_count, 3);
    tear_down();
}

static bool is_third(const struct ag_token *token, const void *unused)
{
    (void)unused;
    return token->id == 2;
}

static void a_sweep_drops_the_chunks_with_marked_tokens(void)
{
    set_up();
    for (unsigned i = 0; i < 3; i++) {
        step_at(0, LENGTH, set_of(1));
        step_at(1, LENGTH, set_of(1));
        step_at(3, LENGTH, set_of(1));
        step_at(LENGTH, LENGTH, set_of(1));
    }
    EQUAL(the.book.instance_count, 4);
    ag_book_sweep(&the.book, true);
    EQUAL(the.book.chunk_count, 4);
    EQUAL(ag_token_mark(&the.table, is_third, NULL), 1);
    ag_book_sweep(&the.book, true);
    EQUAL(the.book.chunk_count, 2);
    EQUAL(the.book.instance_count, 2);
    EQUAL(the.released, 2);
    EQUAL(step_at(3, LENGTH, set_of(1)).action, AG_BOOK_LAUNCH);
    EQUAL(step_at(LENGTH, LENGTH, set_of(1)).action, AG_BOOK_LAUNCH);
    EQUAL(step_at(1, LENGTH, set_of(1)).action, AG_BOOK_EAGER);
    tear_down();
}

/* Sightings of the usual chunk, each attempt to build an instance refused; returns the attempts. */
static unsigned refused_builds(unsigned sightings)
{
    struct ag_book_choice choice;
    unsigned attempts = 0;
    for (unsigned i = 0; i < sightings; i++) {
        ag_book_choose(&the.book, the.tokens, LENGTH, set_of(1), &choice);
        EQUAL(ag_book_blocked(choice.chunk), choice.action == AG_BOOK_EAGER);
        if (choice.action == AG_BOOK_BUILD) {
            ag_book_refused(choice.chunk);
            attempts++;
        }
    }
    return attempts;
}

static void refused_chunks_are_hardly_ever_tried(void)
{
    set_up();
    step(set_of(1));
    EQUAL(refused_builds(3), 2); /* the one between them blocks the third */
    unsigned attempts = refused_builds(1000);
    EXPECT(attempts >= 5 && attempts <= 12);
    tear_down();
}

static void a_refusal_that_passes_does_not_cost_replay_for_good(void)
{
    set_up();
    step(set_of(1));
    refused_builds(1000);
    unsigned eager = 0;
    while (step(set_of(1)).action == AG_BOOK_EAGER && eager < 2000)
        eager++;
    EXPECT(eager < 1000);
    for (unsigned i = 0; i < 1000; i++)
        EQUAL(step(set_of(1)).action, AG_BOOK_LAUNCH);
    tear_down();
}

static void one_instance_that_cannot_be_patched_is_replaced_at_once(void)
{
    set_up();
    step(set_of(1));
    struct ag_instance *instance = step(set_of(1)).instance;
    ag_book_refused(instance->chunk);
    ag_book_drop(&the.book, instance);
    EQUAL(step(set_of(2)).action, AG_BOOK_BUILD);
    tear_down();
}

static void an_exact_match_patches_nothing(void)
{
    set_up();
    struct ag_chunk *chunk = known_chunk(0);
    struct ag_instance *instances[6];
    for (unsigned i = 0; i < 6; i++) {
        instances[i] = add(chunk, set_of(i + 1));
        ag_book_used(&the.book, instances[i]);
    }
    for (unsigned i = 0; i < 60; i++) {
        unsigned k = i * 5 % 6;
        struct ag_book_choice choice = step(set_of(k + 1));
        EQUAL(choice.action, AG_BOOK_LAUNCH);
        EXPECT(choice.instance == instances[k]);
        EQUAL(choice.differing, 0);
    }
    EQUAL(the.built, 6);
    tear_down();
}

/* Records of all sizes, none included: changing any selection of ops lists exactly these, in order. */
static void changed_records_are_listed_exactly(void)
{
    static unsigned char records[AG_CHUNK_MAX * 40];
    set_up();
    uint32_t offset = 0, offsets[AG_CHUNK_MAX];
    for (uint32_t i = 0; i < AG_CHUNK_MAX; i++) {
        offsets[i] = offset;
        the.tokens[i] = token_of(1000 + i, i % 6 * 8);
        offset += the.tokens[i]->record_size;
    }
    memset(records, 0, sizeof records);
    step_at(0, AG_CHUNK_MAX, records);
    struct ag_book_choice choice = step_at(0, AG_CHUNK_MAX, records);
    EQUAL(choice.action, AG_BOOK_BUILD);
    EQUAL(choice.chunk->records_size, offset);
    uint64_t seed = 3;
    for (unsigned round = 0; round < 300; round++) {
        uint8_t want[AG_CHUNK_MAX];
        unsigned wanted = 0;
        uint64_t one = round % AG_CHUNK_MAX, some = unit_random(&seed);
        for (unsigned i = 0; i < AG_CHUNK_MAX; i++) {
            uint32_t size = the.tokens[i]->record_size;
            if (size == 0 || !(round < AG_CHUNK_MAX ? i == one : (some >> i & 1) != 0))
                continue;
            records[offsets[i] + unit_random(&seed) % size] ^= (unsigned char)(1u << unit_random(&seed) % 8);
            want[wanted++] = (uint8_t)i;
        }
        choice = step_at(0, AG_CHUNK_MAX, records);
        if (choice.action == AG_BOOK_BUILD)
            continue;
        EQUAL(choice.differing, wanted);
        EXPECT(memcmp(choice.differs, want, wanted) == 0);
        /* the image now holds what was asked for */
        EQUAL(step_at(0, AG_CHUNK_MAX, records).differing, 0);
    }
    EQUAL(the.built, 1);
    tear_down();
}

/* Two instances hold the same records: without a hint the one that was used longer ago is taken, with it the one that
 * followed the last time. */
static void the_follower_is_tried_first(void)
{
    set_up();
    struct ag_instance *a = add(known_chunk(0), set_of(1));
    struct ag_chunk *chunk = known_chunk(LENGTH);
    struct ag_instance *b = add(chunk, set_of(2)), *twin = add(chunk, set_of(2));
    struct ag_book_choice choice;
    the.book.previous = NULL;
    ag_book_used(&the.book, twin);
    the.book.previous = NULL;
    ag_book_used(&the.book, a);
    ag_book_used(&the.book, b);
    EQUAL(a->follower_serial, b->serial);
    EQUAL(a->follower_slot, b->slot);

    the.book.previous = a;
    ag_book_choose(&the.book, the.tokens + LENGTH, LENGTH, set_of(2), &choice);
    EQUAL(choice.action, AG_BOOK_LAUNCH);
    EXPECT(choice.instance == b);
    EQUAL(choice.differing, 0);

    the.book.previous = NULL;
    ag_book_choose(&the.book, the.tokens + LENGTH, LENGTH, set_of(2), &choice);
    EXPECT(choice.instance == twin);

    /* other tokens or other records than expected: looked up as ever */
    the.book.previous = a;
    ag_book_choose(&the.book, the.tokens, LENGTH, set_of(1), &choice);
    EXPECT(choice.instance == a);
    EQUAL(choice.differing, 0);
    struct ag_instance *other = add(chunk, set_of(3));
    ag_book_choose(&the.book, the.tokens + LENGTH, LENGTH, set_of(3), &choice);
    EXPECT(choice.instance == other);
    EQUAL(choice.differing, 0);
    tear_down();
}

static void a_stale_hint_is_not_followed(void)
{
    set_up();
    struct ag_instance *a = add(known_chunk(0), set_of(1));
    struct ag_chunk *chunk = known_chunk(LENGTH);
    struct ag_instance *b = add(chunk, set_of(2)), *twin = add(chunk, set_of(2));
    struct ag_book_choice choice;
    ag_book_used(&the.book, twin);
    the.book.previous = NULL;
    ag_book_used(&the.book, a);
    ag_book_used(&the.book, b);
    uint32_t slot = b->slot;
    ag_book_drop(&the.book, b);
    EXPECT(the.book.previous == NULL);
    the.book.previous = a;
    ag_book_choose(&the.book, the.tokens + LENGTH, LENGTH, set_of(2), &choice);
    EXPECT(choice.instance == twin);

    struct ag_instance *tenant = add(chunk, set_of(2));
    EQUAL(tenant->slot, slot);
    the.book.previous = NULL;
    ag_book_used(&the.book, tenant);
    the.book.previous = a;
    ag_book_choose(&the.book, the.tokens + LENGTH, LENGTH, set_of(2), &choice);
    EXPECT(choice.instance == twin);
    tear_down();
}

/* ---- instances of their own ---- */

/* Rotates through `sets` argument sets until nothing is patched any more; returns how many nodes were patched. */
static unsigned patched_in_rotation(unsigned sets, unsigned rounds)
{
    unsigned patched = 0;
    for (unsigned i = 0; i < rounds * sets; i++) {
        struct ag_book_choice choice = step(set_of(i % sets + 1));
        patched += choice.action == AG_BOOK_LAUNCH ? choice.differing : 0;
    }
    return patched;
}

static void recurring_sets_get_instances_of_their_own(void)
{
    for (unsigned sets = 2; sets <= 5; sets++) {
        set_up();
        EXPECT(patched_in_rotation(sets, 1 + the.book.params.build_after) > 0);
        patched_in_rotation(sets, 30);
        EQUAL(the.book.instance_count, sets);
        EQUAL(patched_in_rotation(sets, 20), 0);
        EQUAL(the.built, sets);
        tear_down();
    }
}

static void admission_sets_the_price_of_an_instance(void)
{
    unsigned patched[3];
    for (unsigned i = 0; i < 3; i++) {
        struct ag_book_params params = ag_book_defaults();
        params.advance = params.learning_us = params.later = 0;
        params.admission = 0.25 * (1 << i);
        set_up_with(&params);
        patched[i] = patched_in_rotation(2, 60);
        EQUAL(the.book.instance_count, 2);
        /* both sets share the bill: never much beyond twice the price of the second instance, and one look each */
        EXPECT(patched[i] * params.patch_us <= 2 * params.admission * params.build_us * LENGTH + 4 * LENGTH);
        tear_down();
    }
    EXPECT(patched[0] < patched[1] && patched[1] < patched[2]);
}

static void sets_that_never_come_back_are_only_patched(void)
{
    set_up();
    for (unsigned i = 0; i < 1000; i++)
        step(set_of(i + 1));
    EQUAL(the.book.instance_count, 1);
    EQUAL(the.built, 1);
    tear_down();
}

static void ghosts_are_bounded(void)
{
    set_up();
    struct ag_chunk *chunk = known_chunk(0);
    add(chunk, set_of(1));
    size_t before = the.book.host_bytes;
    for (unsigned i = 0; i < 1000; i++) {
        step(set_of(i + 2));
        EXPECT(the.book.host_bytes <= before + AG_BOOK_GHOSTS * (sizeof(struct ag_ghost) + LENGTH * sizeof(uint32_t)));
    }
    EXPECT(the.book.host_bytes > before);
    tear_down();
}

/* Two sets in turn that only instance 0 is near to earn an instance when there is room for one. */
static void instances_are_bounded(void)
{
    for (unsigned count = AG_BOOK_INSTANCES - 1; count <= AG_BOOK_INSTANCES; count++) {
        set_up();
        struct ag_chunk *chunk = known_chunk(0);
        struct ag_instance *instances[AG_BOOK_INSTANCES];
        for (unsigned i = 0; i < count; i++) {
            instances[i] = add(chunk, set_of(i + 1));
            ag_book_used(&the.book, instances[i]);
        }
        unsigned char near[2][BYTES];
        for (unsigned k = 0; k < 2; k++) {
            memcpy(near[k], set_of(1), BYTES);
            for (unsigned i = 0; i < LENGTH / 2; i++)
                near[k][i * RECORD] ^= (unsigned char)(1 + k);
        }
        struct ag_book_choice choice;
        unsigned i = 0;
        do {
            ag_book_choose(&the.book, the.tokens, LENGTH, near[i % 2], &choice);
            EXPECT(choice.chunk->instance_count <= AG_BOOK_INSTANCES);
            if (choice.action == AG_BOOK_BUILD || choice.instance != instances[0])
                break;
            carry_out(&choice, near[i % 2]);
        } while (++i < 200);
        EXPECT(i > 2 && i < 200);
        if (count < AG_BOOK_INSTANCES) {
            EQUAL(choice.action, AG_BOOK_BUILD);
        } else {
            /* no room: the instance that was used longest ago gives up its records */
            EQUAL(choice.action, AG_BOOK_LAUNCH);
            EXPECT(choice.instance == instances[1]);
            EQUAL(choice.differing, LENGTH);
        }
        carry_out(&choice, near[i % 2]);
        for (unsigned k = 0; k < 200; k++)
            EQUAL(step(near[k % 2]).differing, 0);
        EQUAL(the.book.instance_count, AG_BOOK_INSTANCES);
        tear_down();
    }
}

/* ---- memory ---- */

static const struct unit_case cases[] = {
        {"a chunk is first eager, then built, then launched", first_eager_then_built_then_launched},
        {"short chunks wait until an instance would have paid", short_chunks_wait_until_an_instance_would_have_paid},
        {"an instance that costs more than its ops is not launched",
         an_instance_that_costs_more_than_its_ops_is_not_launched},
        {"learning counts as a sighting", learning_counts_as_a_sighting},
        {"a prefix is another chunk", a_prefix_is_another_chunk},
        {"a sweep drops the chunks with marked tokens", a_sweep_drops_the_chunks_with_marked_tokens},
        {"refused chunks are hardly ever tried", refused_chunks_are_hardly_ever_tried},
        {"a refusal that passes does not cost replay for good", a_refusal_that_passes_does_not_cost_replay_for_good},
        {"one instance that cannot be patched is replaced at once",
         one_instance_that_cannot_be_patched_is_replaced_at_once},
        {"an exact match patches nothing", an_exact_match_patches_nothing},
        {"changed records are listed exactly", changed_records_are_listed_exactly},
        {"the follower is tried first", the_follower_is_tried_first},
        {"a stale hint is not followed", a_stale_hint_is_not_followed},
        {"recurring sets get instances of their own", recurring_sets_get_instances_of_their_own},
        {"admission sets the price of an instance", admission_sets_the_price_of_an_instance},
        {"sets that never come back are only patched", sets_that_never_come_back_are_only_patched},
        {"ghosts are bounded", ghosts_are_bounded},
        {"instances are bounded", instances_are_bounded},
};
UNIT_MAIN(cases)
