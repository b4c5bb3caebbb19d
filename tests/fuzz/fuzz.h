/* Fuzz programs for the simulated driver: what they are, and the limits that all parts share.
 *
 * A program is a list of operations (ops.def), each of one thread. The list is one legal order of execution; threads
 * run their own operations in list order and meet only at post/await. A program's results are determined by the rules
 * of the driver API alone: the model (model.h) refuses every operation that would race with an earlier one. So two runs
 * of one program must log the same, whatever the schedule of the device and whether a shim is in between.
 *
 *   generate   a program from a seed        program   to and from text
 *   model      which operations are legal   execute   runs a program on the driver, and logs
 */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define FUZZ_THREADS 3
#define FUZZ_STREAMS 8
#define FUZZ_CTXS 3
#define FUZZ_DEVICES 2
#define FUZZ_BUFFERS 24
#define FUZZ_EVENTS 8
#define FUZZ_GRAPHS 3
#define FUZZ_EXECS 4
#define FUZZ_CODES 4
#define FUZZ_TOKENS 128
#define FUZZ_GATES 8
#define FUZZ_FLAGS 16
#define FUZZ_STACK 4
#define FUZZ_ARGS 16
#define FUZZ_WORDS 64 /* of every buffer */
#define FUZZ_STREAM_MIN (-4)
#define FUZZ_DEFAULT_SHARED 49152
/* Memory of a device that a program may need at once, and what a node of its executable graphs takes of it at most;
 * `run` has a device that is no larger. */
#define FUZZ_DEVICE_KB 3584
#define FUZZ_NODE_KB 64

enum fuzz_kind {
#define FUZZ_OP(name, args) FUZZ_##name,
#include "tests/fuzz/ops.def"
#undef FUZZ_OP
    FUZZ_KINDS
};

enum fuzz_kernel {
    FUZZ_FILL,
    FUZZ_STEP,
    FUZZ_MIX,
    FUZZ_GAPS,
    FUZZ_BY_VALUE,
    FUZZ_THROUGH_SHARED,
    FUZZ_SCALED,
    FUZZ_LARGE,
    FUZZ_THROUGH_ROOM,
    FUZZ_KERNELS
};
/* Kernels with dynamic shared memory, whose limit programs change: which of them, or -1. */
#define FUZZ_LIMITS 2
static inline int fuzz_limit(int kernel)
{
    return kernel == FUZZ_THROUGH_SHARED ? 0 : kernel == FUZZ_THROUGH_ROOM ? 1 : -1;
}

/* Memory of a buffer. From FUZZ_PINNED on the host may touch it. */
enum fuzz_memory { FUZZ_DEVICE, FUZZ_POOL, FUZZ_PINNED, FUZZ_REGISTERED, FUZZ_MANAGED, FUZZ_PAGEABLE, FUZZ_MEMORIES };

/* How a kernel is launched, and attributes of the Ex call (bits). */
enum fuzz_launch { FUZZ_PARAMS, FUZZ_EXTRA, FUZZ_EX, FUZZ_COOPERATIVE, FUZZ_LAUNCHES };
enum fuzz_attr {
    FUZZ_ATTR_CLUSTER = 1,
    FUZZ_ATTR_PRIORITY = 2,
    FUZZ_ATTR_OVERLAP = 4,
    FUZZ_ATTR_NOT_COOPERATIVE = 8,
    FUZZ_ATTR_COOPERATIVE = 16,
    FUZZ_ATTR_COMPLETION = 32, /* a launch completion event */
    FUZZ_ATTR_EVENT = 64,      /* a programmatic event */
    FUZZ_ATTR_CLUSTER_Y = 128, /* a cluster's two blocks differ in y */
    FUZZ_ATTRS = 256
};

enum fuzz_copy {
    FUZZ_COPY_ASYNC,
    FUZZ_COPY_TYPED,
    FUZZ_COPY_2D,
    FUZZ_COPY_PEER,
    FUZZ_COPY_SYNC,
    FUZZ_COPY_TYPED_SYNC,
    FUZZ_COPY_2D_SYNC,
    FUZZ_COPY_2D_UNALIGNED, /* synchronous too */
    FUZZ_COPY_3D,
    FUZZ_COPY_3D_SYNC,
    FUZZ_COPY_PEER_SYNC,
    FUZZ_COPIES
};
enum fuzz_set { FUZZ_SET_ASYNC, FUZZ_SET_SYNC, FUZZ_SET_2D, FUZZ_SET_2D_SYNC, FUZZ_SETS };

static inline bool fuzz_copy_sync(int how)
{
    return how >= FUZZ_COPY_SYNC && how != FUZZ_COPY_3D;
}
static inline bool fuzz_copy_shaped(int how) /* two or three dimensions: the program says what memory it is */
{
    return how == FUZZ_COPY_2D || (how >= FUZZ_COPY_2D_SYNC && how <= FUZZ_COPY_3D_SYNC);
}
static inline bool fuzz_set_sync(int how)
{
    return how == FUZZ_SET_SYNC || how == FUZZ_SET_2D_SYNC;
}

/* The last context slot is on the second device. */
static inline int fuzz_ctx_device(int ctx)
{
    return ctx == FUZZ_CTXS - 1;
}

struct fuzz_op {
    enum fuzz_kind kind;
    int thread;
    int a[FUZZ_ARGS];
    bool certain; /* set by the model: a query's answer is determined */
};

/* The size of a launch in dimension 0 to 2. */
static inline int fuzz_grid(const struct fuzz_op *op, int dimension)
{
    int size = op->a[dimension ? 11 + dimension : 6];
    return dimension && !size ? 1 : size;
}
static inline int fuzz_block(const struct fuzz_op *op, int dimension)
{
    int size = op->a[dimension ? 13 + dimension : 7];
    return dimension && !size ? 1 : size;
}
static inline int fuzz_blocks(const struct fuzz_op *op)
{
    return fuzz_grid(op, 0) * fuzz_grid(op, 1) * fuzz_grid(op, 2);
}
static inline int fuzz_block_threads(const struct fuzz_op *op)
{
    return fuzz_block(op, 0) * fuzz_block(op, 1) * fuzz_block(op, 2);
}

struct fuzz_program {
    uint64_t seed;
    bool ptsz; /* explicit streams go through the _ptsz entries, as every CUDA runtime does */
    struct fuzz_op *ops;
    size_t n, cap;
    uint32_t full; /* bit set of buffers: determined in every word at the end; set by settling */
};

/* ---- program.c ---- */
void fuzz_program_add(struct fuzz_program *program, const struct fuzz_op *op);
void fuzz_program_drop(struct fuzz_program *program);
void fuzz_program_print(const struct fuzz_program *program, FILE *to);
/* False with one line on stderr. */
bool fuzz_program_read(struct fuzz_program *program, const char *path);
const char *fuzz_op_name(enum fuzz_kind kind);
/* Drops operations that the model refuses; the number dropped. Sets `certain` and `full`. */
size_t fuzz_program_settle(struct fuzz_program *program);

/* ---- generate.c ---- */
/* Only seeds that this divides have faults on the device, since a process may behave differently ever after: a run
 * ends with them. */
#define FUZZ_FAULT_SEEDS 250
void fuzz_generate(uint64_t seed, struct fuzz_program *program);

/* ---- execute.c ---- */
struct fuzz_outcome {
    uint64_t digest;     /* of the whole log */
    unsigned unexpected; /* calls that failed although the model says that they succeed */
};
/* Once a process. dlsym: functions by dlsym instead of cuGetProcAddress. folder: where the kernels lie. False with one
 * line on stderr. */
bool fuzz_execute_open(const char *folder, bool by_dlsym);
/* Runs a settled program; log: NULL, or where every line of the log goes. */
struct fuzz_outcome fuzz_execute(const struct fuzz_program *program, FILE *log);

#endif
