/* Streams and ops: queues, worker threads, and the three schedules.
 *
 * Every stream with demanded ops has a thread of its own, so two submitted kernels can always run together. An op runs
 * when it is the head of its queue, its dependencies are done and it is demanded. Eager and random: every op is born
 * demanded. Lazy: an op becomes demanded when a host thread must wait for it (and with it all that it depends on),
 * after several not-ready answers, or when no driver call came for idle_ms, as real hardware would have started long
 * ago. A host thread that waits runs what it waits for itself, as far as no worker does and no host function is in it:
 * waking other threads costs more than most ops.
 */
#include "tests/sim/config.h"
#include "tests/sim/report.h"

#include <signal.h>
#include <stdio.h>

static pthread_cond_t changed = PTHREAD_COND_INITIALIZER; /* an awaited op is done */
static uint64_t next_op = 1, next_stream = 1;
static uint64_t last_touch_ns; /* atomic */
static bool ticker_runs;

/* Every stream that has a queue, for the ticker. */
#define STREAMS_MAX 4096
static struct sim_stream *live[STREAMS_MAX];
static size_t n_live;

/* Threads whose stream is gone. */
struct worker {
    pthread_cond_t wake;
    struct sim_stream *stream;
    struct worker *next;
    bool started;
};
static struct worker *spare;

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

/* Until the op is done, or something else. */
static void wait_for(struct sim_op *op)
{
    op->awaited = true;
    pthread_cond_wait(&changed, &sim_lock);
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

static void *work(void *argument);

/* The stream's thread looks at its queue; a stream without one gets one. */
static void wake_worker(struct sim_stream *stream)
{
    if (stream->has_worker) {
        pthread_cond_signal(&stream->wake);
        return;
    }
    struct worker *worker = spare;
    if (worker)
        spare = worker->next;
    else if ((worker = calloc(1, sizeof(*worker))))
        pthread_cond_init(&worker->wake, NULL);
    if (!worker)
        return;
    stream->has_worker = true;
    sim_stream_hold(stream);
    bool fresh = !worker->started;
    worker->started = true;
    worker->stream = stream;
    if (!fresh) {
        pthread_cond_signal(&worker->wake);
    } else if (!start_thread(work, worker)) {
        fprintf(stderr, "sim: cannot start a thread\n");
        stream->has_worker = false;
        sim_stream_release(stream);
        free(worker);
    }
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
}

void sim_op_complete(struct sim_op *op)
{
    op->done = true;
    op->done_ns = sim_now_ns();
    forget_deps(op);
    if (op->awaited)
        pthread_cond_broadcast(&changed);
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

/* ---- running ---- */
/* A dependency that is not done, or NULL. */
static struct sim_op *blocker(const struct sim_op *op)
{
    for (size_t i = 0; i < op->n_deps; i++)
        if (!op->deps[i]->done)
            return op->deps[i];
    return NULL;
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

/* A closed stream has nothing more to run. */
static void retire(struct sim_stream *stream)
{
    for (size_t i = 0; i < n_live; i++) {
        if (live[i] == stream) {
            live[i] = live[--n_live];
            sim_stream_release(stream);
            return;
        }
    }
}

static void serve(struct sim_stream *stream)
{
    sim_self.number = -(int)stream->id;
    while (!stream->closing || stream->head) {
        struct sim_op *op = stream->head, *dep;
        if (!op || !op->demanded || op->running)
            pthread_cond_wait(&stream->wake, &sim_lock);
        else if ((dep = blocker(op)))
            wait_for(dep);
        else
            run_head(stream, op);
    }
    stream->has_worker = false;
    retire(stream);
    sim_stream_release(stream);
}

static void *work(void *argument)
{
    struct worker *self = argument;
    pthread_mutex_lock(&sim_lock);
    for (;;) {
        serve(self->stream);
        self->stream = NULL;
        self->next = spare;
        spare = self;
        while (!self->stream)
            pthread_cond_wait(&self->wake, &sim_lock);
    }
    return NULL;
}

/* ---- waiting ---- */
/* The op that must run next for `op` to get done, or NULL when it is not queued yet. */
static struct sim_op *next_for(const struct sim_op *op)
{
    for (;;) {
        struct sim_op *head = op->stream->head, *dep = head ? blocker(head) : NULL;
        if (!dep || head->running)
            return head;
        op = dep;
    }
}

/* Another thread's turn. */
static void leave_stream(struct sim_stream *stream)
{
    if (!stream)
        return;
    if (stream->head && stream->head->demanded && !stream->head->running)
        wake_worker(stream);
    if (stream->closing && !stream->head && !stream->has_worker)
        retire(stream);
    sim_stream_release(stream);
}

void sim_op_wait(struct sim_op *op)
{
    struct sim_stream *at = NULL; /* whose ops this thread runs */
    sim_op_hold(op);
    while (!op->done) {
        struct sim_op *next = next_for(op);
        if (at && (!next || next->stream != at)) {
            leave_stream(at);
            at = NULL;
        } else if (next && !next->running && (next->bare || sim_task_plain(&next->task))) {
            if (!at)
                sim_stream_hold(at = next->stream);
            next->demanded = true;
            run_head(at, next);
        } else {
            if (next && !next->running) {
                sim_op_demand(next);
                wake_worker(next->stream); /* it may have looked while this thread ran the op before */
            }
            if (next)
                next->awaited = true;
            wait_for(op);
        }
    }
    leave_stream(at);
    sim_cost_until(op->vend_ns);
    sim_op_release(op);
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
        wait_for(stream->head);
    }
    if (stream->legacy) {
        for (struct sim_stream *other = stream->ctx->streams; other; other = other->next)
            if (sim_stream_blocking(other))
                order_after(op, other);
    } else if (sim_stream_blocking(stream)) {
        order_after(op, stream->ctx->legacy);
    }
    if (!stream->listed && n_live < STREAMS_MAX) {
        stream->listed = true;
        sim_stream_hold(stream);
        live[n_live++] = stream;
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
    if (stream->has_worker)
        wake_worker(stream);
    else if (!stream->head)
        retire(stream);
    sim_stream_release(stream);
}

void sim_stream_drain(struct sim_stream *stream)
{
    sim_cost_until(stream->device_ns);
    if (stream->tail)
        sim_op_wait(stream->tail);
}
