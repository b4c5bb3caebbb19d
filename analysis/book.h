/* The chunk book: which chunks are known, which instances they have, and what to do with the chunk at hand.
 *
 * Knows tokens, records and costs. Refuses to know how an instance is executed: its `exec` is the owner's. The owner
 * asks ag_book_choose() for each cut and carries the answer out:
 *
 *   AG_BOOK_EAGER   submit the ops one by one, since that is all there is or costs less; the chunk is now known
 *   AG_BOOK_BUILD   build an instance with these records, then ag_book_add()
 *   AG_BOOK_LAUNCH  patch the records listed in choice.differs into choice.instance, launch it, ag_book_used()
 *
 * Thread rule: one thread at a time for each book (in the shim, the window's lock).
 */
#ifndef AG_ANALYSIS_BOOK_H
#define AG_ANALYSIS_BOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uthash.h>

#include "analysis/backoff.h"
#include "analysis/op.h"
#include "analysis/token.h"

/* Instances of one chunk, and argument sets that a chunk remembers without having an instance for them; of a short one
 * two for each op, or they would take more memory than all else that is known of it. */
#define AG_BOOK_INSTANCES 24
#define AG_BOOK_GHOSTS 16

/* Building ahead. An instance pays once its chunk has come back a few times, which nobody knows at first. What
 * replaying has saved so far may be spent on guessing that it will: a chunk that is new, or an argument set that came
 * back, gets an instance at once while the savings cover it. So programs whose work repeats are learned quickly, and
 * those whose work does not repeat lose no more than the advance. Later only a share of the savings is spent, so
 * that a program whose argument sets come back by chance keeps most of them. */
struct ag_book_params {
    double patch_us;      /* cost of patching one node, with its share at launch */
    double build_us;      /* cost of building one node */
    double saved_us;      /* what an op costs that is submitted by itself: what replaying it saves */
    double launch_us;     /* cost of launching a graph, however few its nodes */
    double node_us;       /* what each of its nodes adds to that */
    double advance;       /* savings that are taken for granted at first, us: what a book may lose */
    double savings_max;   /* most savings that are kept for building ahead, us */
    double learning_us;   /* savings that count in full, in all; afterwards */
    double later;         /* this share of them counts */
    double payback;       /* ops within which a further instance must pay for itself to be built ahead */
    double payback_full;  /* the same while the savings are at their maximum */
    double admission;     /* any other is added once patching has cost this share of what building it costs */
    unsigned build_after; /* sightings of a chunk before its first instance, unless built ahead; a short one waits until
                             what its instance would have saved by now is what building it costs */
    size_t max_bytes;     /* host memory for chunks and instances, before the least recently used chunk is forgotten */
};

/* Shorter chunks come back by chance where a few kernels follow each other in any order, and each launch of their
 * graphs saves little, if anything: their graphs must pay. Longer ones always do. */
#define AG_BOOK_SHORT 4

/* The advance is what a process may lose in all, so only its first books get one. */
#define AG_BOOK_ADVANCED 4

struct ag_chunk;

struct ag_instance {
    struct ag_chunk *chunk;
    struct ag_instance *prev, *next;   /* the chunk's instances */
    struct ag_instance *older, *newer; /* the book's instances by last use */
    uint64_t serial;                   /* unique in the book */
    uint64_t follower_serial;          /* what was launched after it the last time: its serial and its slot; */
    uint32_t follower_slot;            /* only a hint, the slot may hold another by now */
    uint32_t slot;                     /* its place in the book's table of instances */
    uint64_t last_used;                /* the book's clock */
    void *exec;                        /* the owner's */
    size_t device_bytes;               /* the owner's estimate of device memory */
    uint32_t *hashes;                  /* one per op: hash of the record that the node holds */
    unsigned char *records;            /* what the nodes hold, laid out as the window's records */
};

struct ag_ghost {
    uint64_t last_used;
    uint64_t ops; /* the book's ops when it was seen last */
    float regret; /* what patching from the nearest instance has cost when this set came back */
};

struct ag_chunk {
    UT_hash_handle hh;
    struct ag_chunk *older, *newer; /* the book's chunks by last use */
    struct ag_instance *instances;
    uint64_t last_used;
    struct ag_ghost *ghosts; /* as many as such a chunk may have, then the hashes of each, one per op; NULL at first */
    uint32_t records_size;
    unsigned sightings;
    struct ag_backoff backoff; /* in sightings; while it blocks: submit eagerly */
    uint8_t instance_count, length, ghost_count;
    const struct ag_token *tokens[];
};

struct ag_book {
    struct ag_book_params params;
    struct ag_chunk *chunks;                      /* by token sequence */
    struct ag_chunk *oldest_chunk, *newest_chunk; /* by last use */
    struct ag_instance *oldest, *newest;          /* by last use */
    struct ag_instance *previous;                 /* launched last; NULL after anything else */
    struct ag_instance **slots;                   /* the instances, NULL where a slot is free */
    uint32_t slot_count, slot_hint;               /* slots in the table; where to look for a free one */
    uint64_t clock, serial;
    uint64_t ops;   /* decided about so far */
    double earned;  /* of replaying, in all, us */
    double savings; /* of replaying, for building ahead, us */
    size_t host_bytes, device_bytes;
    unsigned chunk_count, instance_count;
    /* frees an instance's exec; called by the book whenever it drops an instance */
    void (*release)(void *owner, void *exec);
    void *owner;
};

enum ag_book_action { AG_BOOK_EAGER, AG_BOOK_BUILD, AG_BOOK_LAUNCH };

struct ag_book_choice {
    enum ag_book_action action;
    struct ag_chunk *chunk;        /* NULL when memory is short */
    struct ag_instance *instance;  /* for AG_BOOK_LAUNCH; for AG_BOOK_EAGER the one that it would cost more to launch */
    unsigned differing;            /* how many records differ from the instance's */
    uint8_t differs[AG_CHUNK_MAX]; /* indices of the differing ops, `differing` of them */
};

struct ag_book_params ag_book_defaults(void);
void ag_book_init(struct ag_book *book, const struct ag_book_params *params, void (*release)(void *, void *),
                  void *owner);

/* Forgets everything; releases every instance. */
void ag_book_clear(struct ag_book *book);

/* Releases the instances of every chunk that has a marked token (ag_token_mark()). chunks: forgets the chunk as well,
 * since the token is about to end. */
void ag_book_sweep(struct ag_book *book, bool chunks);

/* Decides about a chunk of length ops. records holds their records one after the other, each of its token's
 * record_size; padding inside must be deterministic (zero). */
void ag_book_choose(struct ag_book *book, const struct ag_token *const *tokens, unsigned length,
                    const unsigned char *records, struct ag_book_choice *choice);

/* Notes a chunk whose ops were submitted without being held, so that it is known the next time. */
void ag_book_learn(struct ag_book *book, const struct ag_token *const *tokens, unsigned length);

/* Takes a freshly built exec as an instance that holds records. Returns NULL when memory is short: the exec is then
 * still the caller's. */
struct ag_instance *ag_book_add(struct ag_book *book, struct ag_chunk *chunk, const unsigned char *records, void *exec,
                                size_t device_bytes);

/* Writes the differing records of a choice into the instance's image, after the nodes were patched. */
void ag_book_patched(struct ag_instance *instance, const struct ag_book_choice *choice, const unsigned char *records);

/* Notes a launch of the instance. */
void ag_book_used(struct ag_book *book, struct ag_instance *instance);

/* The owner could not build, patch or launch an instance of the chunk, which is then submitted eagerly for a while,
 * twice as long each time. */
void ag_book_refused(struct ag_chunk *chunk);

/* Whether it is, at the sighting chosen for last. */
bool ag_book_blocked(const struct ag_chunk *chunk);

/* Drops an instance (its exec failed, or the memory is wanted). */
void ag_book_drop(struct ag_book *book, struct ag_instance *instance);

/* Drops the least recently used instance other than keep; false when there is none. */
bool ag_book_evict(struct ag_book *book, const struct ag_instance *keep);

/* Drops all instances but keeps the knowledge of chunks. */
void ag_book_drop_instances(struct ag_book *book);

#endif
