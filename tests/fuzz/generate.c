/* Programs from seeds: a few threads, each with streams, events and buffers of its own, that repeat a body of launches
 * with other arguments, now and then with an operation more or less, and with something odd in between.
 *
 * Styles: STRAIGHT, one stream for each thread; LINKED, several streams that share buffers by events; WAITING, a
 * synchronisation every few operations; MIXED, any stream, the default ones too; VARIED, kernels that never come in the
 * same order again. What would race is ordered by
 * operations put in before it (fuzz_emit), so every program is determined.
 */
#include "tests/fuzz/generate.h"

#include <string.h>

/* ---- randomness ---- */
static uint64_t next(struct fuzz_gen *g)
{
    uint64_t x = (g->random += 0x9e3779b97f4a7c15u);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

unsigned int fuzz_random(struct fuzz_gen *g, unsigned int below)
{
    return (unsigned int)((next(g) >> 32) * below >> 32);
}

bool fuzz_chance(struct fuzz_gen *g, unsigned int percent)
{
    return fuzz_random(g, 100) < percent;
}

/* ---- ordering ---- */
/* A stream's argument as the thread would name it, or FUZZ_STREAM_MIN - 1. */
static int name_of(struct fuzz_gen *g, int t, int index)
{
    int ctx = fuzz_model_ctx(g->model, t);
    if (index < FUZZ_STREAMS)
        return index;
    if (ctx >= 0 && index == FUZZ_LEGACY(ctx))
        return fuzz_chance(g, 50) ? -1 : -2;
    if (ctx >= 0 && index == FUZZ_OWN(t, ctx))
        return fuzz_chance(g, 50) ? -3 : -4;
    return FUZZ_STREAM_MIN - 1;
}

static bool add(struct fuzz_gen *g, struct fuzz_op op)
{
    if (fuzz_model_apply(g->model, &op))
        return false;
    fuzz_program_add(g->program, &op);
    return true;
}

#define ADD(thread_, kind_, ...) add(g, (struct fuzz_op){.kind = FUZZ_##kind_, .thread = (thread_), .a = {__VA_ARGS__}})

static void hand_over(struct fuzz_gen *g, int from, int to)
{
    if (from == to || from < 0 || from >= g->threads || g->tokens == FUZZ_TOKENS || g->model->gates[to])
        return;
    if (ADD(from, post, g->tokens))
        ADD(to, await, g->tokens++);
}

/* The argument of the operation that names its stream, or NULL. */
static int *stream_of(struct fuzz_op *op)
{
    switch (op->kind) {
    case FUZZ_record:
    case FUZZ_graph_launch:
    case FUZZ_buf_del:
    case FUZZ_duel:
        return &op->a[1];
    case FUZZ_launch:
    case FUZZ_copy:
    case FUZZ_set:
    case FUZZ_host:
    case FUZZ_fetch:
    case FUZZ_wait:
        return &op->a[0];
    default:
        return NULL;
    }
}

static void order_after(struct fuzz_gen *g, struct fuzz_op *op, int culprit)
{
    int t = op->thread;
    if (culprit < 0) {
        hand_over(g, -1 - culprit, t);
        return;
    }
    int name = name_of(g, t, culprit);
    const int *stream = stream_of(op);
    int event = fuzz_pick_event(g, t);
    if (name >= FUZZ_STREAM_MIN && stream && event >= 0 && (fuzz_chance(g, 65) || g->model->gates[t])) {
        if (ADD(t, record, event, name, (int)fuzz_random(g, 2)))
            ADD(t, wait, *stream, event);
    } else if (name >= FUZZ_STREAM_MIN && fuzz_chance(g, 60)) {
        ADD(t, stream_sync, name);
    } else {
        ADD(t, ctx_sync, 0);
    }
}

bool fuzz_emit(struct fuzz_gen *g, struct fuzz_op op)
{
    for (int tries = 0; tries < 5; tries++) {
        enum fuzz_verdict verdict = fuzz_model_apply(g->model, &op);
        if (verdict == FUZZ_LEGAL) {
            fuzz_program_add(g->program, &op);
            return true;
        }
        if (verdict == FUZZ_WRONG || (g->model->captured >= 0 && g->model->capturer == op.thread))
            return false;
        if (verdict == FUZZ_OTHER)
            hand_over(g, g->model->culprit, op.thread);
        else
            order_after(g, &op, g->model->culprit);
    }
    return false;
}

/* ---- choices: an object belongs to the thread that its slot number names ---- */
static bool mine(const struct fuzz_gen *g, int t, int slot)
{
    return slot % g->threads == t;
}

int fuzz_pick_stream(struct fuzz_gen *g, int t)
{
    int ctx = fuzz_model_ctx(g->model, t);
    if (g->style == FUZZ_MIXED && fuzz_chance(g, 25))
        return -1 - (int)fuzz_random(g, 4);
    unsigned int start = fuzz_random(g, FUZZ_STREAMS);
    bool stray = fuzz_chance(g, 2);
    for (unsigned int i = 0; i < FUZZ_STREAMS; i++) {
        int s = (int)((start + i) % FUZZ_STREAMS);
        if (g->model->streams[s].use.live && g->model->streams[s].ctx == ctx && (stray || mine(g, t, s)))
            return s;
    }
    return fuzz_chance(g, 50) ? -1 : -3;
}

int fuzz_pick_buffer(struct fuzz_gen *g, int t, unsigned int kinds)
{
    int ctx = fuzz_model_ctx(g->model, t);
    unsigned int start = fuzz_random(g, FUZZ_BUFFERS);
    bool stray = fuzz_chance(g, 2);
    for (unsigned int i = 0; i < FUZZ_BUFFERS; i++) {
        int b = (int)((start + i) % FUZZ_BUFFERS);
        if (g->model->buffers[b].use.live && kinds >> g->model->buffers[b].kind & 1 &&
            g->model->buffers[b].ctx == ctx && (stray || mine(g, t, b)))
            return b;
    }
    return -1;
}

int fuzz_pick_event(struct fuzz_gen *g, int t)
{
    int ctx = fuzz_model_ctx(g->model, t);
    unsigned int start = fuzz_random(g, FUZZ_EVENTS);
    for (unsigned int i = 0; i < FUZZ_EVENTS; i++) {
        int e = (int)((start + i) % FUZZ_EVENTS);
        if (g->model->events[e].use.live && g->model->events[e].ctx == ctx && mine(g, t, e))
            return e;
    }
    return -1;
}

/* ---- work ---- */
static int pick_code(struct fuzz_gen *g)
{
    if (fuzz_chance(g, 82))
        return 0;
    return fuzz_chance(g, 60) ? 1 : (int)fuzz_random(g, FUZZ_CODES);
}

static int pick_attrs(struct fuzz_gen *g)
{
    int set = 0;
    if (fuzz_chance(g, 20))
        set |= FUZZ_ATTR_CLUSTER | (fuzz_chance(g, 30) ? FUZZ_ATTR_CLUSTER_Y : 0);
    if (fuzz_chance(g, 30))
        set |= FUZZ_ATTR_PRIORITY;
    if (fuzz_chance(g, 30))
        set |= FUZZ_ATTR_OVERLAP;
    if (fuzz_chance(g, 15))
        set |= fuzz_chance(g, 70) ? FUZZ_ATTR_NOT_COOPERATIVE : FUZZ_ATTR_COOPERATIVE;
    if (fuzz_chance(g, 8))
        set |= fuzz_chance(g, 50) ? FUZZ_ATTR_COMPLETION : FUZZ_ATTR_EVENT;
    return set;
}

/* Some launches have a y and a z; the block has as many threads as it has without. */
static void pick_shape(struct fuzz_gen *g, struct fuzz_op *op)
{
    if (fuzz_chance(g, 55))
        return;
    op->a[12] = 1 + (int)fuzz_random(g, 3);
    op->a[13] = 1 + (int)fuzz_random(g, 2);
    op->a[14] = 1 << fuzz_random(g, 2);
    op->a[15] = 1 << fuzz_random(g, 2);
    op->a[7] /= op->a[14] * op->a[15];
}

struct fuzz_op fuzz_random_launch(struct fuzz_gen *g, int t, int stream)
{
    static const int kernels[] = {
            FUZZ_STEP, FUZZ_STEP,  FUZZ_STEP,        FUZZ_STEP,     FUZZ_STEP,           FUZZ_MIX,
            FUZZ_MIX,  FUZZ_GAPS,  FUZZ_GAPS,        FUZZ_BY_VALUE, FUZZ_THROUGH_SHARED, FUZZ_SCALED,
            FUZZ_FILL, FUZZ_LARGE, FUZZ_THROUGH_ROOM};
    static const int blocks[] = {64, 32, 16, 64, 48};
    static const int hows[] = {FUZZ_PARAMS, FUZZ_PARAMS, FUZZ_PARAMS, FUZZ_PARAMS, FUZZ_PARAMS,
                               FUZZ_PARAMS, FUZZ_EXTRA,  FUZZ_EX,     FUZZ_EX,     FUZZ_PARAMS};
    struct fuzz_op op = {.kind = FUZZ_launch, .thread = t};
    op.a[0] = stream;
    op.a[1] = pick_code(g);
    op.a[2] = kernels[fuzz_random(g, sizeof(kernels) / sizeof(kernels[0]))];
    op.a[3] = fuzz_pick_buffer(g, t, FUZZ_KERNEL_MEMORY);
    op.a[4] = fuzz_pick_buffer(g, t, FUZZ_KERNEL_MEMORY);
    op.a[5] = (int)fuzz_random(g, 100000);
    op.a[6] = 1 + (int)fuzz_random(g, 4);
    op.a[7] = blocks[fuzz_random(g, sizeof(blocks) / sizeof(blocks[0]))];
    if (op.a[2] == FUZZ_LARGE)
        op.a[7] = 4; /* each of its threads reads 4000 bytes */
    pick_shape(g, &op);
    op.a[9] = fuzz_chance(g, 2) ? FUZZ_COOPERATIVE : hows[fuzz_random(g, sizeof(hows) / sizeof(hows[0]))];
    if (op.a[9] == FUZZ_EX)
        op.a[10] = pick_attrs(g);
    if (op.a[10] & FUZZ_ATTR_CLUSTER && fuzz_chance(g, 95))
        op.a[op.a[10] & FUZZ_ATTR_CLUSTER_Y ? 12 : 6] = 2 * (1 + op.a[6] / 2);
    op.a[11] = fuzz_pick_event(g, t);
    if (fuzz_limit(op.a[2]) >= 0)
        op.a[8] = fuzz_chance(g, 70) ? 4 * fuzz_block_threads(&op) : 1024 * (1 + (int)fuzz_random(g, 80));
    else if (fuzz_chance(g, 10))
        op.a[8] = 256 * (int)fuzz_random(g, 16);
    if (op.a[2] == FUZZ_SCALED)
        op.a[1] = 0;
    return op;
}

struct fuzz_op fuzz_random_work(struct fuzz_gen *g, int t, int stream)
{
    struct fuzz_op op = {.thread = t};
    unsigned int dice = fuzz_random(g, 100);
    op.a[0] = stream;
    if (dice < 78)
        return fuzz_random_launch(g, t, stream);
    if (dice < 87) {
        op.kind = FUZZ_set;
        op.a[1] = fuzz_pick_buffer(g, t, FUZZ_KERNEL_MEMORY);
        op.a[2] = (int)fuzz_random(g, 100000);
        op.a[3] = fuzz_chance(g, 50) ? FUZZ_WORDS : 1 + (int)fuzz_random(g, FUZZ_WORDS);
        op.a[4] = 1 << fuzz_random(g, 3);
        op.a[5] = fuzz_chance(g, 82) ? FUZZ_SET_ASYNC : (int)fuzz_random(g, FUZZ_SETS);
        if (fuzz_set_sync(op.a[5]))
            op.a[0] = fuzz_chance(g, 50) ? -1 : -3;
        return op;
    }
    op.kind = FUZZ_copy;
    op.a[1] = fuzz_pick_buffer(g, t, fuzz_chance(g, 80) ? 3 : FUZZ_ANY_MEMORY);
    op.a[2] = fuzz_pick_buffer(g, t, fuzz_chance(g, 60) ? 7 : FUZZ_ANY_MEMORY);
    op.a[3] = fuzz_chance(g, 50) ? FUZZ_WORDS : 1 + (int)fuzz_random(g, FUZZ_WORDS);
    op.a[4] = fuzz_chance(g, 70) ? (int)fuzz_random(g, 2) : (int)fuzz_random(g, FUZZ_COPIES);
    if (fuzz_copy_sync(op.a[4]))
        op.a[0] = fuzz_chance(g, 50) ? -1 : -3;
    return op;
}

/* ---- the repeated body ---- */
static void make_body(struct fuzz_gen *g, int t)
{
    int n = 12 + (int)fuzz_random(g, g->threads == 1 ? 28 : 12);
    int stream = fuzz_pick_stream(g, t);
    g->loops[t].main_stream = stream;
    g->loops[t].length = n;
    if (g->style == FUZZ_VARIED) { /* plain launches, drawn anew each time */
        for (int i = 0; i < n; i++) {
            g->loops[t].body[i] = fuzz_random_launch(g, t, stream);
            if (fuzz_chance(g, 97) && g->loops[t].body[i].a[9] == FUZZ_EX)
                g->loops[t].body[i].a[9] = g->loops[t].body[i].a[10] = 0;
        }
        return;
    }
    for (int i = 0; i < n; i++) {
        if ((g->style == FUZZ_LINKED || g->style == FUZZ_MIXED) && fuzz_chance(g, 12))
            stream = fuzz_pick_stream(g, t);
        struct fuzz_op op = fuzz_random_work(g, t, stream);
        if (g->style == FUZZ_LINKED && fuzz_chance(g, 6))
            op = (struct fuzz_op){.kind = FUZZ_record, .thread = t, .a = {fuzz_pick_event(g, t), stream}};
        else if (g->style == FUZZ_LINKED && fuzz_chance(g, 6))
            op = (struct fuzz_op){.kind = FUZZ_wait, .thread = t, .a = {stream, fuzz_pick_event(g, t)}};
        else if (g->style == FUZZ_WAITING && fuzz_chance(g, 12))
            op = (struct fuzz_op){.kind = FUZZ_stream_sync, .thread = t, .a = {stream}};
        else if (fuzz_chance(g, 1))
            op = (struct fuzz_op){.kind = FUZZ_host,
                                  .thread = t,
                                  .a = {stream, fuzz_pick_buffer(g, t, 1u << FUZZ_PINNED), (int)fuzz_random(g, 1000),
                                        fuzz_chance(g, 50)}};
        g->loops[t].body[i] = op;
    }
}

/* A growing grid, in one of its dimensions. */
static void grow(struct fuzz_gen *g, struct fuzz_op *op, int iteration)
{
    if (fuzz_chance(g, 60))
        op->a[6] = 1 + (op->a[6] + iteration) % 6;
    else if (fuzz_chance(g, 60))
        op->a[12] = 1 + (op->a[12] + iteration) % 4;
    else
        op->a[13] = 1 + (op->a[13] + iteration) % 3;
}

/* The body's operation as it comes this time. */
static struct fuzz_op mutate(struct fuzz_gen *g, struct fuzz_op op, int iteration)
{
    int t = op.thread;
    if (g->style == FUZZ_VARIED && op.kind == FUZZ_launch)
        return g->loops[t].body[fuzz_random(g, (unsigned int)g->loops[t].length)];
    switch (op.kind) {
    case FUZZ_launch:
        if (fuzz_chance(g, 65))
            op.a[5] = (int)fuzz_random(g, 100000);
        if (fuzz_chance(g, 12))
            op.a[3] = fuzz_pick_buffer(g, t, FUZZ_KERNEL_MEMORY);
        if (fuzz_chance(g, 12))
            op.a[4] = fuzz_pick_buffer(g, t, FUZZ_KERNEL_MEMORY);
        if (fuzz_chance(g, 15))
            grow(g, &op, iteration);
        if (fuzz_chance(g, 5) && fuzz_limit(op.a[2]) >= 0)
            op.a[8] = 1024 * (1 + (int)fuzz_random(g, 80));
        break;
    case FUZZ_set:
        if (fuzz_chance(g, 50))
            op.a[2] = (int)fuzz_random(g, 100000);
        if (fuzz_chance(g, 20))
            op.a[3] = 1 + (int)fuzz_random(g, FUZZ_WORDS);
        if (fuzz_chance(g, 10))
            op.a[1] = fuzz_pick_buffer(g, t, FUZZ_KERNEL_MEMORY);
        break;
    case FUZZ_copy:
        if (fuzz_chance(g, 20))
            op.a[3] = 1 + (int)fuzz_random(g, FUZZ_WORDS);
        if (fuzz_chance(g, 15))
            op.a[2] = fuzz_pick_buffer(g, t, 7);
        break;
    default:
        break;
    }
    return op;
}

/* One step of a thread's loop; false when the loop is over. */
static bool step(struct fuzz_gen *g, int t)
{
    if (g->loops[t].iteration == g->loops[t].iterations)
        return false;
    if (!fuzz_chance(g, 2))
        fuzz_emit(g, mutate(g, g->loops[t].body[g->loops[t].at], g->loops[t].iteration));
    if (fuzz_chance(g, 1))
        fuzz_emit(g, fuzz_random_work(g, t, fuzz_pick_stream(g, t)));
    if (fuzz_chance(g, 1))
        fuzz_odd(g, t);
    if (++g->loops[t].at < g->loops[t].length)
        return true;
    g->loops[t].at = 0;
    g->loops[t].iteration++;
    if (fuzz_chance(g, 30))
        fuzz_odd(g, t);
    if (fuzz_chance(g, 4))
        make_body(g, t); /* another phase */
    return true;
}

/* ---- set-up ---- */
static int free_buffer(const struct fuzz_gen *g, int t)
{
    for (int b = t; b < FUZZ_BUFFERS; b += g->threads)
        if (!g->model->buffers[b].use.live)
            return b;
    return -1;
}

void fuzz_new_buffer(struct fuzz_gen *g, int t, int kind)
{
    int b = free_buffer(g, t), stream = fuzz_pick_stream(g, t);
    if (b < 0 || !FUZZ_EMIT(g, t, buf_new, b, kind, stream) || fuzz_on_host((enum fuzz_memory)kind))
        return;
    FUZZ_EMIT(g, t, set, stream, b, (int)fuzz_random(g, 1000), FUZZ_WORDS, 4, 0);
}

static void set_up(struct fuzz_gen *g, int t)
{
    int streams = 1 + (int)fuzz_random(g, g->style == FUZZ_STRAIGHT ? 2 : 3);
    for (int i = 0, s = t; i < streams && s < FUZZ_STREAMS; i++, s += g->threads)
        FUZZ_EMIT(g, t, stream_new, s, (int)fuzz_random(g, 2), fuzz_chance(g, 20) ? -1 : 0);
    for (int i = 0, e = t; i < 2 && e < FUZZ_EVENTS; i++, e += g->threads)
        FUZZ_EMIT(g, t, event_new, e, fuzz_chance(g, 60) ? 2 : (int)fuzz_random(g, 2));
    for (unsigned int i = 2 + fuzz_random(g, 3); i > 0; i--)
        fuzz_new_buffer(g, t, fuzz_chance(g, 85) ? FUZZ_DEVICE : FUZZ_POOL);
    fuzz_new_buffer(g, t, FUZZ_PINNED);
    if (fuzz_chance(g, 40))
        fuzz_new_buffer(g, t, FUZZ_PAGEABLE);
    if (fuzz_chance(g, 40))
        fuzz_new_buffer(g, t, (int)fuzz_random(g, FUZZ_MEMORIES));
}

void fuzz_generate(uint64_t seed, struct fuzz_program *program)
{
    static struct fuzz_gen gen;
    struct fuzz_gen *g = &gen;
    memset(g, 0, sizeof(*g));
    memset(program, 0, sizeof(*program));
    g->random = seed * 0xd1342543de82ef95u + 1;
    next(g);
    program->seed = seed;
    program->ptsz = fuzz_chance(g, 50);
    g->program = program;
    g->threads = fuzz_chance(g, 70) ? 1 : 2 + (int)fuzz_random(g, FUZZ_THREADS - 1);
    g->style = (enum fuzz_style)fuzz_random(g, FUZZ_STYLES);
    g->model = fuzz_model_new(g->threads);
    for (int t = 0; t < g->threads; t++) {
        set_up(g, t);
        make_body(g, t);
        g->loops[t].iterations = 6 + (int)fuzz_random(g, g->threads == 1 ? 6 : 2);
        if (g->style == FUZZ_VARIED)
            g->loops[t].iterations *= 2;
    }
    for (int left = (1 << g->threads) - 1; left;) {
        int t = (int)fuzz_random(g, (unsigned int)g->threads);
        for (unsigned int n = 1 + fuzz_random(g, 12); n > 0 && left >> t & 1; n--)
            if (!step(g, t))
                left &= ~(1 << t);
    }
    if (seed % FUZZ_FAULT_SEEDS == 0) {
        FUZZ_EMIT(g, 0, poison, 1, (int)fuzz_random(g, 40));
        FUZZ_EMIT(g, 0, poison, 2, (int)fuzz_random(g, 10));
    }
    program->full = fuzz_model_full(g->model);
    fuzz_model_free(g->model);
}
