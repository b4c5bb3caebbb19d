/* Central types of the simulated driver.
 *
 * Words: a *task* says what the device shall do (a kernel, a copy, ...), no matter where it came from. An *op* is a
 * task (or a bare point in time) submitted to a stream; it runs when the ops before it in its stream and its
 * dependencies are done, and, under the lazy and random schedules, only when it is *demanded*. A *node* is a task
 * inside a graph. A *plan* is the immutable list of tasks one graph launch runs; executable graphs share plans with
 * their launches, copy on write. Thread rule: one lock (sim_lock) protects everything here; every function of the
 * simulator is called with it held unless its comment says otherwise. Kernels, copies and host functions run without
 * it, on the stream's own thread.
 */
#ifndef SIM_CORE_H
#define SIM_CORE_H

#include "tests/sim/api.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SIM_DEVICES_MAX 8
#define SIM_ATTRS_MAX 16
#define SIM_CTX_STACK_MAX 64

struct sim_op;
struct sim_ctx;
struct sim_capture;
struct sim_func;
struct sim_graph;
struct sim_node;
struct sim_plan;

/* ---- handles (handle.c): addresses given to the program, reused last-in first-out after destruction ---- */
enum sim_kind {
    SIM_CTX,
    SIM_STREAM,
    SIM_EVENT,
    SIM_MODULE,
    SIM_FUNC,
    SIM_LIBRARY,
    SIM_KERNEL,
    SIM_GRAPH,
    SIM_NODE,
    SIM_EXEC,
    SIM_POOL,
    SIM_PHYSICAL,
    SIM_USEROBJ,
    SIM_KINDS
};
void *sim_handle_make(enum sim_kind kind, void *object);         /* NULL when out of memory */
void *sim_handle_object(enum sim_kind kind, const void *handle); /* NULL for anything that is not a live handle */
void sim_handle_free(enum sim_kind kind, const void *handle);

/* ---- threads (entry.c) ---- */
struct sim_thread {
    int number;       /* order of first call, for the log; -1 - stream id in workers */
    bool ptsz;        /* the call under way came through a per-thread-default-stream entry */
    bool in_callback; /* a host function runs on this thread: no call is legal */
    CUstreamCaptureMode capture_mode;
    struct {
        CUcontext handle;
        uint64_t id;
    } stack[SIM_CTX_STACK_MAX];
    int depth;
    uint64_t host_ns;    /* virtual host clock */
    CUstream stream;     /* log: stream of the call under way */
    char detail[256];    /* log text of the call under way */
    const char *corrupt; /* field of a node that the call under way gets wrong, or NULL: see config.h */
};
extern __thread struct sim_thread sim_self;
extern pthread_mutex_t sim_lock;
void sim_unlock(void); /* the only way to give the lock back (seat.c) */

/* ---- tasks (task.c) ---- */
enum sim_task_kind {
    SIM_TASK_EMPTY,
    SIM_TASK_KERNEL,
    SIM_TASK_MEMSET,
    SIM_TASK_COPY,
    SIM_TASK_HOST,   /* host function or stream callback */
    SIM_TASK_RECORD, /* event record; in a stream the op itself is the record */
    SIM_TASK_WAIT,
    SIM_TASK_CHILD,
    SIM_TASK_FREE,  /* stream-ordered free: scribbles over the block */
    SIM_TASK_GRAPH, /* a whole graph launch */
    SIM_TASK_WRITE, /* stream write value */
    SIM_TASK_WAITVALUE,
};

struct sim_task {
    enum sim_task_kind kind;
    union {
        struct {
            struct sim_func *func;
            unsigned int grid[3], block[3], shared;
            unsigned char *args; /* owned, laid out by the function's offsets */
            size_t args_size;
            CUlaunchAttribute attrs[SIM_ATTRS_MAX];
            unsigned int n_attrs;
        } kernel;
        struct {
            CUdeviceptr dst;
            size_t pitch, width, height; /* width in elements */
            unsigned int value, element;
        } set;
        struct {
            const unsigned char *src;
            unsigned char *dst;
            size_t src_pitch, src_slice, dst_pitch, dst_slice;
            size_t width, height, depth;
            unsigned char *staged; /* owned copy of a pageable source, or NULL */
            uint64_t resolved;     /* of a node: id of the pinned memory that its source was when it was set, or 0 */
        } copy;
        struct {
            CUhostFn fn;
            CUstreamCallback callback; /* instead of fn */
            CUstream stream;
            void *data;
        } host;
        struct {
            struct sim_event *event; /* referenced */
            struct sim_op *op;       /* of one launch: the record that this run completes, or is awaited */
        } event;
        struct {
            struct sim_plan *plan;   /* referenced: SIM_TASK_GRAPH, and SIM_TASK_CHILD inside a plan */
            struct sim_graph *graph; /* owned clone: SIM_TASK_CHILD inside a graph */
            struct sim_op **records; /* owned: records of this launch, in plan order */
            size_t n_records;
        } graph;
        struct {
            void *address;
            size_t size;
        } free;
        struct {
            void *address;
            uint64_t value;
            unsigned int bytes, flags;
        } value;
    } u;
};
/* Deep copy; false when out of memory. */
bool sim_task_copy(struct sim_task *to, const struct sim_task *from);
void sim_task_drop(struct sim_task *task);
/* Runs the task. Called without the lock; `ctx` is poisoned when the task faults. `number` identifies the op. */
void sim_task_run(struct sim_task *task, struct sim_ctx *ctx, uint64_t number);
/* Calls nothing of the program and waits for no value in memory. */
bool sim_task_plain(const struct sim_task *task);
/* And no kernel in it waits for anything. */
bool sim_task_prompt(const struct sim_task *task);
const char *sim_task_name(const struct sim_task *task);

/* ---- ops and streams (op.c, sched.c, stream.c) ---- */
struct sim_op {
    uint64_t number;
    int refs;
    struct sim_stream *stream;
    struct sim_op *next;
    struct sim_op *parent; /* the graph launch that completes this record */
    struct sim_op **deps;
    size_t n_deps, cap_deps;
    bool done, demanded, running, bare;
    struct sim_waiter *waiters;
    uint64_t born;    /* tick */
    uint64_t done_ns; /* real time, for elapsed time */
    uint64_t vend_ns; /* virtual device time at which it ends */
    struct sim_task task;
};

struct sim_stream {
    int refs;
    uint64_t id;
    CUstream handle; /* NULL for the context's own default streams */
    struct sim_ctx *ctx;
    unsigned int flags;
    int priority;
    bool legacy, per_thread, closing;
    bool listed;                /* in the ticker's list */
    uint64_t due;               /* random: the driver call at which it starts, or 0 */
    pthread_t owner;            /* of a per-thread stream */
    struct sim_worker *worker;  /* serves it, or NULL */
    struct sim_op *head, *tail; /* queue: head runs or is next; tail is the youngest op not done */
    size_t pending;
    unsigned int refusals; /* not-ready answers since the last progress */
    uint64_t device_ns;    /* virtual device clock */
    struct sim_capture *capture;
    struct sim_node **cap_deps; /* tails of the capture in this stream */
    CUgraphEdgeData *cap_edges;
    size_t n_cap_deps;
    CUlaunchAttribute attrs[SIM_ATTRS_MAX];
    struct sim_stream *next;
};

struct sim_op *sim_op_new(struct sim_stream *stream); /* one reference, bare, not queued */
struct sim_op *sim_op_hold(struct sim_op *op);
void sim_op_release(struct sim_op *op);
bool sim_op_after(struct sim_op *op, struct sim_op *earlier); /* adds a dependency */
void sim_op_forget_deps(struct sim_op *op);
void sim_op_demand(struct sim_op *op);
void sim_op_wait(struct sim_op *op);     /* blocks, or runs the op; releases the lock meanwhile */
void sim_op_complete(struct sim_op *op); /* marks done and wakes waiters */
/* Queues `op` (takes over one reference), adding the legacy-stream dependencies; waits while the queue is full. */
void sim_stream_push(struct sim_stream *stream, struct sim_op *op);
/* Queues a task (content taken over, also on failure) or adds it to the stream's capture. `*out`, when asked for, is a
 * new reference to the op, NULL when captured. */
CUresult sim_stream_submit(struct sim_stream *stream, struct sim_task *task, struct sim_op **out);
void sim_stream_drain(struct sim_stream *stream);
struct sim_stream *sim_stream_new(struct sim_ctx *ctx, unsigned int flags, int priority);
void sim_stream_close(struct sim_stream *stream); /* the worker finishes what is queued, then goes */
void sim_stream_hold(struct sim_stream *stream);
void sim_stream_release(struct sim_stream *stream);
/* Resolves a stream argument in the current context. */
CUresult sim_stream_find(CUstream handle, struct sim_stream **out);
bool sim_stream_blocking(const struct sim_stream *stream);
void sim_sched_touch(void);         /* a driver call happened: restarts the idle timer */
uint64_t sim_now_ns(void);          /* monotonic, no lock needed */
uint64_t sim_dice(uint64_t number); /* random, of the seed and this number alone */

/* ---- contexts and devices (context.c, device.c) ---- */
struct sim_ctx {
    uint64_t id;
    CUcontext handle;
    int device;
    unsigned int flags;
    bool primary, dead;
    CUresult sticky;
    struct sim_stream *streams; /* all, the default ones too */
    struct sim_stream *legacy;
    size_t limits[16];
    CUfunc_cache cache_config;
    struct sim_ctx *peers[SIM_DEVICES_MAX];
    struct sim_ctx *next; /* all contexts ever made */
};
CUresult sim_ctx_current(struct sim_ctx **out); /* INVALID_CONTEXT, CONTEXT_IS_DESTROYED, or the context */
struct sim_ctx *sim_ctx_of(CUcontext handle);
struct sim_ctx *sim_ctx_peek(void); /* current one or NULL */
void sim_ctx_drain(struct sim_ctx *ctx);
void sim_ctx_poison(struct sim_ctx *ctx, CUresult code);
struct sim_ctx *sim_ctx_primary(int device); /* live primary context or NULL */

/* ---- events (event.c) ---- */
struct sim_event {
    int refs;
    CUevent handle;
    struct sim_ctx *ctx;
    unsigned int flags;
    struct sim_op *op; /* latest record, or NULL */
    unsigned int refusals;
    struct sim_capture *capture; /* captured record, or NULL */
    struct sim_node **cap_nodes;
    size_t n_cap_nodes;
};
struct sim_event *sim_event_hold(struct sim_event *event);
void sim_event_release(struct sim_event *event);
void sim_event_set(struct sim_event *event, struct sim_op *op); /* replaces the latest record */
void sim_event_forget_capture(struct sim_event *event);

/* ---- memory (memory.c) ---- */
enum sim_memory { SIM_MEM_PAGEABLE, SIM_MEM_HOST, SIM_MEM_DEVICE, SIM_MEM_MANAGED };
struct sim_range {
    uintptr_t base;
    size_t size;
    enum sim_memory kind;
    int device;
    struct sim_ctx *ctx;
    unsigned int flags;
    bool registered;    /* by cuMemHostRegister */
    bool mapped;        /* by cuMemMap */
    bool sync_memops;   /* memsets of it wait, also asynchronous ones */
    uint64_t id;        /* unique: memory that is registered again is another range */
    CUmemoryPool pool;  /* of stream-ordered memory */
    uintptr_t reserved; /* where the reservation of mapped memory begins, */
    size_t reservation; /* and its size */
};
struct sim_range *sim_range_find(uintptr_t address);
/* Whether [address, +size) lies in one allocation, or is mapped throughout in one reservation. */
bool sim_range_whole(uintptr_t address, size_t size);
/* Kind of the whole range [address, +size); a range that runs over an allocation's end is SIM_MEM_PAGEABLE. */
enum sim_memory sim_range_kind(const void *address, size_t size);
struct sim_range *sim_range_add(uintptr_t base, size_t size, enum sim_memory kind, struct sim_ctx *ctx);
void sim_range_remove(uintptr_t base);
void sim_memory_forget(struct sim_ctx *ctx); /* the context died */
uintptr_t sim_arena_take(int device, size_t size);
void sim_arena_give(int device, uintptr_t address, size_t size);
/* Memory of the driver's own, which has no address: a device has more addresses than memory, so what graphs leave is
 * not in pieces. False: it is short. */
bool sim_memory_take(int device, size_t size);
void sim_memory_give(int device, size_t size);
void sim_scribble(void *address, size_t size); /* so that a late reader sees nonsense */

/* ---- mapped memory (mapping.c) ---- */
bool sim_reserved(uintptr_t address, size_t size); /* whether some of it is, mapped or not */

/* ---- modules (module.c) ---- */
struct sim_param {
    size_t offset, size;
};
struct sim_func {
    struct sim_module *module;
    CUfunction handle;
    const struct sim_kernel_info *info;
    int max_shared; /* dynamic shared memory limit in force */
    int carveout;
    bool own_max_shared, own_carveout; /* set through the function, so no kernel's concern any more */
    bool loaded, dead;
    bool waits; /* may wait for the host or another kernel */
};
struct sim_module {
    int refs;
    CUmodule handle;
    struct sim_ctx *ctx;
    struct sim_object *object;
    bool dead;
    struct sim_func *funcs;
    size_t n_funcs;
    struct sim_library *library; /* or NULL */
    struct sim_module *next;
};
struct sim_kernel {
    CUkernel handle;
    struct sim_library *library;
    const char *name; /* owned */
    int max_shared;   /* dynamic shared memory limit as set through this handle; -1 before */
};
/* A CUfunction argument that may hold a CUkernel: the function in `ctx`. */
CUresult sim_func_find(CUfunction handle, struct sim_ctx *ctx, struct sim_func **out);
CUresult sim_kernel_func(struct sim_kernel *kernel, struct sim_ctx *ctx, struct sim_func **out);
void sim_module_hold(struct sim_module *module);
void sim_module_release(struct sim_module *module);
void sim_module_forget(struct sim_ctx *ctx);
size_t sim_func_args_size(const struct sim_func *func);

/* ---- launches (launch.c) ---- */
/* Validates and fills a kernel task; arguments are copied from kernelParams or extra. */
CUresult sim_launch_task(struct sim_task *task, struct sim_func *func, const unsigned int grid[3],
                         const unsigned int block[3], unsigned int shared, void **params, void **extra);

/* ---- captures (capture.c) ---- */
CUresult sim_capture_task(struct sim_stream *stream, struct sim_task *task); /* takes over the content */
CUresult sim_capture_record(struct sim_stream *stream, struct sim_event *event);
CUresult sim_capture_wait(struct sim_stream *stream, struct sim_event *event);
/* Fails a call that may not be made while this thread (or, in global mode, another) captures. */
CUresult sim_capture_unsafe(void);
/* Fails, and spoils the capture, when `stream` captures, or is the legacy stream while a blocking one captures. */
CUresult sim_capture_refuse(struct sim_stream *stream);
CUresult sim_capture_refuse_ctx(struct sim_ctx *ctx);
CUresult sim_capture_implicit(struct sim_stream *stream);
void sim_capture_forget_stream(struct sim_stream *stream);

#endif
