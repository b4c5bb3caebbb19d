/* What the parts of the executor share: the objects of the program that runs, and the log. */
#ifndef FUZZ_EXECUTE_H
#define FUZZ_EXECUTE_H

#include "tests/fuzz/driver.h"
#include "tests/fuzz/fuzz.h"

#include <pthread.h>

/* One of the program's threads. */
struct fuzz_runner {
    int thread;
    pthread_t id;
    int stack[FUZZ_STACK], depth; /* current contexts, by slot */
    char *text;                   /* log */
    size_t length, capacity;
    unsigned unexpected;
    CUstream captured; /* stream of a capture under way, or NULL */
};

struct fuzz_code {
    bool library;
    CUmodule module;
    CUlibrary handle;
    CUfunction kernels[FUZZ_KERNELS]; /* CUkernel handles of a library */
    CUfunction signal;                /* of a module: set_flag */
};

struct fuzz_buffer {
    bool live;
    enum fuzz_memory kind;
    CUdeviceptr at;
    int ctx;
};

/* Work for a host function; lives until the program ends. */
struct fuzz_call {
    struct fuzz_call *next;
    unsigned int *words, value;
    int gate;
};

struct fuzz_state {
    const struct fuzz_program *program;
    char kernels_path[4096];
    CUcontext ctxs[FUZZ_CTXS];
    struct fuzz_code own[FUZZ_CTXS]; /* each context's module */
    struct fuzz_code codes[FUZZ_CODES];
    CUstream streams[FUZZ_STREAMS];
    int stream_ctx[FUZZ_STREAMS];
    CUevent events[FUZZ_EVENTS];
    int event_ctx[FUZZ_EVENTS];
    struct fuzz_buffer buffers[FUZZ_BUFFERS];
    CUgraph graphs[FUZZ_GRAPHS];
    CUgraphExec execs[FUZZ_EXECS];
    CUdevice devices[FUZZ_DEVICES];
    CUdeviceptr flags, scratch, scale;
    bool gates[FUZZ_GATES]; /* open; under the mutex */
    pthread_cond_t opened;
    pthread_mutex_t mutex;
    pthread_cond_t posted_for[FUZZ_THREADS]; /* what a thread awaits */
    int awaited[FUZZ_THREADS];
    bool posted[FUZZ_TOKENS];
    struct fuzz_call *calls; /* under the mutex */
};
extern struct fuzz_state fuzz_state;

/* The stream argument of an operation, resolved for a thread. */
struct fuzz_target {
    CUstream stream;
    bool per_thread; /* call the _ptsz variant */
    int ctx;
};
struct fuzz_target fuzz_target(const struct fuzz_runner *runner, int stream);

__attribute__((format(printf, 2, 3))) void fuzz_note(struct fuzz_runner *runner, const char *format, ...);
uint64_t fuzz_hash(uint64_t hash, const void *bytes, size_t size);
#define FUZZ_HASH_START 0xcbf29ce484222325u
void *fuzz_host(const struct fuzz_buffer *buffer); /* its address for the host */
void fuzz_nap(unsigned int us);
void fuzz_wait_more(
        unsigned int *us); /* a nap while something does not come, each twice as long up to 800 us; *us: 0 first */
void fuzz_open(int gate);
bool fuzz_load(struct fuzz_code *code, bool library, int turn); /* in the current context */
void fuzz_unload(struct fuzz_code *code);
CUresult fuzz_buffer_make(struct fuzz_buffer *buffer, enum fuzz_memory kind, struct fuzz_target target, int seed);
CUresult fuzz_buffer_free(struct fuzz_buffer *buffer, struct fuzz_target target);

/* execute_launch.c */
CUresult fuzz_launch(struct fuzz_runner *runner, const struct fuzz_op *op, size_t index);
/* step on `data`, `grid` blocks: what the odd operations use */
CUresult fuzz_step(CUfunction function, CUdeviceptr data, unsigned int value, CUstream stream, bool per_thread);
CUresult fuzz_bad(struct fuzz_runner *runner, const struct fuzz_op *op);
void fuzz_stale(struct fuzz_runner *runner, int what);
CUresult fuzz_info(struct fuzz_runner *runner, const struct fuzz_op *op, int *value);
CUresult fuzz_duel(struct fuzz_runner *runner, const struct fuzz_op *op, unsigned int *seen);
CUresult fuzz_signal(struct fuzz_runner *runner, const struct fuzz_op *op);
bool fuzz_watch(const struct fuzz_op *op); /* false: it did not come */
void fuzz_hoard(struct fuzz_runner *runner, int mb, bool pitch);
void fuzz_poison(struct fuzz_runner *runner, int launches);

/* execute_op.c */
void fuzz_execute_op(struct fuzz_runner *runner, const struct fuzz_op *op, size_t index);

#endif
