#include "analysis/token.h"

#include <stdlib.h>
#include <string.h>

static uint64_t load(const unsigned char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

static uint64_t fold(uint64_t h, uint64_t word)
{
    h = (h ^ word) * 0x9fb21c651e98df25u;
    return h ^ (h >> 32);
}

uint64_t ag_hash_bytes(const void *bytes, size_t size)
{
    const unsigned char *p = bytes;
    uint64_t h = 0x9e3779b97f4a7c15u ^ size;
    /* each step waits for its multiplication: long records go through four lanes at once */
    if (size >= 64) {
        uint64_t a = h, b = h + 1, c = h + 2, d = h + 3;
        for (; size >= 32; size -= 32, p += 32) {
            a = fold(a, load(p));
            b = fold(b, load(p + 8));
            c = fold(c, load(p + 16));
            d = fold(d, load(p + 24));
        }
        h = fold(fold(fold(a, b), c), d);
    }
    for (; size >= 8; size -= 8, p += 8)
        h = fold(h, load(p));
    if (size > 0) {
        uint64_t word = 0;
        memcpy(&word, p, size);
        h = fold(h, word);
    }
    return ag_mix64(h);
}

/* A record larger than this is sampled: whole at both ends, one word of each cache line between. */
#define SAMPLED 512u
#define SAMPLED_END 128u
#define SAMPLED_STEP 64u

uint64_t ag_hash_record(const void *bytes, size_t size)
{
    if (size <= SAMPLED)
        return ag_hash_bytes(bytes, size);
    const unsigned char *p = bytes;
    uint64_t a = ag_hash_bytes(p, SAMPLED_END), b = ag_hash_bytes(p + size - SAMPLED_END, SAMPLED_END) + size;
    for (size_t at = SAMPLED_END; at + 2 * SAMPLED_STEP + 8 <= size - SAMPLED_END; at += 2 * SAMPLED_STEP) {
        a = fold(a, load(p + at));
        b = fold(b, load(p + at + SAMPLED_STEP));
    }
    return ag_mix64(fold(a, b));
}

static uint64_t mix_add(uint64_t mix, uint64_t value)
{
    return ag_mix64((mix ^ value) * 0x9fb21c651e98df25u);
}

uint64_t ag_token_kernel_mix(const char *name, const uint32_t block[3], const uint32_t *attributes, unsigned count)
{
    uint64_t mix = mix_add(ag_hash_bytes(name, strlen(name)), AG_OP_KERNEL);
    for (int i = 0; i < 3; i++)
        mix = mix_add(mix, block[i]);
    for (unsigned i = 0; i < 2 * count; i++)
        mix = mix_add(mix, attributes[i]);
    return mix;
}

uint64_t ag_token_transfer_mix(enum ag_op_kind kind, uint32_t element, int from_host)
{
    return mix_add(mix_add(kind, element), from_host != 0);
}

/* An identity as it is stored: the kind, then the caller's bytes. */
enum { KIND_SIZE = sizeof(uint16_t), KEY_MAX = 512 };

struct identity {
    size_t size;
    unsigned char bytes[KIND_SIZE + KEY_MAX];
};

static bool identity_make(struct identity *identity, enum ag_op_kind kind, const void *key, size_t key_size)
{
    uint16_t kind16 = (uint16_t)kind;
    if (key_size > KEY_MAX)
        return false;
    memcpy(identity->bytes, &kind16, KIND_SIZE);
    memcpy(identity->bytes + KIND_SIZE, key, key_size);
    identity->size = KIND_SIZE + key_size;
    return true;
}

static struct ag_token *find(const struct ag_token_table *table, const struct identity *identity)
{
    struct ag_token *token;
    HASH_FIND(hh, table->tokens, identity->bytes, identity->size, token);
    return token;
}

struct ag_token *ag_token_find(const struct ag_token_table *table, enum ag_op_kind kind, const void *key,
                               size_t key_size)
{
    struct identity identity;
    return identity_make(&identity, kind, key, key_size) ? find(table, &identity) : NULL;
}

struct ag_token *ag_token_intern(struct ag_token_table *table, enum ag_op_kind kind, const void *key, size_t key_size,
                                 uint32_t record_size, int *is_new)
{
    struct identity identity;
    if (is_new != NULL)
        *is_new = 0;
    if (!identity_make(&identity, kind, key, key_size))
        return NULL;
    struct ag_token *token = find(table, &identity);
    if (token != NULL)
        return token;
    token = calloc(1, sizeof *token + identity.size);
    if (token == NULL)
        return NULL;
    token->mix = ag_hash_bytes(identity.bytes, identity.size);
    token->record_size = record_size;
    token->kind = (uint16_t)kind;
    token->key_size = (uint16_t)identity.size;
    token->id = table->next_id++;
    memcpy(token->key, identity.bytes, identity.size);
    HASH_ADD_KEYPTR(hh, table->tokens, token->key, token->key_size, token);
    table->bytes += sizeof *token + token->key_size;
    if (is_new != NULL)
        *is_new = 1;
    return token;
}

unsigned ag_token_mark(struct ag_token_table *table, bool (*ends)(const struct ag_token *token, const void *what),
                       const void *what)
{
    unsigned marked = 0;
    for (struct ag_token *token = table->tokens; token != NULL; token = token->hh.next) {
        token->dead = ends(token, what);
        marked += token->dead;
    }
    return marked;
}

static void remove_token(struct ag_token_table *table, struct ag_token *token, void (*release)(void *user))
{
    HASH_DEL(table->tokens, token);
    if (release != NULL && token->user != NULL)
        release(token->user);
    table->bytes -= sizeof *token + token->key_size;
    free(token);
}

void ag_token_sweep(struct ag_token_table *table, void (*release)(void *user))
{
    for (struct ag_token *token = table->tokens, *next; token != NULL; token = next) {
        next = token->hh.next;
        if (token->dead)
            remove_token(table, token, release);
    }
}

void ag_token_clear(struct ag_token_table *table, void (*release)(void *user))
{
    for (struct ag_token *token = table->tokens, *next; token != NULL; token = next) {
        next = token->hh.next;
        remove_token(table, token, release);
    }
}
