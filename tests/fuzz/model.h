/* The model: which operations are legal after those before them, by the rules of the driver API.
 *
 * It keeps a vector clock for every host thread and stream (an entity each) and for each buffer the last write and
 * reads, as race detectors do. An operation is refused when it names something that does not exist, when it would race
 * on memory or on the host's side of an object, or when it could block for ever. Where the API promises less than the
 * simulated driver does, the model knows the promise only.
 *
 * Knows: ordering. Refuses to know: values; the driver.
 */
#ifndef FUZZ_MODEL_H
#define FUZZ_MODEL_H

#include "tests/fuzz/fuzz.h"

#define FUZZ_ENTITIES 64
/* Streams by index: the program's slots, each context's legacy stream, each thread's own stream in each context. */
#define FUZZ_LEGACY(ctx) (FUZZ_STREAMS + (ctx))
#define FUZZ_OWN(thread, ctx) (FUZZ_STREAMS + FUZZ_CTXS + (thread)*FUZZ_CTXS + (ctx))
#define FUZZ_ALL_STREAMS (FUZZ_STREAMS + FUZZ_CTXS + FUZZ_THREADS * FUZZ_CTXS)
/* Buffers by index: the program's slots, the variable `scale` of the first context's module. */
#define FUZZ_GLOBAL FUZZ_BUFFERS
#define FUZZ_ALL_BUFFERS (FUZZ_BUFFERS + 1)

enum fuzz_verdict {
    FUZZ_LEGAL,
    FUZZ_WRONG, /* no ordering would make it legal here */
    FUZZ_RACE,  /* legal after work of stream `culprit` (or the host thread -1 - culprit) */
    FUZZ_OTHER, /* legal after what thread `culprit` has done so far */
};

struct fuzz_clock {
    uint32_t at[FUZZ_ENTITIES];
};

/* An object on the host's side: the clocks of the threads that made or destroyed it, and that used it. */
struct fuzz_use {
    bool live;
    uint32_t made[FUZZ_THREADS], used[FUZZ_THREADS];
    unsigned generation;
};

struct fuzz_graph {
    struct fuzz_use use;
    int ctx;
    uint32_t reads, writes, codes; /* bit sets of buffers and codes */
    int nodes;                     /* at most */
    unsigned buffer_generation[FUZZ_ALL_BUFFERS], code_generation[FUZZ_CODES], ctx_generation;
};

struct fuzz_model {
    int threads, entities, culprit;
    struct fuzz_clock host[FUZZ_THREADS];
    /* The last work of each stream that the host knows by what it wrote alone: the host has seen that, and everything
     * before it is over, but whether the work itself is, no call has told yet. */
    struct fuzz_clock glimpsed;
    int stack[FUZZ_THREADS][FUZZ_STACK], depth[FUZZ_THREADS]; /* current contexts */
    int gates[FUZZ_THREADS];                                  /* closed gates of a thread's own */
    struct {
        struct fuzz_use use;
        int entity, ctx;
        bool blocking, capturing;
        struct fuzz_clock done; /* what is done before its next operation */
    } streams[FUZZ_ALL_STREAMS];
    struct {
        int ctx;
        struct fuzz_clock done;
    } gone[FUZZ_ENTITIES]; /* destroyed streams */
    int n_gone;
    struct {
        struct fuzz_use use;
        int ctx;
        bool timed, recorded, vague; /* vague: when it completes is not known from `done` */
        struct fuzz_clock done;
    } events[FUZZ_EVENTS];
    struct {
        struct fuzz_use use;
        enum fuzz_memory kind;
        int ctx;
        bool full;   /* every word has a determined value */
        bool abroad; /* work of another context has touched it */
        int writer;
        uint32_t written, read[FUZZ_ENTITIES];
        struct fuzz_clock signalled; /* what is done once the last signal is seen */
    } buffers[FUZZ_ALL_BUFFERS];
    struct {
        struct fuzz_use use;
        int ctx;
        bool library;
        int shared[FUZZ_LIMITS][FUZZ_CTXS]; /* dynamic shared memory limits of kernels */
        struct fuzz_use limit;              /* host order of these limits */
    } codes[FUZZ_CODES];
    struct {
        struct fuzz_use use;
        struct fuzz_use captures, syncs; /* host order of captures in it, and of calls that no capture may meet */
        bool peers[FUZZ_CTXS];           /* whose memory its kernels may touch */
    } ctxs[FUZZ_CTXS];
    struct fuzz_graph graphs[FUZZ_GRAPHS], execs[FUZZ_EXECS], capture;
    int captured, capturer; /* stream that captures, or -1; its thread */
    int side;               /* second stream of the capture, or -1 */
    bool apart;             /* it has forked and not joined: what the two have touched since ([1]: the second) */
    struct {
        uint32_t reads, writes;
    } branch[2];
    struct {
        bool posted, awaited;
        struct fuzz_clock done;
    } tokens[FUZZ_TOKENS];
    struct {
        bool closed, used;
        int thread, entity;
        uint32_t at;
    } gate[FUZZ_GATES];
    struct {
        bool written;
        uint32_t used[FUZZ_THREADS];
        struct fuzz_clock done;
    } flags[FUZZ_FLAGS];
};

struct fuzz_model *fuzz_model_new(int threads);
void fuzz_model_free(struct fuzz_model *model);
/* Applies the operation when it is legal, else changes nothing but `culprit`. Sets op->certain. */
enum fuzz_verdict fuzz_model_apply(struct fuzz_model *model, struct fuzz_op *op);
/* The index of a stream argument for a thread, or -1. */
int fuzz_model_stream(const struct fuzz_model *model, int thread, int stream);
/* The thread's current context, or -1. */
int fuzz_model_ctx(const struct fuzz_model *model, int thread);
/* The buffers that live and are determined in every word. */
uint32_t fuzz_model_full(const struct fuzz_model *model);
bool fuzz_on_host(enum fuzz_memory kind);

#endif
