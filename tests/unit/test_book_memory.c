/* The book: what it forgets, that nothing is lost or released twice, and that its memory is bounded. */
#include "tests/unit/book.h"

static void eviction_takes_the_least_recently_used(void)
{
    set_up();
    struct ag_chunk *chunk = known_chunk(0), *other = known_chunk(LENGTH);
    struct ag_instance *a = add(chunk, set_of(1)), *b = add(other, set_of(1)), *c = add(chunk, set_of(2));
    struct exec *of_a = a->exec, *of_b = b->exec, *of_c = c->exec;
    ag_book_used(&the.book, b);
    ag_book_used(&the.book, c);
    ag_book_used(&the.book, a);
    EXPECT(ag_book_evict(&the.book, NULL));
    EXPECT(of_b->released == 1 && of_a->released == 0 && of_c->released == 0);
    EXPECT(ag_book_evict(&the.book, c));
    EXPECT(of_a->released == 1 && of_c->released == 0);
    EXPECT(!ag_book_evict(&the.book, c));
    EQUAL(of_c->released, 0);
    EQUAL(the.book.device_bytes, DEVICE_BYTES);
    EXPECT(ag_book_evict(&the.book, NULL));
    EQUAL(of_c->released, 1);
    EXPECT(!ag_book_evict(&the.book, NULL));
    EQUAL(the.book.device_bytes, 0);
    tear_down();
}

static void chunks_outlive_their_instances(void)
{
    set_up();
    for (unsigned i = 0; i < 2; i++)
        for (unsigned first = 0; first < 20; first++)
            step_at(first, LENGTH, set_of(1));
    EQUAL(the.book.instance_count, 20);
    ag_book_drop_instances(&the.book);
    EQUAL(the.book.instance_count, 0);
    EQUAL(the.released, 20);
    EQUAL(the.book.chunk_count, 20);
    EXPECT(the.book.previous == NULL);
    for (unsigned first = 0; first < 20; first++)
        EQUAL(step_at(first, LENGTH, set_of(1)).action, AG_BOOK_BUILD);
    tear_down();
}

static bool is(const struct ag_token *token, const void *what)
{
    return token == what;
}

static void instances_with_a_marked_token_go_and_nothing_else(void)
{
    set_up();
    struct ag_chunk *without = known_chunk(0), *with = known_chunk(4);
    struct ag_instance *stays = add(without, set_of(1)), *goes[] = {add(with, set_of(1)), add(with, set_of(2))};
    struct exec *of_stays = stays->exec, *of_goes[] = {goes[0]->exec, goes[1]->exec};
    ag_book_used(&the.book, goes[1]);
    EQUAL(ag_token_mark(&the.table, is, the.tokens[LENGTH + 3]), 1);
    ag_book_sweep(&the.book, false);
    EXPECT(of_goes[0]->released == 1 && of_goes[1]->released == 1 && of_stays->released == 0);
    EXPECT(with->instance_count == 0 && without->instances == stays);
    EQUAL(the.book.instance_count, 1);
    EXPECT(the.book.previous == NULL);
    EQUAL(step_at(4, LENGTH, set_of(1)).action, AG_BOOK_BUILD);
    EQUAL(step_at(0, LENGTH, set_of(1)).action, AG_BOOK_LAUNCH);
    tear_down();
}

static void every_exec_is_released_once(void)
{
    struct ag_book_params params = ag_book_defaults();
    params.advance = params.learning_us = params.later = 0;
    params.max_bytes = 100000;
    set_up_with(&params);
    uint64_t seed = 11;
    for (unsigned i = 0; i < 50000 && the.built < EXECS_MAX - 1; i++) {
        uint64_t dice = unit_random(&seed);
        unsigned first = (unsigned)(dice % 56);
        struct ag_book_choice choice = step_at(first, 1 + (unsigned)(dice >> 8) % LENGTH, set_of(dice >> 16 & 3));
        if (choice.instance != NULL && (dice >> 24) % 16 == 0)
            ag_book_drop(&the.book, choice.instance);
        else if ((dice >> 24) % 16 == 1)
            ag_book_evict(&the.book, choice.instance);
        if (dice >> 32 == 0 || i % 5000 == 4999)
            ag_book_drop_instances(&the.book);
        EQUAL(the.book.instance_count, the.built - the.released);
        EQUAL(the.book.device_bytes, (size_t)the.book.instance_count * DEVICE_BYTES);
    }
    EXPECT(the.released > 1000);
    tear_down();
}

static void a_cleared_book_can_be_used_again(void)
{
    set_up();
    for (unsigned round = 0; round < 3; round++) {
        EQUAL(step(set_of(1)).action, AG_BOOK_EAGER);
        EQUAL(step(set_of(1)).action, AG_BOOK_BUILD);
        for (unsigned i = 0; i < 40; i++)
            step(set_of(i));
        EXPECT(the.book.host_bytes > 0);
        ag_book_clear(&the.book);
        EQUAL(the.book.host_bytes, 0);
        EQUAL(the.book.chunk_count, 0);
    }
    tear_down();
}

/* Thousands of chunks, each with an instance: the bound is exceeded by no more than the one that was added last. */
static void memory_is_bounded(void)
{
    struct ag_book_params params = ag_book_defaults();
    params.advance = params.learning_us = params.later = 0;
    params.max_bytes = (size_t)256 << 10;
    set_up_with(&params);
    size_t one = sizeof(struct ag_chunk) + LENGTH * sizeof(void *) + sizeof(struct ag_instance) +
                 LENGTH * sizeof(uint32_t) + BYTES;
    const struct ag_token *hot[LENGTH], *first[LENGTH], *last[LENGTH];
    memcpy(hot, the.tokens + 40, sizeof hot);
    for (unsigned i = 0; i < 5000; i++) {
        for (unsigned k = 0; k < LENGTH; k++)
            last[k] = the.tokens[i >> 4 * (k % 4) & 15];
        if (i == 0)
            memcpy(first, last, sizeof first);
        memcpy(the.tokens + 48, last, sizeof last);
        EQUAL(step_at(48, LENGTH, set_of(i)).action, AG_BOOK_EAGER);
        EQUAL(step_at(48, LENGTH, set_of(i)).action, AG_BOOK_BUILD);
        EXPECT(the.book.host_bytes <= params.max_bytes + one);
        /* what is used often stays */
        memcpy(the.tokens + 48, hot, sizeof hot);
        EQUAL(step_at(48, LENGTH, set_of(7)).action, i == 0 ? AG_BOOK_EAGER : i == 1 ? AG_BOOK_BUILD : AG_BOOK_LAUNCH);
    }
    EXPECT(the.book.chunk_count > 100 && the.book.chunk_count < 1000);
    EXPECT(the.book.host_bytes > params.max_bytes / 2);
    EXPECT(the.released > 4000);
    memcpy(the.tokens + 48, last, sizeof last);
    EQUAL(step_at(48, LENGTH, set_of(1)).action, AG_BOOK_LAUNCH);
    memcpy(the.tokens + 48, first, sizeof first);
    EQUAL(step_at(48, LENGTH, set_of(1)).action, AG_BOOK_EAGER);
    tear_down();
}

/* Instances that are dropped in the order of their use leave free slots below the last one: all must be used again. */
static void dropped_slots_are_used_again(void)
{
    set_up();
    unsigned char records[BYTES] = {0};
    struct ag_book_choice choice;
    ag_book_choose(&the.book, the.tokens, LENGTH, records, &choice);
    for (unsigned round = 0; round < 500; round++) {
        for (unsigned i = 0; i < 20; i++)
            EXPECT(add(choice.chunk, records) != NULL);
        ag_book_drop_instances(&the.book);
    }
    EQUAL(the.book.slot_count, 64);
    tear_down();
}

/* Chunks of each length, with an instance and as many remembered sets of arguments as there can be. */
static void a_known_op_costs_little_beyond_its_arguments(void)
{
    for (unsigned length = 2; length <= LENGTH; length++) {
        set_up();
        struct ag_chunk *chunk = NULL;
        for (unsigned i = 0; i < 100; i++)
            chunk = step_at(0, length, set_of(i)).chunk;
        if (chunk->instances == NULL)
            add(chunk, set_of(0));
        EXPECT(chunk->ghost_count == (2 * length < AG_BOOK_GHOSTS ? 2 * length : AG_BOOK_GHOSTS));
        size_t records = (size_t)chunk->instance_count * chunk->records_size;
        /* the owner's, for each instance (struct ag_exec): 32 bytes and a node's handle for each op */
        size_t execs = chunk->instance_count * (32 + length * sizeof(void *));
        EXPECT(the.book.host_bytes > records);
        EXPECT((the.book.host_bytes - records + execs) / length <= 256 * chunk->instance_count);
        tear_down();
    }
}

/* What its kind costs, once: the token; the owner adds a struct ag_site. */
static void a_token_is_small(void)
{
    struct ag_token_table table = {0};
    unsigned char key[24] = {0};
    for (unsigned i = 0; i < 100; i++) {
        memcpy(key, &i, sizeof i);
        EXPECT(ag_token_intern(&table, AG_OP_KERNEL, key, sizeof key, 64, NULL) != NULL);
    }
    EXPECT(table.bytes / 100 <= 128);
    ag_token_clear(&table, NULL);
}

static const struct unit_case cases[] = {
        {"eviction takes the least recently used", eviction_takes_the_least_recently_used},
        {"chunks outlive their instances", chunks_outlive_their_instances},
        {"instances with a marked token go, and nothing else", instances_with_a_marked_token_go_and_nothing_else},
        {"every exec is released once", every_exec_is_released_once},
        {"a cleared book can be used again", a_cleared_book_can_be_used_again},
        {"dropped slots are used again", dropped_slots_are_used_again},
        {"memory is bounded with thousands of chunks", memory_is_bounded},
        {"a known op costs little beyond its arguments", a_known_op_costs_little_beyond_its_arguments},
        {"a token is small", a_token_is_small},
};
UNIT_MAIN(cases)
