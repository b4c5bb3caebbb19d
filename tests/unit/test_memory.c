/* Hashes of memory's contents, and the pieces of an allocation. */
#include "analysis/memory.h"
#include "tests/unit/unit.h"

#include <string.h>

static void every_bit_counts(void)
{
    static const size_t sizes[] = {1, 7, 8, 31, 32, 33, 64, 511, 512};
    unsigned char bytes[512];
    uint64_t state = 1;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)unit_random(&state);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        uint64_t hash = ag_memory_hash(0, bytes, sizes[s]);
        size_t lost = 0;
        for (size_t bit = 0; bit < 8 * sizes[s]; bit++) {
            bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
            lost += ag_memory_hash(0, bytes, sizes[s]) == hash;
            bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        }
        EQUAL(lost, 0);
        EXPECT(ag_memory_hash(0, bytes, sizes[s]) == hash);
    }
}

static void order_and_length_count(void)
{
    uint64_t words[64] = {0}, other[64] = {0};
    EXPECT(ag_memory_hash(0, words, 8) != ag_memory_hash(0, words, 16));
    EXPECT(ag_memory_hash(0, words, 0) != ag_memory_hash(0, words, 1));
    /* the same two words, exchanged: in one lane, in two, and between the portions */
    for (unsigned k = 0; k < 63; k++) {
        memset(words, 0, sizeof words);
        memset(other, 0, sizeof other);
        words[k] = other[63] = 1;
        words[63] = other[k] = 2;
        EXPECT(ag_memory_hash(0, words, sizeof words) != ag_memory_hash(0, other, sizeof other));
    }
    EXPECT(ag_memory_hash(ag_memory_hash(0, words, 256), words + 32, 256) !=
           ag_memory_hash(ag_memory_hash(0, words + 32, 256), words, 256));
}

static void pieces_are_small_but_not_too_many(void)
{
    EQUAL(ag_memory_pieces(0, AG_MEMORY_PIECE_SHIFT), 0);
    EQUAL(ag_memory_pieces(1, AG_MEMORY_PIECE_SHIFT), 1);
    EQUAL(ag_memory_pieces(512, AG_MEMORY_PIECE_SHIFT), 1);
    EQUAL(ag_memory_pieces(513, AG_MEMORY_PIECE_SHIFT), 2);
    EQUAL(ag_memory_shift(1), AG_MEMORY_PIECE_SHIFT);
    EQUAL(ag_memory_shift((uint64_t)512 * AG_MEMORY_PIECES_MAX), AG_MEMORY_PIECE_SHIFT);
    EQUAL(ag_memory_shift((uint64_t)512 * AG_MEMORY_PIECES_MAX + 1), AG_MEMORY_PIECE_SHIFT + 1);
    for (unsigned bits = 0; bits < 64; bits++) {
        uint64_t bytes = ((uint64_t)1 << bits) + 3;
        EXPECT(ag_memory_pieces(bytes, ag_memory_shift(bytes)) <= AG_MEMORY_PIECES_MAX);
    }
    EXPECT(ag_memory_pieces(UINT64_MAX, ag_memory_shift(UINT64_MAX)) <= AG_MEMORY_PIECES_MAX);
}

static const struct unit_case cases[] = {
        {"every bit of a piece changes its hash", every_bit_counts},
        {"order and length of the bytes change the hash", order_and_length_count},
        {"pieces are small, but never too many", pieces_are_small_but_not_too_many},
};
UNIT_MAIN(cases)
