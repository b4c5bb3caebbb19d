#include "analysis/token.h"

#include <stdlib.h>
#include <string.h>

uint64_t ag_hash_bytes(const void *bytes, size_t size)
{
    const unsigned char *p = bytes;
    uint64_t h = 0x9e3779b97f4a7c15u ^ size;
    while (size >= 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        h = (h ^ word) * 0x9fb21c651e98df25u;
        h ^= h >> 32;
        p += 8;
        size -= 8;
    }
    if (size > 0) {
        uint64_t word = 0;
        memcpy(&word, p, size);
        h = (h ^ word) * 0x9fb21c651e98df25u;
        h ^= h >> 32;
    }
    return ag_mix64(h);
}

struct ag_token *ag_token_intern(struct ag_token_table *table, enum ag_op_kind kind, const void *key, size_t key_size,
                                 uint32_t record_size, int *is_new)
{
    enum { kind_size = sizeof(uint16_t) };
    uint16_t kind16 = (uint16_t)kind;
    unsigned char full[kind_size + 512];
    if (is_new != NULL)
        *is_new = 0;
    if (key_size > sizeof full - kind_size)
        return NULL;
    memcpy(full, &kind16, kind_size);
    memcpy(full + kind_size, key, key_size);

    struct ag_token *token;
    HASH_FIND(hh, table->tokens, full, kind_size + key_size, token);
    if (token != NULL)
        return token;
    token = calloc(1, sizeof *token + kind_size + key_size);
    if (token == NULL)
        return NULL;
    token->mix = ag_hash_bytes(full, kind_size + key_size);
    token->record_size = record_size;
    token->kind = kind16;
    token->key_size = (uint16_t)(kind_size + key_size);
    token->id = table->next_id++;
    memcpy(token->key, full, kind_size + key_size);
    HASH_ADD_KEYPTR(hh, table->tokens, token->key, token->key_size, token);
    table->bytes += sizeof *token + token->key_size;
    if (is_new != NULL)
        *is_new = 1;
    return token;
}

void ag_token_clear(struct ag_token_table *table, void (*release)(void *user))
{
    struct ag_token *token, *next;
    HASH_ITER(hh, table->tokens, token, next)
    {
        HASH_DEL(table->tokens, token);
        if (release != NULL && token->user != NULL)
            release(token->user);
        free(token);
    }
    table->bytes = 0;
}
