/* A chunk book with an owner that builds, patches and launches as it is told: shared by the tests of the book. */
#ifndef AG_TESTS_UNIT_BOOK_H
#define AG_TESTS_UNIT_BOOK_H

#include "analysis/book.h"
#include "tests/unit/unit.h"

#include <string.h>

#define LENGTH 8  /* ops of the usual chunk */
#define RECORD 16 /* bytes of each of its records */
#define BYTES (LENGTH * RECORD)
#define DEVICE_BYTES 1000
#define EXECS_MAX 40000

/* What stands for an executable graph, and how often the book released it. */
struct exec {
    unsigned released;
};

/* A book with its owner: builds, patches and launches as it is told. */
static struct {
    struct ag_token_table table;
    struct ag_book book;
    struct exec execs[EXECS_MAX];
    unsigned built, released;
    const struct ag_token *tokens[64];
} the;

static __attribute__((unused)) void release(void *owner, void *exec)
{
    EXPECT(owner == &the);
    ((struct exec *)exec)->released++;
    the.released++;
}

static __attribute__((unused)) const struct ag_token *token_of(uint32_t identity, uint32_t record_size)
{
    return ag_token_intern(&the.table, AG_OP_KERNEL, &identity, sizeof identity, record_size, NULL);
}

static __attribute__((unused)) void set_up_with(const struct ag_book_params *params)
{
    memset(&the, 0, sizeof the);
    ag_book_init(&the.book, params, release, &the);
    for (uint32_t i = 0; i < 64; i++)
        the.tokens[i] = token_of(i, RECORD);
}

/* The usual parameters, but nothing is built ahead: what is built follows from the chunk's own history. */
static __attribute__((unused)) void set_up(void)
{
    struct ag_book_params params = ag_book_defaults();
    params.advance = params.learning_us = params.later = 0;
    set_up_with(&params);
}

/* Clears the book: every exec must have been released once by now. */
static __attribute__((unused)) void tear_down(void)
{
    ag_book_clear(&the.book);
    EQUAL(the.released, the.built);
    for (unsigned i = 0; i < the.built; i++)
        EQUAL(the.execs[i].released, 1);
    EQUAL(the.book.host_bytes, 0);
    EQUAL(the.book.device_bytes, 0);
    EQUAL(the.book.chunk_count, 0);
    EQUAL(the.book.instance_count, 0);
    EXPECT(the.book.chunks == NULL && the.book.previous == NULL && the.book.slots == NULL);
    EXPECT(the.book.oldest == NULL && the.book.newest == NULL);
    EXPECT(the.book.oldest_chunk == NULL && the.book.newest_chunk == NULL);
    ag_token_clear(&the.table, NULL);
}

static __attribute__((unused)) struct ag_instance *add(struct ag_chunk *chunk, const unsigned char *records)
{
    return ag_book_add(&the.book, chunk, records, &the.execs[the.built++], DEVICE_BYTES);
}

/* Carries a choice out. */
static __attribute__((unused)) struct ag_instance *carry_out(struct ag_book_choice *choice,
                                                             const unsigned char *records)
{
    struct ag_instance *instance = choice->instance;
    if (choice->action == AG_BOOK_EAGER)
        return NULL;
    if (choice->action == AG_BOOK_BUILD)
        instance = add(choice->chunk, records);
    else
        ag_book_patched(instance, choice, records);
    EXPECT(memcmp(instance->records, records, instance->chunk->records_size) == 0);
    ag_book_used(&the.book, instance);
    return instance;
}

/* Asks for the chunk of `length` tokens from tokens[first] and carries the answer out. */
static __attribute__((unused)) struct ag_book_choice step_at(unsigned first, unsigned length,
                                                             const unsigned char *records)
{
    struct ag_book_choice choice;
    ag_book_choose(&the.book, the.tokens + first, length, records, &choice);
    if (EXPECT(choice.chunk != NULL))
        choice.instance = carry_out(&choice, records);
    return choice;
}

static __attribute__((unused)) struct ag_book_choice step(const unsigned char *records)
{
    return step_at(0, LENGTH, records);
}

/* A set of records that differs from every other set in every op. */
static __attribute__((unused)) const unsigned char *set_of(uint64_t number)
{
    static unsigned char records[4][BYTES];
    static unsigned turn;
    unsigned char *set = records[turn++ % 4];
    uint64_t state = number;
    for (unsigned i = 0; i < BYTES; i += 8) {
        uint64_t word = unit_random(&state);
        memcpy(set + i, &word, 8);
    }
    return set;
}

/* The usual chunk, seen often enough, without instances. */
static __attribute__((unused)) struct ag_chunk *known_chunk(unsigned first)
{
    struct ag_book_choice choice;
    for (unsigned i = 0; i < the.book.params.build_after; i++)
        ag_book_learn(&the.book, the.tokens + first, LENGTH);
    ag_book_choose(&the.book, the.tokens + first, LENGTH, set_of(0), &choice);
    EQUAL(choice.action, AG_BOOK_BUILD);
    return choice.chunk;
}

#endif
