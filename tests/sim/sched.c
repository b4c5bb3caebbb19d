/* Streams and ops: queues, worker threads, and the three schedules.
 *
 * Every stream with demanded ops has a thread of its own, so two submitted kernels can always run together. An op runs
 * when it is the head of its queue, its dependencies are done and it is demanded. Eager: every op is born
 * demanded. Lazy: an op becomes demanded when a host thread must wait for it (and with it all that it depends on),
 * after several not-ready answers, or when no driver call came for idle_ms, as real hardware would have started long
 * ago. Random: half of the times that a stream has something to do again it does so at once, else up to LATE driver
 * calls later, or when a host thread must wait or no call came, so the order among streams and calls depends on the
 * seed; one op in 16 starts up to delay_us late besides, and before every other op of a stream one of another may
 * run (run_other). That mixes streams as much as a nap before every fourth op did, at half the processor time. A host
 * thread that waits runs what it waits for itself, as far as no worker does and no host function is in it: waking other
 * threads costs more than most ops.
 */
#include "tests/sim/config.h"
#include "tests/sim/report.h"
#include "tests/sim/seat.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>

static uint64_t calls; /* of the driver */
static uint64_t ticks; /* of the ticker, two in idle_ms */
static bool ticker_runs;
static uint64_t next_due = UINT64_MAX; /* the first call at which some stream is due */

/* Random: most calls that a stream's work starts late. */
#define LATE 16

/* Every stream that has a queue, for the ticker. */
#define STREAMS_MAX 4096
static struct sim_stream *live[STREAMS_MAX];
static size_t n_live;

/* Threads whose stream is gone. */
struct sim_worker {
    struct sim_seat seat;
    struct sim_stream *stream;
    struct sim_worker *next;
    bool started;
    bool idle; /* waits for something to do, not for an op */
};
static struct sim_worker *spare;

uint64_t sim_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void sim_sched_touch(void)
{
    if (++calls < next_due)
        return;
    next_due = UINT64_MAX;
    for (size_t i = 0; i < n_live; i++) {
        struct sim_stream *stream = live[i];
        if (stream->due && stream->due <= calls) {
            stream->due = 0;
            if (stream->tail)
                sim_op_demand(stream->tail);
        } else if (stream->due && stream->due < next_due) {
            next_due = stream->due;
        }
    }
}

uint64_t sim_dice(uint64_t number)
{
    uint64_t x = sim_config.seed * 0x9e3779b97f4a7c15u + number * 0xbf58476d1ce4e5b9u;
    x ^= x >> 31;
    x *= 0x94d049bb133111ebu;
    return x ^ (x >> 29);
}

/* Random: whether the op, just queued, starts later. What comes behind it does so too. */
static bool is_late(struct sim_stream *stream, uint64_t number)
{
    if (!stream->listed)
        return false; /* nothing but a wait would start it */
    if (!stream->due) {
        uint64_t x = sim_dice(number);
        if (x >> 40 & 1)
            return false;
        stream->due = calls + 1 + (x >> 41) % LATE;
        if (stream->due < next_due)
            next_due = stream->due;
    }
    return true;
}

/* ---- demand ---- */
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
    if (stream->worker) {
        if (stream->worker->idle)
            sim_seat_call(&stream->worker->seat);
        return;
    }
    struct sim_worker *worker = spare;
    if (worker)
        spare = worker->next;
    else if (!(worker = calloc(1, sizeof(*worker))))
        return;
    stream->worker = worker;
    sim_stream_hold(stream);
    bool fresh = !worker->started;
    worker->started = true;
    worker->stream = stream;
    if (!fresh) {
        sim_seat_call(&worker->seat);
    } else if (!start_thread(work, worker)) {
        fprintf(stderr, "sim: cannot start a thread\n");
        stream->worker = NULL;
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
    if (op->bare) /* as records are */
        op->done_ns = sim_now_ns();
    sim_op_forget_deps(op);
    for (struct sim_waiter *at = op->waiters; at; at = at->next)
        sim_seat_call(at->seat);
    op->waiters = NULL;
}

/* ---- lazy and random schedules: the idle timer ---- */
static void demand_all(void)
{
    for (size_t i = 0; i < n_live; i++)
        if (live[i]->tail)
            sim_op_demand(live[i]->tail);
}

static void *ticker(void *unused)
{
    (void)unused;
    uint64_t idle = sim_config.idle_ms * 1000000u, seen = 0, since = 0;
    for (;;) {
        struct timespec nap = {.tv_nsec = (long)(idle / 2 < 900000000u ? idle / 2 : 900000000u)};
        nanosleep(&nap, NULL);
        pthread_mutex_lock(&sim_lock);
        ticks++;
        if (calls != seen) {
            seen = calls;
            since = ticks;
        }
        bool quiet = ticks - since >= 2;
        /* A program that never stops calling must see progress too: nothing waits for more than 20 times that. */
        for (size_t i = 0; i < n_live && !quiet; i++)
            for (struct sim_op *op = live[i]->head; op && !quiet; op = op->next)
                quiet = !op->demanded && ticks - op->born > 40;
        if (quiet)
            demand_all();
        sim_unlock();
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
    uint64_t x = sim_dice(number);
    if (x % 16)
        return;
    struct timespec nap = {.tv_nsec = (long)((x >> 8) % (sim_config.delay_us * 1000 + 1))};
    nanosleep(&nap, NULL);
}

static void run_head(struct sim_stream *stream, struct sim_op *op)
{
    struct sim_ctx *ctx = stream->ctx;
    op->running = true;
    if (!op->bare && !ctx->sticky && !ctx->dead) {
        sim_unlock();
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

/* Another thread's turn. */
static void leave_stream(struct sim_stream *stream);

/* Random: half of the times, what another stream could do now comes first, when nothing can hold it up. It costs no
 * other thread. */
static bool run_other(const struct sim_stream *stream)
{
    static uint64_t strays;
    if (sim_config.schedule != SIM_RANDOM || n_live < 2)
        return false;
    uint64_t x = sim_dice(~++strays);
    for (size_t i = 0; i < n_live && x & 1; i++) {
        struct sim_stream *other = live[((x >> 8) + i) % n_live];
        struct sim_op *op = other->head;
        if (other == stream || !op || op->running || blocker(op) || !(op->bare || sim_task_prompt(&op->task)))
            continue;
        sim_stream_hold(other);
        op->demanded = true;
        run_head(other, op);
        leave_stream(other);
        return true;
    }
    return false;
}

/* A closed stream has nothing more to run. Inlined, gcc takes the two references for one. */
__attribute__((noinline)) static void retire(struct sim_stream *stream)
{
    for (size_t i = 0; i < n_live; i++) {
        if (live[i] == stream) {
            live[i] = live[--n_live];
            sim_stream_release(stream);
            return;
        }
    }
}

static void rest(struct sim_worker *self)
{
    self->idle = true;
    sim_seat_wait(&self->seat);
    self->idle = false;
}

static void serve(struct sim_worker *self, struct sim_stream *stream)
{
    sim_self.number = -(int)stream->id;
    while (!stream->closing || stream->head) {
        struct sim_op *op = stream->head, *dep;
        if (!op || !op->demanded || op->running)
            rest(self);
        else if ((dep = blocker(op)))
            sim_seat_wait_for(&self->seat, dep, NULL);
        else if (!run_other(stream))
            run_head(stream, op);
    }
    stream->worker = NULL;
    retire(stream);
    sim_stream_release(stream);
}

static void *work(void *argument)
{
    struct sim_worker *self = argument;
    prctl(PR_SET_TIMERSLACK, 1000UL); /* or all naps would be about as long */
    pthread_mutex_lock(&sim_lock);
    for (;;) {
        serve(self, self->stream);
        self->stream = NULL;
        self->next = spare;
        spare = self;
        while (!self->stream)
            rest(self);
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

static void leave_stream(struct sim_stream *stream)
{
    if (!stream)
        return;
    if (stream->head ? stream->head->demanded && !stream->head->running : stream->closing && stream->worker)
        wake_worker(stream);
    if (stream->closing && !stream->head && !stream->worker)
        retire(stream);
    sim_stream_release(stream);
}

void sim_op_wait(struct sim_op *op)
{
    struct sim_stream *at = NULL; /* whose ops this thread runs */
    struct sim_seat seat = {0};
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
            if (!run_other(at))
                run_head(at, next);
        } else {
            if (next && !next->running) {
                sim_op_demand(next);
                wake_worker(next->stream); /* it may have looked while this thread ran the op before */
            }
            sim_seat_wait_for(&seat, op, next);
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
        struct sim_seat seat = {0};
        sim_op_demand(stream->head);
        sim_seat_wait_for(&seat, stream->head, NULL);
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
    op->born = ticks;
    sim_cost_op(op);
    if (stream->tail)
        stream->tail->next = op;
    else
        stream->head = op;
    stream->tail = op;
    stream->pending++;
    stream->refusals = 0;
    if (sim_config.schedule == SIM_RANDOM && is_late(stream, op->number))
        op->demanded = false;
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
void sim_stream_close(struct sim_stream *stream)
{
    sim_capture_forget_stream(stream);
    stream->closing = true;
    stream->handle = NULL;
    if (stream->worker)
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
