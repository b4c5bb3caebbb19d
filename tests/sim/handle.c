/* Handles: the addresses that the program gets for streams, events, functions and so on.
 *
 * Each kind has slots of its own, reused last-in first-out, so that a program which destroys and creates sees the same
 * value again at once, as with the real driver; the object behind a slot may live on (pending work). Slots are never
 * given back to the system: any address can be checked without touching it.
 */
#include "tests/sim/core.h"

#define SLOT_BYTES 64
#define CHUNK_SLOTS 1024
#define CHUNKS_MAX 512

struct slot {
    void *object;
    struct slot *next_free;
    char pad[SLOT_BYTES - 2 * sizeof(void *)];
};

static struct {
    struct slot *chunks[CHUNKS_MAX];
    size_t n_chunks;
    struct slot *free;
} kinds[SIM_KINDS];

void *sim_handle_make(enum sim_kind kind, void *object)
{
    struct slot *slot = kinds[kind].free;
    if (!slot) {
        if (kinds[kind].n_chunks == CHUNKS_MAX)
            return NULL;
        struct slot *chunk = calloc(CHUNK_SLOTS, sizeof(*chunk));
        if (!chunk)
            return NULL;
        kinds[kind].chunks[kinds[kind].n_chunks++] = chunk;
        for (size_t i = CHUNK_SLOTS; i-- > 0;) {
            chunk[i].next_free = kinds[kind].free;
            kinds[kind].free = &chunk[i];
        }
        slot = kinds[kind].free;
    }
    kinds[kind].free = slot->next_free;
    slot->object = object;
    return slot;
}

static struct slot *find(enum sim_kind kind, const void *handle)
{
    for (size_t i = 0; i < kinds[kind].n_chunks; i++) {
        uintptr_t base = (uintptr_t)kinds[kind].chunks[i], at = (uintptr_t)handle;
        if (at >= base && at < base + CHUNK_SLOTS * sizeof(struct slot) && (at - base) % sizeof(struct slot) == 0)
            return (struct slot *)at;
    }
    return NULL;
}

void *sim_handle_object(enum sim_kind kind, const void *handle)
{
    struct slot *slot = find(kind, handle);
    return slot ? slot->object : NULL;
}

void sim_handle_free(enum sim_kind kind, const void *handle)
{
    struct slot *slot = find(kind, handle);
    if (!slot || !slot->object)
        return;
    slot->object = NULL;
    slot->next_free = kinds[kind].free;
    kinds[kind].free = slot;
}
