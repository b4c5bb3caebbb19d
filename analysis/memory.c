#include "analysis/memory.h"

#include <string.h>

#define LANES 4
#define MULTIPLIER 0x9e3779b97f4a7c15u

unsigned ag_memory_shift(uint64_t bytes)
{
    unsigned shift = AG_MEMORY_PIECE_SHIFT;
    while (ag_memory_pieces(bytes, shift) > AG_MEMORY_PIECES_MAX)
        shift++;
    return shift;
}

uint64_t ag_memory_pieces(uint64_t bytes, unsigned shift)
{
    return (bytes >> shift) + ((bytes & (((uint64_t)1 << shift) - 1)) != 0);
}

/* For one of the two a bijection of the other, so that one word that differs is never lost. */
static uint64_t join(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * MULTIPLIER;
    return hash ^ hash >> 29;
}

uint64_t ag_memory_hash(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    uint64_t lanes[LANES], words[LANES] = {0};
    for (unsigned i = 0; i < LANES; i++)
        lanes[i] = hash + i;
    uint64_t rest = size;
    for (; rest >= sizeof words; rest -= sizeof words, at += sizeof words) {
        memcpy(words, at, sizeof words);
        for (unsigned i = 0; i < LANES; i++)
            lanes[i] = join(lanes[i], words[i]);
    }
    if (rest > 0) {
        memset(words, 0, sizeof words);
        memcpy(words, at, rest);
        for (unsigned i = 0; i < LANES; i++)
            lanes[i] = join(lanes[i], words[i]);
    }
    hash = join(hash, size);
    for (unsigned i = 0; i < LANES; i++)
        hash = join(hash, lanes[i]);
    return hash;
}
