/* Streams and ops: queues, worker threads, and the three schedules.
 *
 * Every stream has a thread of its own, started with its first op, so two submitted kernels can always run together. An
 * op runs when it is the head of its queue, its dependencies are done and it is demanded. Eager and random: every op is
 * born demanded. Lazy: an op becomes demanded when a host thread must wait for it (and with it all that it depends on),
 * after several not-ready answers, or when no driver call came for idle_ms, as real hardware would have started long
 * ago.
 */
#include "tests/sim/config.h"
#include "tests/sim/report.h"

#include <signal.h>
#include <stdio.h>

static pthread_cond_t changed = PTHREAD_COND_INITIALIZER; /* an op is done, a queue has room, an event was replaced */
static unsigned int waiters;                              /* threads in cond_wait on it */
static uint64_t next_op = 1, next_stream = 1;
static uint64_t last_touch_ns; /* atomic */
static bool ticker_runs;

/* Every stream that has a queue, for the ticker. */
#define STREAMS_MAX 4096
static struct sim_stream *live[STREAMS_MAX];
static size_t n_live;

uint64_t sim_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void sim_sched_touch(void)
{
    if (sim_config.schedule == SIM_LAZY)
        __atomic_store_n(&last_touch_ns, sim_now_ns(), __ATOMIC_RELAXED);
}

static void wait_changed(void)
{
    waiters++;
    pthread_cond_wait(&changed, &sim_lock);
    waiters--;
}

void sim_changed_broadcast(void)
{
    if (waiters)
        pthread_cond_broadcast(&changed);
}

/* ---- ops ---- */
struct sim_op *sim_op_new(struct sim_stream *stream)
{
    struct sim_op *op = calloc(1, sizeof(*op));
    if (!op)
        return NULL;
    op->number = next_op++;
    op->refs = 1;
    op->bare = true;
    op->stream = stream;
    sim_stream_hold(stream);
    op->demanded = sim_config.schedule != SIM_LAZY;
    return op;
}

struct sim_op *sim_op_hold(struct sim_op *op)
{
    op->refs++;
    return op;
}

static void forget_deps(struct sim_op *op)
{
    for (size_t i = 0; i < op->n_deps; i++)
        sim_op_release(op->deps[i]);
    free(op->deps);
    op->deps = NULL;
    op->n_deps = op->cap_deps = 0;
}

void sim_op_release(struct sim_op *op)
{
    if (!op || --op->refs)
        return;
    forget_deps(op);
    sim_op_release(op->parent);
    if (!op->bare)
        sim_task_drop(&op->task);
    sim_stream_release(op->stream);
    free(op);
}

bool sim_op_after(struct sim_op *op, struct sim_op *earlier)
{
    if (!earlier || earlier == op)
        return true;
    if (op->vend_ns < earlier->vend_ns)
        op->vend_ns = earlier->vend_ns; /* holds the start until sim_cost_op */
    if (earlier->done)
        return true;
    if (op->n_deps == op->cap_deps) {
        size_t cap = op->cap_deps ? 2 * op->cap_deps : 2;
        struct sim_op **deps = realloc(op->deps, cap * sizeof(struct sim_op *));
        if (!deps)
            return false;
        op->deps = deps;
        op->cap_deps = cap;
    }
    op->deps[op->n_deps++] = sim_op_hold(earlier);
    return true;
}

static void wake_worker(struct sim_stream *stream)
{
    pthread_cond_signal(&stream->wake);
}

void sim_op_demand(struct sim_op *op)
{
    if (op->parent)
        sim_op_demand(op->parent);
    if (op->demanded || op->done)
        return;
    /* A demanded op demands everything before it in its queue, and what those depend on. */
    for (struct sim_op *at = op->parent ? NULL : op->stream->head; at; at = at->next) {
        if (!at->demanded) {
            at->demanded = true;
            for (size_t i = 0; i < at->n_deps; i++)
                sim_op_demand(at->deps[i]);
        }
        if (at == op)
            break;
    }
    op->demanded = true;
    wake_worker(op->stream);
    sim_changed_broadcast();
}

void sim_op_wait(struct sim_op *op)
{
    sim_op_hold(op);
    sim_op_demand(op);
    while (!op->done)
        wait_changed();
    sim_cost_until(op->vend_ns);
    sim_op_release(op);
}

void sim_op_complete(struct sim_op *op)
{
    op->done = true;
    op->done_ns = sim_now_ns();
    forget_deps(op);
    sim_changed_broadcast();
}

/* ---- lazy schedule: the idle timer ---- */
static void demand_all(void)
{
    for (size_t i = 0; i < n_live; i++)
        if (live[i]->tail)
            sim_op_demand(live[i]->tail);
}

static void *ticker(void *unused)
{
    (void)unused;
    uint64_t idle = sim_config.idle_ms * 1000000u;
    for (;;) {
        struct timespec nap = {.tv_nsec = (long)(idle / 3 < 900000000u ? idle / 3 : 900000000u)};
        nanosleep(&nap, NULL);
        uint64_t now = sim_now_ns();
        pthread_mutex_lock(&sim_lock);
        bool quiet = now - __atomic_load_n(&last_touch_ns, __ATOMIC_RELAXED) >= idle;
        /* A program that never stops calling must see progress too: nothing waits for more than 20 times that. */
        for (size_t i = 0; i < n_live && !quiet; i++)
            for (struct sim_op *op = live[i]->head; op && !quiet; op = op->next)
                quiet = !op->demanded && now > op->born_ns && now - op->born_ns > 20 * idle;
        if (quiet)
            demand_all();
        pthread_mutex_unlock(&sim_lock);
    }
    return NULL;
}

static bool start_thread(void *(*run)(void *), void *argument)
{
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    int error = pthread_create(&thread, &attr, run, argument);
    pthread_attr_destroy(&attr);
    return !error;
}

/* ---- workers ---- */
static bool runnable(struct sim_op *op)
{
    if (!op->demanded)
        return false;
    for (size_t i = 0; i < op->n_deps; i++)
        if (!op->deps[i]->done)
            return false;
    return true;
}

/* Called without the lock. The delay depends on seed and op number only. */
static void random_delay(uint64_t number)
{
    uint64_t x = sim_config.seed * 0x9e3779b97f4a7c15u + number * 0xbf58476d1ce4e5b9u;
    x ^= x >> 31;
    x *= 0x94d049bb133111ebu;
    x ^= x >> 29;
    if (x % 4)
        return;
    struct timespec nap = {.tv_nsec = (long)((x >> 8) % (sim_config.delay_us * 1000 + 1))};
    nanosleep(&nap, NULL);
}

static void run_head(struct sim_stream *stream, struct sim_op *op)
{
    struct sim_ctx *ctx = stream->ctx;
    op->running = true;
    if (!op->bare && !ctx->sticky && !ctx->dead) {
        pthread_mutex_unlock(&sim_lock);
        if (sim_config.schedule == SIM_RANDOM)
            random_delay(op->number);
        sim_log_exec(op->number, stream, &op->task);
        sim_task_run(&op->task, ctx, op->number);
        pthread_mutex_lock(&sim_lock);
    } else if (!op->bare && op->task.kind == SIM_TASK_GRAPH) {
        /* A poisoned context runs nothing, but records inside the graph must not be waited for forever. */
        for (size_t i = 0; i < op->task.u.graph.n_records; i++)
            sim_op_complete(op->task.u.graph.records[i]);
    }
    stream->head = op->next;
    if (!stream->head)
        stream->tail = NULL;
    stream->pending--;
    sim_op_complete(op);
    if (!op->bare) {
        sim_task_drop(&op->task);
        op->bare = true;
    }
    sim_op_release(op);
}

static void *worker(void *argument)
{
    struct sim_stream *stream = argument;
    pthread_mutex_lock(&sim_lock);
    sim_self.number = -(int)stream->id;
    while (!stream->closing || stream->head) {
        struct sim_op *op = stream->head;
        if (!op || !op->demanded)
            pthread_cond_wait(&stream->wake, &sim_lock);
        else if (!runnable(op))
            wait_changed();
        else
            run_head(stream, op);
    }
    for (size_t i = 0; i < n_live; i++)
        if (live[i] == stream)
            live[i] = live[--n_live];
    sim_stream_release(stream);
    pthread_mutex_unlock(&sim_lock);
    return NULL;
}

bool sim_stream_blocking(const struct sim_stream *stream)
{
    return !stream->legacy && !(stream->flags & CU_STREAM_NON_BLOCKING);
}

/* The virtual clock needs the other stream's end also when the work itself is long done. */
static void order_after(struct sim_op *op, const struct sim_stream *stream)
{
    if (op->vend_ns < stream->device_ns)
        op->vend_ns = stream->device_ns;
    sim_op_after(op, stream->tail);
}

void sim_stream_push(struct sim_stream *stream, struct sim_op *op)
{
    /* Real queues have an end: the call waits there, whatever it is. */
    while (stream->pending >= sim_config.queue) {
        sim_op_demand(stream->head);
        wait_changed();
    }
    if (stream->legacy) {
        for (struct sim_stream *other = stream->ctx->streams; other; other = other->next)
            if (sim_stream_blocking(other))
                order_after(op, other);
    } else if (sim_stream_blocking(stream)) {
        order_after(op, stream->ctx->legacy);
    }
    if (!stream->has_worker && n_live < STREAMS_MAX) {
        stream->has_worker = true;
        sim_stream_hold(stream);
        live[n_live++] = stream;
        if (!start_thread(worker, stream)) {
            fprintf(stderr, "sim: cannot start a thread\n");
            stream->has_worker = false;
            n_live--;
            sim_stream_release(stream);
        }
    }
    op->born_ns = sim_now_ns();
    sim_cost_op(op);
    if (stream->tail)
        stream->tail->next = op;
    else
        stream->head = op;
    stream->tail = op;
    stream->pending++;
    stream->refusals = 0;
    if (!op->demanded) {
        if (!ticker_runs)
            ticker_runs = start_thread(ticker, NULL);
    } else if (stream->head == op) {
        wake_worker(stream);
    }
}

CUresult sim_stream_submit(struct sim_stream *stream, struct sim_task *task, struct sim_op **out)
{
    if (out)
        *out = NULL;
    CUresult refused = sim_capture_implicit(stream);
    if (refused) {
        sim_task_drop(task);
        return refused;
    }
    if (stream->capture)
        return sim_capture_task(stream, task);
    struct sim_op *op = sim_op_new(stream);
    if (!op) {
        sim_task_drop(task);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    op->task = *task;
    op->bare = false;
    sim_log_detail(" op=%llu", (unsigned long long)op->number);
    if (out)
        *out = sim_op_hold(op);
    sim_stream_push(stream, op);
    return CUDA_SUCCESS;
}

/* ---- stream objects ---- */
struct sim_stream *sim_stream_new(struct sim_ctx *ctx, unsigned int flags, int priority)
{
    struct sim_stream *stream = calloc(1, sizeof(*stream));
    if (!stream)
        return NULL;
    stream->refs = 1;
    stream->id = next_stream++;
    stream->ctx = ctx;
    stream->flags = flags;
    stream->priority = priority;
    pthread_cond_init(&stream->wake, NULL);
    stream->next = ctx->streams;
    ctx->streams = stream;
    return stream;
}

void sim_stream_hold(struct sim_stream *stream)
{
    stream->refs++;
}

void sim_stream_release(struct sim_stream *stream)
{
    if (!stream || --stream->refs)
        return;
    struct sim_stream **link = &stream->ctx->streams;
    while (*link && *link != stream)
        link = &(*link)->next;
    if (*link)
        *link = stream->next;
    pthread_cond_destroy(&stream->wake);
    free(stream->cap_deps);
    free(stream->cap_edges);
    free(stream);
}

void sim_stream_close(struct sim_stream *stream)
{
    sim_capture_forget_stream(stream);
    stream->closing = true;
    stream->handle = NULL;
    wake_worker(stream);
    sim_stream_release(stream);
}

void sim_stream_drain(struct sim_stream *stream)
{
    sim_cost_until(stream->device_ns);
    if (stream->tail)
        sim_op_wait(stream->tail);
}
