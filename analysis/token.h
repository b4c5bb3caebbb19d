/* Tokens: the identities of ops, interned.
 *
 * Knows how to give equal identities the same token. What an identity consists of is its caller's business: it is a
 * string of bytes. Thread rule: one thread at a time for each table.
 */
#ifndef AG_ANALYSIS_TOKEN_H
#define AG_ANALYSIS_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uthash.h>

#include "analysis/op.h"

struct ag_token {
    uint64_t mix;         /* for rolling hashes: a hash of the identity, until the caller knows a better one */
    uint32_t record_size; /* bytes of a record of this token, a multiple of AG_RECORD_ALIGN */
    uint16_t kind;        /* enum ag_op_kind */
    uint16_t key_size;
    uint32_t id; /* dense, from 0, within the table */
    bool dead;   /* marked, to be swept */
    void *user;  /* the caller's; NULL at first */
    UT_hash_handle hh;
    unsigned char key[];
};

struct ag_token_table {
    struct ag_token *tokens;
    uint32_t next_id;
    size_t bytes; /* host memory of all tokens */
};

/* The token of an identity, made when it is new (*is_new tells; may be NULL). kind is part of the identity.
 * The table owns the token. Returns NULL when memory is short. */
struct ag_token *ag_token_intern(struct ag_token_table *table, enum ag_op_kind kind, const void *key, size_t key_size,
                                 uint32_t record_size, int *is_new);

/* A mix that is the same in every process, wherever its code lies, so that cuts do not depend on that: of a kernel's
 * name, block shape and attributes (id and first value of each, one after the other)... */
uint64_t ag_token_kernel_mix(const char *name, const uint32_t block[3], const uint32_t *attributes, unsigned count);

/* ... and of a memset (bytes of its element) or a copy (whether its source is host memory). */
uint64_t ag_token_transfer_mix(enum ag_op_kind kind, uint32_t element, int from_host);

/* The token of an identity, NULL when it has none. */
struct ag_token *ag_token_find(const struct ag_token_table *table, enum ag_op_kind kind, const void *key,
                               size_t key_size);

/* Marks the tokens whose identity ends, as `ends` tells of each; returns how many. They are still the table's: whoever
 * refers to one lets go of it first, then ag_token_sweep() frees them. */
unsigned ag_token_mark(struct ag_token_table *table, bool (*ends)(const struct ag_token *token, const void *what),
                       const void *what);

/* Frees the marked tokens; release as for ag_token_clear(). */
void ag_token_sweep(struct ag_token_table *table, void (*release)(void *user));

/* Frees every token; release, when not NULL, is called for each token's user pointer first. */
void ag_token_clear(struct ag_token_table *table, void (*release)(void *user));

#endif
