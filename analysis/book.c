#include "analysis/book.h"

#include <stdlib.h>
#include <string.h>

struct ag_book_params ag_book_defaults(void)
{
    return (struct ag_book_params){.patch_us = 0.42,
                                   .build_us = 10,
                                   .saved_us = 4,
                                   .launch_us = 2.1,
                                   .node_us = 0.06,
                                   .advance = 2000,
                                   .savings_max = 8000,
                                   .learning_us = 30000,
                                   .later = 0.1,
                                   .payback = 10000,
                                   .payback_full = 50000,
                                   .admission = 1,
                                   .build_after = 2,
                                   .max_bytes = (size_t)64 << 20};
}

void ag_book_init(struct ag_book *book, const struct ag_book_params *params, void (*release)(void *, void *),
                  void *owner)
{
    memset(book, 0, sizeof *book);
    book->params = *params;
    book->savings = params->advance;
    book->release = release;
    book->owner = owner;
}

/* ---- lists by last use ---- */

static void chunk_unlink(struct ag_book *book, struct ag_chunk *chunk)
{
    *(chunk->older != NULL ? &chunk->older->newer : &book->oldest_chunk) = chunk->newer;
    *(chunk->newer != NULL ? &chunk->newer->older : &book->newest_chunk) = chunk->older;
}

static void chunk_append(struct ag_book *book, struct ag_chunk *chunk)
{
    chunk->older = book->newest_chunk;
    chunk->newer = NULL;
    *(chunk->older != NULL ? &chunk->older->newer : &book->oldest_chunk) = chunk;
    book->newest_chunk = chunk;
}

static void instance_unlink(struct ag_book *book, struct ag_instance *instance)
{
    *(instance->older != NULL ? &instance->older->newer : &book->oldest) = instance->newer;
    *(instance->newer != NULL ? &instance->newer->older : &book->newest) = instance->older;
}

static void instance_append(struct ag_book *book, struct ag_instance *instance)
{
    instance->older = book->newest;
    instance->newer = NULL;
    *(instance->older != NULL ? &instance->older->newer : &book->oldest) = instance;
    book->newest = instance;
}

/* ---- memory ---- */

static unsigned ghosts_max(const struct ag_chunk *chunk)
{
    return 2u * chunk->length < AG_BOOK_GHOSTS ? 2u * chunk->length : AG_BOOK_GHOSTS;
}

static size_t ghosts_bytes(const struct ag_chunk *chunk)
{
    return ghosts_max(chunk) * (sizeof(struct ag_ghost) + chunk->length * sizeof(uint32_t));
}

static size_t chunk_bytes(const struct ag_chunk *chunk)
{
    return sizeof *chunk + chunk->length * sizeof chunk->tokens[0] + (chunk->ghosts != NULL ? ghosts_bytes(chunk) : 0);
}

static uint32_t *ghost_hashes(const struct ag_chunk *chunk, unsigned g)
{
    return (uint32_t *)(void *)(chunk->ghosts + ghosts_max(chunk)) + (size_t)g * chunk->length;
}

static size_t instance_bytes(const struct ag_chunk *chunk)
{
    return sizeof(struct ag_instance) + chunk->length * sizeof(uint32_t) + chunk->records_size;
}

void ag_book_drop(struct ag_book *book, struct ag_instance *instance)
{
    struct ag_chunk *chunk = instance->chunk;
    *(instance->prev != NULL ? &instance->prev->next : &chunk->instances) = instance->next;
    if (instance->next != NULL)
        instance->next->prev = instance->prev;
    chunk->instance_count--;
    instance_unlink(book, instance);
    book->instance_count--;
    book->host_bytes -= instance_bytes(chunk);
    book->device_bytes -= instance->device_bytes;
    if (book->previous == instance)
        book->previous = NULL;
    book->slots[instance->slot] = NULL;
    /* the hint stays at or below the lowest free slot, so that none is lost */
    if (instance->slot < book->slot_hint)
        book->slot_hint = instance->slot;
    if (book->release != NULL)
        book->release(book->owner, instance->exec);
    free(instance);
}

static void chunk_drop(struct ag_book *book, struct ag_chunk *chunk)
{
    while (chunk->instances != NULL)
        ag_book_drop(book, chunk->instances);
    HASH_DEL(book->chunks, chunk);
    chunk_unlink(book, chunk);
    book->host_bytes -= chunk_bytes(chunk);
    book->chunk_count--;
    free(chunk->ghosts);
    free(chunk);
}

void ag_book_clear(struct ag_book *book)
{
    while (book->chunks != NULL)
        chunk_drop(book, book->oldest_chunk);
    free(book->slots);
    book->slots = NULL;
    book->slot_count = 0;
    book->slot_hint = 0;
}

void ag_book_sweep(struct ag_book *book, bool chunks)
{
    for (struct ag_chunk *chunk = book->oldest_chunk, *next; chunk != NULL; chunk = next) {
        unsigned i = 0;
        next = chunk->newer;
        while (i < chunk->length && !chunk->tokens[i]->dead)
            i++;
        while (i < chunk->length && chunk->instances != NULL)
            ag_book_drop(book, chunk->instances);
        if (i < chunk->length && chunks)
            chunk_drop(book, chunk);
    }
}

void ag_book_drop_instances(struct ag_book *book)
{
    while (book->oldest != NULL)
        ag_book_drop(book, book->oldest);
}

bool ag_book_evict(struct ag_book *book, const struct ag_instance *keep)
{
    struct ag_instance *victim = book->oldest;
    if (victim == keep && victim != NULL)
        victim = victim->newer;
    if (victim == NULL)
        return false;
    ag_book_drop(book, victim);
    return true;
}

/* ---- chunks ---- */

static bool same_tokens(const struct ag_chunk *chunk, const struct ag_token *const *tokens, unsigned length)
{
    return chunk->length == length && memcmp(chunk->tokens, tokens, length * sizeof tokens[0]) == 0;
}

/* The follower of the instance launched before, when it is still the same one. */
static struct ag_instance *expected(const struct ag_book *book)
{
    const struct ag_instance *previous = book->previous;
    if (previous == NULL || previous->follower_serial == 0)
        return NULL;
    struct ag_instance *follower = book->slots[previous->follower_slot];
    return follower != NULL && follower->serial == previous->follower_serial ? follower : NULL;
}

static struct ag_chunk *chunk_find(struct ag_book *book, const struct ag_token *const *tokens, unsigned length)
{
    struct ag_chunk *chunk;
    HASH_FIND(hh, book->chunks, tokens, length * sizeof tokens[0], chunk);
    return chunk;
}

static struct ag_chunk *chunk_add(struct ag_book *book, const struct ag_token *const *tokens, unsigned length)
{
    while (book->host_bytes > book->params.max_bytes && book->chunks != NULL)
        chunk_drop(book, book->oldest_chunk);
    struct ag_chunk *chunk = calloc(1, sizeof *chunk + length * sizeof tokens[0]);
    if (chunk == NULL)
        return NULL;
    chunk->length = (uint8_t)length;
    memcpy(chunk->tokens, tokens, length * sizeof tokens[0]);
    for (unsigned i = 0; i < length; i++)
        chunk->records_size += tokens[i]->record_size;
    HASH_ADD_KEYPTR(hh, book->chunks, chunk->tokens, length * sizeof tokens[0], chunk);
    chunk_append(book, chunk);
    book->host_bytes += chunk_bytes(chunk);
    book->chunk_count++;
    return chunk;
}

static void chunk_seen(struct ag_book *book, struct ag_chunk *chunk)
{
    chunk->sightings++;
    chunk->last_used = ++book->clock;
    if (book->newest_chunk != chunk) {
        chunk_unlink(book, chunk);
        chunk_append(book, chunk);
    }
}

void ag_book_refused(struct ag_chunk *chunk)
{
    ag_backoff_refused(&chunk->backoff, chunk->sightings);
}

bool ag_book_blocked(const struct ag_chunk *chunk)
{
    return ag_backoff_blocks(&chunk->backoff, chunk->sightings);
}

void ag_book_learn(struct ag_book *book, const struct ag_token *const *tokens, unsigned length)
{
    struct ag_chunk *chunk = chunk_find(book, tokens, length);
    if (chunk == NULL)
        chunk = chunk_add(book, tokens, length);
    if (chunk != NULL)
        chunk_seen(book, chunk);
    book->previous = NULL;
}

/* ---- instances ---- */

static void hash_records(const struct ag_chunk *chunk, const unsigned char *records, uint32_t *hashes)
{
    for (unsigned i = 0; i < chunk->length; i++) {
        hashes[i] = (uint32_t)ag_hash_record(records, chunk->tokens[i]->record_size);
        records += chunk->tokens[i]->record_size;
    }
}

static unsigned count_differing(const uint32_t *a, const uint32_t *b, unsigned length)
{
    unsigned differing = 0;
    for (unsigned i = 0; i < length; i++)
        differing += a[i] != b[i];
    return differing;
}

/* Compares byte for byte and lists what differs. */
static void list_differing(struct ag_book_choice *choice, const unsigned char *records)
{
    const struct ag_chunk *chunk = choice->chunk;
    const unsigned char *held = choice->instance->records;
    choice->differing = 0;
    for (unsigned i = 0; i < chunk->length; i++) {
        uint32_t size = chunk->tokens[i]->record_size;
        if (memcmp(held, records, size) != 0)
            choice->differs[choice->differing++] = (uint8_t)i;
        held += size;
        records += size;
    }
}

static void earn(struct ag_book *book, double us)
{
    if (book->earned >= book->params.learning_us)
        us *= book->params.later;
    book->earned += us;
    book->savings += us;
    if (book->savings > book->params.savings_max)
        book->savings = book->params.savings_max;
}

/* Shorter chunks are not built ahead: what is cut off by a flush or a first launch seldom comes back. */
#define AHEAD_MIN 8

/* What launching an instance with so many patched nodes saves against submitting its ops one by one; may be negative.
 */
static double saving(const struct ag_book *book, unsigned length, unsigned patched)
{
    const struct ag_book_params *params = &book->params;
    return length * (params->saved_us - params->node_us) - params->launch_us - patched * params->patch_us;
}

/* Pays for building an instance of the chunk ahead; false: the savings do not cover it. */
static bool build_ahead(struct ag_book *book, const struct ag_chunk *chunk)
{
    double cost = book->params.build_us * chunk->length;
    if (book->savings < cost || chunk->length < AHEAD_MIN)
        return false;
    book->savings -= cost;
    return true;
}

/* Whether a chunk without instance gets its first one now. */
static bool first_pays(struct ag_book *book, const struct ag_chunk *chunk)
{
    if (chunk->sightings < book->params.build_after)
        return build_ahead(book, chunk);
    return chunk->length >= AG_BOOK_SHORT ||
           chunk->sightings * saving(book, chunk->length, 0) >= book->params.build_us * chunk->length;
}

/* An argument set came back to which an instance of its own would have been nearer by so many nodes: whether building
 * it pays by now, or will soon enough. */
static bool set_pays(struct ag_book *book, const struct ag_chunk *chunk, struct ag_ghost *ghost, unsigned nearer)
{
    double cost = book->params.build_us * chunk->length, saved = book->params.patch_us * nearer;
    double interval = (double)(book->ops - ghost->ops);
    /* at their maximum, savings that are not spent are lost */
    double payback = book->savings < book->params.savings_max ? book->params.payback : book->params.payback_full;
    ghost->regret += (float)saved;
    return ghost->regret >= book->params.admission * cost ||
           (interval * cost <= saved * payback && build_ahead(book, chunk));
}

/* Remembers an argument set without instance, or notes that it came back: returns whether an instance of its own would
 * by now have paid. `best` is how many nodes the nearest instance needs patched. */
static bool ghost_pays(struct ag_book *book, struct ag_chunk *chunk, const uint32_t *hashes, unsigned best)
{
    unsigned oldest = 0, nearest = 0, nearest_differing = chunk->length + 1u;
    for (unsigned g = 0; g < chunk->ghost_count; g++) {
        if (chunk->ghosts[g].last_used < chunk->ghosts[oldest].last_used)
            oldest = g;
        unsigned differing = count_differing(ghost_hashes(chunk, g), hashes, chunk->length);
        if (differing < nearest_differing) {
            nearest = g;
            nearest_differing = differing;
        }
    }
    if (nearest_differing < best) {
        /* this set came back, nearer to what it was than to any instance */
        struct ag_ghost *ghost = &chunk->ghosts[nearest];
        bool pays = set_pays(book, chunk, ghost, best - nearest_differing);
        ghost->last_used = book->clock;
        ghost->ops = book->ops;
        memcpy(ghost_hashes(chunk, nearest), hashes, chunk->length * sizeof hashes[0]);
        if (!pays)
            return false;
        ghost->regret = 0;
        ghost->last_used = 0;
        return true;
    }
    if (chunk->ghosts == NULL) {
        if ((chunk->ghosts = malloc(ghosts_bytes(chunk))) == NULL)
            return false;
        book->host_bytes += ghosts_bytes(chunk);
    }
    if (chunk->ghost_count < ghosts_max(chunk))
        oldest = chunk->ghost_count++;
    chunk->ghosts[oldest] = (struct ag_ghost){.last_used = book->clock, .ops = book->ops};
    memcpy(ghost_hashes(chunk, oldest), hashes, chunk->length * sizeof hashes[0]);
    return false;
}

/* Finds the nearest instance; NULL when an instance of its own should be built. */
static struct ag_instance *choose_instance(struct ag_book *book, struct ag_chunk *chunk, const unsigned char *records)
{
    uint32_t hashes[AG_CHUNK_MAX];
    struct ag_instance *best = NULL, *stalest = chunk->instances;
    unsigned best_differing = chunk->length + 1u;
    hash_records(chunk, records, hashes);
    for (struct ag_instance *i = chunk->instances; i != NULL; i = i->next) {
        unsigned differing = count_differing(i->hashes, hashes, chunk->length);
        if (differing < best_differing ||
            (best != NULL && differing == best_differing && i->last_used < best->last_used)) {
            best = i;
            best_differing = differing;
        }
        if (i->last_used < stalest->last_used)
            stalest = i;
    }
    if (best_differing > 0 && ghost_pays(book, chunk, hashes, best_differing)) {
        if (chunk->instance_count < AG_BOOK_INSTANCES)
            return NULL;
        return stalest;
    }
    return best;
}

void ag_book_choose(struct ag_book *book, const struct ag_token *const *tokens, unsigned length,
                    const unsigned char *records, struct ag_book_choice *choice)
{
    struct ag_instance *next = expected(book);
    bool as_expected = next != NULL && same_tokens(next->chunk, tokens, length);
    struct ag_chunk *chunk = as_expected ? next->chunk : chunk_find(book, tokens, length);
    book->ops += length;
    if (chunk == NULL)
        chunk = chunk_add(book, tokens, length);
    choice->action = AG_BOOK_EAGER;
    choice->chunk = chunk;
    choice->instance = NULL;
    choice->differing = 0;
    if (chunk == NULL)
        return;
    chunk_seen(book, chunk);
    if (as_expected && memcmp(next->records, records, chunk->records_size) == 0) {
        choice->instance = next;
    } else {
        if (ag_book_blocked(chunk) || (chunk->instances == NULL && !first_pays(book, chunk)))
            return;
        choice->instance = chunk->instances != NULL ? choose_instance(book, chunk, records) : NULL;
        if (choice->instance == NULL) {
            choice->action = AG_BOOK_BUILD;
            return;
        }
        list_differing(choice, records);
    }
    if (length >= AG_BOOK_SHORT || saving(book, length, choice->differing) > 0)
        choice->action = AG_BOOK_LAUNCH;
}

/* A free slot of the table of instances; false when memory is short. */
static bool slot_find(struct ag_book *book, uint32_t *slot)
{
    for (uint32_t k = book->slot_hint; k < book->slot_count; k++)
        if (book->slots[k] == NULL) {
            *slot = k;
            return true;
        }
    uint32_t count = book->slot_count != 0 ? 2 * book->slot_count : 64;
    struct ag_instance **slots = realloc(book->slots, count * sizeof slots[0]);
    if (slots == NULL)
        return false;
    memset(slots + book->slot_count, 0, (count - book->slot_count) * sizeof slots[0]);
    *slot = book->slot_count;
    book->slots = slots;
    book->slot_count = count;
    return true;
}

struct ag_instance *ag_book_add(struct ag_book *book, struct ag_chunk *chunk, const unsigned char *records, void *exec,
                                size_t device_bytes)
{
    uint32_t slot;
    if (!slot_find(book, &slot))
        return NULL;
    struct ag_instance *instance = calloc(1, instance_bytes(chunk));
    if (instance == NULL)
        return NULL;
    instance->chunk = chunk;
    instance->slot = slot;
    book->slots[slot] = instance;
    book->slot_hint = slot + 1;
    instance->records = (unsigned char *)(instance + 1);
    instance->hashes = (uint32_t *)(void *)(instance->records + chunk->records_size);
    memcpy(instance->records, records, chunk->records_size);
    hash_records(chunk, records, instance->hashes);
    instance->exec = exec;
    instance->device_bytes = device_bytes;
    instance->serial = ++book->serial;
    instance->next = chunk->instances;
    if (chunk->instances != NULL)
        chunk->instances->prev = instance;
    chunk->instances = instance;
    chunk->instance_count++;
    instance_append(book, instance);
    book->instance_count++;
    book->host_bytes += instance_bytes(chunk);
    book->device_bytes += device_bytes;
    return instance;
}

void ag_book_patched(struct ag_instance *instance, const struct ag_book_choice *choice, const unsigned char *records)
{
    const struct ag_chunk *chunk = instance->chunk;
    unsigned next = 0;
    uint32_t offset = 0;
    for (unsigned i = 0; i < chunk->length && next < choice->differing; i++) {
        uint32_t size = chunk->tokens[i]->record_size;
        if (choice->differs[next] == i) {
            memcpy(instance->records + offset, records + offset, size);
            instance->hashes[i] = (uint32_t)ag_hash_record(records + offset, size);
            next++;
        }
        offset += size;
    }
}

void ag_book_used(struct ag_book *book, struct ag_instance *instance)
{
    instance->last_used = ++book->clock;
    if (book->newest != instance) {
        instance_unlink(book, instance);
        instance_append(book, instance);
    }
    earn(book, book->params.saved_us * instance->chunk->length);
    if (book->previous != NULL) {
        book->previous->follower_slot = instance->slot;
        book->previous->follower_serial = instance->serial;
    }
    book->previous = instance;
}
