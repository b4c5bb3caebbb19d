/* The engine without a driver: the same cuts, tokens and book as in the shim decide about ops that come from a trace,
 * and what they decide is counted instead of done.
 *
 * Knows what a window does with its ops. Refuses to know where the ops come from. Building and patching always succeed
 * here, and device memory never runs short. Thread rule: one thread for each simulation.
 */
#ifndef AG_ANALYSIS_SIMULATE_H
#define AG_ANALYSIS_SIMULATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/book.h"
#include "analysis/cost.h"
#include "analysis/cut.h"
#include "analysis/op.h"
#include "analysis/template.h"

/* Why launches went out by themselves. */
enum ag_sim_eager {
    AG_SIM_FIRST,   /* first launch of a function, block shape or attribute set, or more shared memory than before */
    AG_SIM_PASSED,  /* cannot be held */
    AG_SIM_UNKNOWN, /* the chunk was not seen often enough */
    AG_SIM_EAGER_COUNT
};

struct ag_sim_params {
    struct ag_cut_params cut;
    struct ag_book_params book;
};

struct ag_sim_totals {
    struct ag_cost_counts counts;
    uint64_t eager[AG_SIM_EAGER_COUNT];
    uint64_t flushes;                   /* windows submitted before a cut */
    uint64_t chunks;                    /* chunks looked up */
    uint64_t exact;                     /* of these, launched without a patch */
    uint64_t lengths[AG_CHUNK_MAX + 1]; /* graphs launched, by length */
};

struct ag_sim_op {
    enum ag_op_kind kind;
    const void *key; /* the identity, as for ag_token_intern() */
    size_t key_size;
    uint64_t mix;       /* as struct ag_token's; 0: the one of the identity */
    const void *record; /* record_size bytes, a multiple of AG_RECORD_ALIGN, with deterministic padding */
    uint32_t record_size;
    uint32_t argument_bytes; /* of a kernel; what patching costs depends on it */
    bool plain;              /* a kernel without attributes: a node of any template takes it */
    uint32_t shared;         /* dynamic shared memory of a kernel, bytes */
};

struct ag_sim_window;

struct ag_sim {
    struct ag_sim_params params;
    struct ag_sim_window *windows;
    unsigned books; /* begun so far */
    unsigned open;  /* windows with held ops */
    double now_us;
    struct ag_sim_totals totals;
};

struct ag_sim_params ag_sim_defaults(void);
void ag_sim_init(struct ag_sim *sim, const struct ag_sim_params *params);
void ag_sim_clear(struct ag_sim *sim);

/* A launch on a stream by a thread. Returns -ENOMEM when memory is short. */
int ag_sim_launch(struct ag_sim *sim, uint64_t stream, uint32_t thread, const struct ag_sim_op *op);

/* A launch that cannot be held; what must come before it was flushed. */
void ag_sim_pass(struct ag_sim *sim);

/* Submits what a stream holds, because of a call by the thread. */
void ag_sim_flush(struct ag_sim *sim, uint64_t stream, uint32_t thread);

/* The same for every stream. */
void ag_sim_flush_all(struct ag_sim *sim, uint32_t thread);

/* Gives up what is held, uncounted, and starts cutting anew: what follows is another part of the program. */
void ag_sim_drop(struct ag_sim *sim);

/* Sets the clock, and submits what got no further op for longer than hold_us; the cutter goes on. */
void ag_sim_advance(struct ag_sim *sim, double now_us, double hold_us);

/* Forgets all tokens, chunks and instances: code was unloaded or its meaning changed. Flushed before. */
void ag_sim_forget(struct ag_sim *sim);

#endif
