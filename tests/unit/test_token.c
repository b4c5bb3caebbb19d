/* Tokens and the helpers of op.h: equal identities are one token, everything else is another. */
#include "analysis/token.h"
#include "tests/unit/unit.h"

#include <string.h>

#define MANY 5000

static void equal_identities_are_one_token(void)
{
    struct ag_token_table table = {0};
    char key[] = "function, attributes, block";
    int first_new = -1, second_new = -1;
    struct ag_token *first = ag_token_intern(&table, AG_OP_KERNEL, key, sizeof key, 24, &first_new);
    char same[sizeof key];
    memcpy(same, key, sizeof key);
    memset(key, 0, sizeof key); /* the table keeps its own copy */
    struct ag_token *second = ag_token_intern(&table, AG_OP_KERNEL, same, sizeof same, 24, &second_new);
    EXPECT(first != NULL);
    if (first == NULL)
        return;
    EXPECT(first == second);
    EQUAL(first_new, 1);
    EQUAL(second_new, 0);
    EXPECT(first == ag_token_intern(&table, AG_OP_KERNEL, same, sizeof same, 24, NULL));
    EQUAL(table.next_id, 1);
    EQUAL(first->record_size, 24);
    EQUAL(first->kind, AG_OP_KERNEL);
    EXPECT(first->user == NULL);
    ag_token_clear(&table, NULL);
}

static void different_identities_are_different_tokens(void)
{
    struct ag_token_table table = {0};
    const char zeros[4] = {0}, last[4] = {0, 0, 0, 1}, first[4] = {1, 0, 0, 0};
    struct ag_token *tokens[] = {
            ag_token_intern(&table, AG_OP_KERNEL, zeros, 4, 8, NULL),
            ag_token_intern(&table, AG_OP_KERNEL, last, 4, 8, NULL),
            ag_token_intern(&table, AG_OP_KERNEL, first, 4, 8, NULL),
            ag_token_intern(&table, AG_OP_KERNEL, zeros, 3, 8, NULL),
            ag_token_intern(&table, AG_OP_KERNEL, zeros, 0, 8, NULL),
    };
    enum { count = sizeof tokens / sizeof tokens[0] };
    for (unsigned i = 0; i < count; i++)
        for (unsigned k = 0; k < i; k++) {
            EXPECT(tokens[i] != tokens[k]);
            EXPECT(tokens[i]->mix != tokens[k]->mix);
            EXPECT(tokens[i]->id != tokens[k]->id);
        }
    ag_token_clear(&table, NULL);
}

static unsigned users_released;

static void release_user(void *user)
{
    users_released += *(unsigned *)user;
}

/* Ends every so manieth. */
static bool is_multiple(const struct ag_token *token, const void *of)
{
    return token->id % *(const unsigned *)of == 0;
}

static void marked_tokens_are_swept(void)
{
    struct ag_token_table table = {0};
    unsigned one = 1, three = 3;
    for (unsigned i = 0; i < 30; i++)
        ag_token_intern(&table, AG_OP_KERNEL, &i, sizeof i, 8, NULL)->user = i < 15 ? &one : NULL;
    size_t bytes = table.bytes;
    users_released = 0;
    EQUAL(ag_token_mark(&table, is_multiple, &three), 10);
    EQUAL(table.bytes, bytes);
    ag_token_sweep(&table, release_user);
    EQUAL(users_released, 5);
    EQUAL(table.bytes, bytes / 30 * 20);
    for (unsigned i = 0; i < 30; i++)
        EXPECT((ag_token_find(&table, AG_OP_KERNEL, &i, sizeof i) == NULL) == (i % 3 == 0));
    /* a mark does not stay: the next marking decides anew */
    unsigned seven = 7, six = 6;
    ag_token_mark(&table, is_multiple, &seven);
    EQUAL(ag_token_mark(&table, is_multiple, &six), 0);
    ag_token_sweep(&table, release_user);
    unsigned seventh = 7;
    EXPECT(ag_token_find(&table, AG_OP_KERNEL, &seventh, sizeof seventh) != NULL);
    ag_token_clear(&table, release_user);
    EQUAL(table.bytes, 0);
    EQUAL(users_released, 15);
}

static void kind_is_part_of_the_identity(void)
{
    struct ag_token_table table = {0};
    struct ag_token *kernel = ag_token_intern(&table, AG_OP_KERNEL, "same", 4, 8, NULL);
    struct ag_token *set = ag_token_intern(&table, AG_OP_MEMSET, "same", 4, 8, NULL);
    struct ag_token *copy = ag_token_intern(&table, AG_OP_COPY, "same", 4, 8, NULL);
    EXPECT(kernel != set && set != copy && kernel != copy);
    EXPECT(kernel->mix != set->mix && set->mix != copy->mix && kernel->mix != copy->mix);
    EQUAL(set->kind, AG_OP_MEMSET);
    EQUAL(copy->kind, AG_OP_COPY);
    EXPECT(set == ag_token_intern(&table, AG_OP_MEMSET, "same", 4, 8, NULL));
    ag_token_clear(&table, NULL);
}

static void many_tokens_keep_their_places(void)
{
    static struct ag_token *tokens[MANY];
    struct ag_token_table table = {0};
    size_t bytes = 0;
    for (uint32_t i = 0; i < MANY; i++) {
        int is_new;
        tokens[i] = ag_token_intern(&table, (enum ag_op_kind)(i % 3), &i, sizeof i, 8, &is_new);
        EQUAL(is_new, 1);
        EQUAL(tokens[i]->id, i);
        EXPECT(table.bytes > bytes);
        bytes = table.bytes;
    }
    for (uint32_t i = 0; i < MANY; i++) {
        int is_new;
        EXPECT(tokens[i] == ag_token_intern(&table, (enum ag_op_kind)(i % 3), &i, sizeof i, 8, &is_new));
        EQUAL(is_new, 0);
    }
    EQUAL(table.next_id, MANY);
    EQUAL(table.bytes, bytes);
    ag_token_clear(&table, NULL);
}

static void too_long_an_identity_is_refused(void)
{
    struct ag_token_table table = {0};
    static const char key[513];
    int is_new = -1;
    EXPECT(ag_token_intern(&table, AG_OP_KERNEL, key, 513, 8, &is_new) == NULL);
    EQUAL(is_new, 0);
    EXPECT(table.tokens == NULL);
    EQUAL(table.bytes, 0);
    EXPECT(ag_token_intern(&table, AG_OP_KERNEL, key, 512, 8, &is_new) != NULL);
    EQUAL(is_new, 1);
    ag_token_clear(&table, NULL);
}

static void count_release(void *user)
{
    ++*(int *)user;
}

static void clear_releases_each_user_once(void)
{
    struct ag_token_table table = {0};
    int released[20] = {0};
    for (int i = 0; i < 20; i++) {
        struct ag_token *token = ag_token_intern(&table, AG_OP_KERNEL, &i, sizeof i, 8, NULL);
        if (i % 2 == 0)
            token->user = &released[i];
    }
    ag_token_clear(&table, count_release);
    for (int i = 0; i < 20; i++)
        EQUAL(released[i], i % 2 == 0);
    EXPECT(table.tokens == NULL);
    EQUAL(table.bytes, 0);
    int is_new = 0;
    EXPECT(ag_token_intern(&table, AG_OP_KERNEL, "again", 5, 8, &is_new) != NULL);
    EQUAL(is_new, 1);
    ag_token_clear(&table, count_release);
}

static void hashes_depend_on_every_byte_and_on_the_size(void)
{
    unsigned char bytes[40] = {0};
    for (size_t size = 1; size <= sizeof bytes; size++) {
        uint64_t zero = ag_hash_bytes(bytes, size);
        EXPECT(zero == ag_hash_bytes(bytes, size));
        EXPECT(zero != ag_hash_bytes(bytes, size - 1));
        for (size_t i = 0; i < size; i++)
            for (unsigned bit = 0; bit < 8; bit++) {
                bytes[i] = (unsigned char)(1u << bit);
                EXPECT((uint32_t)zero != (uint32_t)ag_hash_bytes(bytes, size));
                bytes[i] = 0;
            }
    }
}

static void records_are_rounded_up(void)
{
    EQUAL(ag_record_round(0), 0);
    EQUAL(ag_record_round(1), AG_RECORD_ALIGN);
    EQUAL(ag_record_round(AG_RECORD_ALIGN), AG_RECORD_ALIGN);
    EQUAL(ag_record_round(AG_RECORD_ALIGN + 1), 2 * AG_RECORD_ALIGN);
}

static void kernel_mixes_follow_name_block_and_attributes(void)
{
    static const uint32_t block[3] = {32, 4, 1}, other[3] = {32, 1, 4}, attributes[] = {4, 2, 6, 1},
                          swapped[] = {4, 1, 6, 2};
    char name[] = "_Z3addPfi", same[] = "_Z3addPfi";
    uint64_t mix = ag_token_kernel_mix(name, block, attributes, 2);
    EQUAL(ag_token_kernel_mix(same, block, attributes, 2), mix); /* wherever the name lies */
    EXPECT(ag_token_kernel_mix("_Z3addPfj", block, attributes, 2) != mix);
    EXPECT(ag_token_kernel_mix(name, other, attributes, 2) != mix);
    EXPECT(ag_token_kernel_mix(name, block, swapped, 2) != mix);
    EXPECT(ag_token_kernel_mix(name, block, attributes, 1) != mix);
    EXPECT(ag_token_kernel_mix(name, block, NULL, 0) != mix);
}

static void transfer_mixes_follow_what_a_token_is_made_of(void)
{
    uint64_t mixes[] = {ag_token_transfer_mix(AG_OP_MEMSET, 1, 0), ag_token_transfer_mix(AG_OP_MEMSET, 4, 0),
                        ag_token_transfer_mix(AG_OP_COPY, 0, 0), ag_token_transfer_mix(AG_OP_COPY, 0, 1)};
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < i; k++)
            EXPECT(mixes[i] != mixes[k]);
    EQUAL(ag_token_transfer_mix(AG_OP_COPY, 0, 8), mixes[3]);
}

static void a_record_s_hash_sees_its_ends_and_every_line(void)
{
    static unsigned char bytes[8192];
    size_t sizes[] = {8, 512, 520, 600, 1024, 4096, 8192};
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        size_t size = sizes[k];
        uint64_t zero = ag_hash_record(bytes, size);
        EXPECT(zero == ag_hash_record(bytes, size));
        unsigned seen = 0;
        for (size_t i = 0; i < size; i++) {
            bytes[i] ^= 0x40;
            bool differs = zero != ag_hash_record(bytes, size);
            bytes[i] ^= 0x40;
            seen += differs;
            if (size <= 512 || i < 128 || i >= size - 128)
                EXPECT(differs);
        }
        EXPECT(seen * 8 >= size);
        EXPECT(zero != ag_hash_record(bytes, size - 8));
    }
}

static const struct unit_case cases[] = {
        {"equal identities are one token", equal_identities_are_one_token},
        {"different identities are different tokens", different_identities_are_different_tokens},
        {"marked tokens are swept", marked_tokens_are_swept},
        {"the kind is part of the identity", kind_is_part_of_the_identity},
        {"thousands of tokens keep their places, ids are dense", many_tokens_keep_their_places},
        {"too long an identity is refused", too_long_an_identity_is_refused},
        {"clear releases each user pointer once", clear_releases_each_user_once},
        {"hashes depend on every bit and on the size", hashes_depend_on_every_byte_and_on_the_size},
        {"records are rounded up to their alignment", records_are_rounded_up},
        {"mixes of kernels follow name, block and attributes", kernel_mixes_follow_name_block_and_attributes},
        {"mixes of memsets and copies", transfer_mixes_follow_what_a_token_is_made_of},
        {"a record's hash sees its ends and every cache line", a_record_s_hash_sees_its_ends_and_every_line},
};
UNIT_MAIN(cases)
