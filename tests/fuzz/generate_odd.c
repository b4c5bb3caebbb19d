/* What programs do now and then between their launches; see generate.h. */
#include "tests/fuzz/generate.h"

/* A few pieces of work on one stream. */
static void some_work(struct fuzz_gen *g, int t, int stream, unsigned int most)
{
    for (unsigned int n = 1 + fuzz_random(g, most); n > 0; n--)
        fuzz_emit(g, fuzz_random_work(g, t, stream));
}

static int free_event(const struct fuzz_gen *g, int t)
{
    for (int e = t; e < FUZZ_EVENTS; e += g->threads)
        if (!g->model->events[e].use.live)
            return e;
    return -1;
}

static void observe(struct fuzz_gen *g, int t)
{
    int b = fuzz_pick_buffer(g, t, FUZZ_ANY_MEMORY), s = fuzz_pick_stream(g, t);
    if (b < 0)
        return;
    if (fuzz_on_host(g->model->buffers[b].kind) && fuzz_chance(g, 70))
        FUZZ_EMIT(g, t, host_read, b);
    else if (fuzz_chance(g, 50))
        FUZZ_EMIT(g, t, fetch, s, b, 1);
    else
        FUZZ_EMIT(g, t, fetch, fuzz_chance(g, 60) ? -1 : -3, b, 0);
}

static void host_side(struct fuzz_gen *g, int t)
{
    int b = fuzz_pick_buffer(g, t, FUZZ_ANY_MEMORY & ~3u);
    int to = fuzz_pick_buffer(g, t, 3);
    if (b < 0)
        return;
    if (fuzz_chance(g, 30))
        FUZZ_EMIT(g, t, host, fuzz_pick_stream(g, t), b, (int)fuzz_random(g, 1000), fuzz_chance(g, 30));
    FUZZ_EMIT(g, t, host_write, b, (int)fuzz_random(g, 1000));
    FUZZ_EMIT(g, t, copy, fuzz_pick_stream(g, t), to, b, FUZZ_WORDS, fuzz_chance(g, 50));
}

static void events(struct fuzz_gen *g, int t)
{
    int e = fuzz_pick_event(g, t), s = fuzz_pick_stream(g, t), f = free_event(g, t);
    switch (fuzz_random(g, 9)) {
    case 0:
        FUZZ_EMIT(g, t, event_query, e);
        break;
    case 1:
        FUZZ_EMIT(g, t, event_poll, e);
        break;
    case 2:
        FUZZ_EMIT(g, t, event_sync, e);
        break;
    case 3:
        FUZZ_EMIT(g, t, event_del, e);
        break;
    case 4: /* recorded again while the first record is under way */
        FUZZ_EMIT(g, t, record, e, s, 0);
        some_work(g, t, s, 3);
        FUZZ_EMIT(g, t, record, e, s, 1);
        FUZZ_EMIT(g, t, wait, fuzz_pick_stream(g, t), e);
        break;
    case 5:
        FUZZ_EMIT(g, t, record, e, s, 0);
        some_work(g, t, s, 6);
        FUZZ_EMIT(g, t, event_sync, e);
        FUZZ_EMIT(g, t, elapsed, e, e);
        break;
    case 6:
        FUZZ_EMIT(g, t, stream_query, s);
        break;
    case 7:
        FUZZ_EMIT(g, t, stream_poll, s);
        break;
    default:
        if (f >= 0)
            FUZZ_EMIT(g, t, event_new, f, fuzz_chance(g, 50) ? 2 : 0);
    }
}

static void memory(struct fuzz_gen *g, int t)
{
    int b = fuzz_pick_buffer(g, t, FUZZ_ANY_MEMORY);
    int kind = (int)fuzz_random(g, FUZZ_MEMORIES);
    if (b >= 0 && fuzz_chance(g, 60)) {
        kind = fuzz_chance(g, 50) ? (int)g->model->buffers[b].kind : kind;
        FUZZ_EMIT(g, t, buf_del, b, fuzz_pick_stream(g, t));
    }
    fuzz_new_buffer(g, t, kind);
    some_work(g, t, fuzz_pick_stream(g, t), 3);
}

static void streams(struct fuzz_gen *g, int t)
{
    int s = fuzz_pick_stream(g, t);
    if (s >= 0 && fuzz_chance(g, 60)) {
        some_work(g, t, s, 4);
        if (!FUZZ_EMIT(g, t, stream_del, s))
            return;
        FUZZ_EMIT(g, t, stream_new, s, (int)fuzz_random(g, 2), 0);
        some_work(g, t, s, 4);
        return;
    }
    for (s = t; s < FUZZ_STREAMS; s += g->threads)
        if (!g->model->streams[s].use.live && FUZZ_EMIT(g, t, stream_new, s, (int)fuzz_random(g, 2), 0))
            return;
}

static void gates(struct fuzz_gen *g, int t)
{
    int s = fuzz_pick_stream(g, t), gate = g->gates;
    if (gate == FUZZ_GATES || !FUZZ_EMIT(g, t, gate, s, gate))
        return;
    g->gates++;
    some_work(g, t, s, 20);
    if (fuzz_chance(g, 40))
        FUZZ_EMIT(g, t, stream_query, s);
    if (fuzz_chance(g, 40))
        some_work(g, t, fuzz_pick_stream(g, t), 10);
    FUZZ_EMIT(g, t, open, gate);
}

static void flags(struct fuzz_gen *g, int t)
{
    int a = fuzz_pick_stream(g, t), b = fuzz_pick_stream(g, t);
    if (g->flags == FUZZ_FLAGS || fuzz_model_ctx(g->model, t) != 0)
        return;
    int data = fuzz_pick_buffer(g, t, 3);
    some_work(g, t, a, 4);
    /* known, so that it may be held, and slow, so that the other stream would see what is missing */
    for (unsigned int n = data < 0 ? 0 : 4 + fuzz_random(g, 8); n > 0; n--)
        FUZZ_EMIT(g, t, launch, a, 0, FUZZ_LARGE, data, 0, (int)fuzz_random(g, 1000), 4, 8);
    if (FUZZ_EMIT(g, t, flag_write, a, g->flags))
        FUZZ_EMIT(g, t, flag_wait, b, g->flags++);
    if (data >= 0)
        FUZZ_EMIT(g, t, launch, b, 0, FUZZ_STEP, data, 0, (int)fuzz_random(g, 1000), 1, FUZZ_WORDS);
    some_work(g, t, b, 4);
}

/* One stream stands at a gate, another gives a sign and then waits for the first: the host sees the sign. */
static void sign(struct fuzz_gen *g, int t)
{
    int a = fuzz_pick_stream(g, t), b = 0, cell = fuzz_pick_buffer(g, t, 1u << FUZZ_PINNED);
    while (b < FUZZ_STREAMS && g->model->streams[b].use.live)
        b++;
    int e = fuzz_pick_event(g, t), gate = g->gates, value = 1 + (int)fuzz_random(g, 1000000);
    if (a < 0 || cell < 0 || gate == FUZZ_GATES || g->flags == FUZZ_FLAGS || g->threads > 1)
        return;
    if (!FUZZ_EMIT(g, t, stream_new, b, 1, 0))
        return;
    FUZZ_EMIT(g, t, signal, b, cell, value); /* known, so that the next may be held */
    FUZZ_EMIT(g, t, stream_sync, b);
    if (!FUZZ_EMIT(g, t, gate, a, gate))
        return;
    g->gates++;
    bool flag = fuzz_chance(g, 40);
    bool told = flag ? FUZZ_EMIT(g, t, flag_write, a, g->flags) : FUZZ_EMIT(g, t, record, e, a, 0);
    bool given = FUZZ_EMIT(g, t, signal, b, cell, value + 1);
    if (told && flag)
        FUZZ_EMIT(g, t, flag_wait, b, g->flags++);
    else if (told)
        FUZZ_EMIT(g, t, wait, b, e);
    if (given)
        FUZZ_EMIT(g, t, watch, cell, value + 1);
    FUZZ_EMIT(g, t, open, gate);
    FUZZ_EMIT(g, t, stream_del, b);
}

static void graphs(struct fuzz_gen *g, int t)
{
    int s = fuzz_pick_stream(g, t), graph = (int)fuzz_random(g, FUZZ_GRAPHS), exec = (int)fuzz_random(g, FUZZ_EXECS);
    /* Each thread has graphs of its own; a capture that other threads' calls must not meet forbids them nothing. */
    graph = g->threads == 1 ? graph : t;
    exec = g->threads == 1 ? exec : t;
    for (int i = 0; i < 4 && g->threads > 1 && (s < 0 || g->model->streams[s].blocking); i++)
        s = fuzz_pick_stream(g, t);
    if (g->model->execs[exec].use.live) {
        FUZZ_EMIT(g, t, graph_launch, exec, s);
        some_work(g, t, s, 3);
        if (fuzz_chance(g, 50))
            FUZZ_EMIT(g, t, exec_del, exec);
        return;
    }
    if (g->model->graphs[graph].use.live)
        FUZZ_EMIT(g, t, graph_del, graph);
    if (s < 0 ||
        !FUZZ_EMIT(g, t, capture_begin, s, g->threads == 1 ? (int)fuzz_random(g, 3) : 1 + (int)fuzz_random(g, 2)))
        return;
    some_work(g, t, s, 10);
    int other = fuzz_pick_stream(g, t);
    for (int i = 0; i < 6 && (other < 0 || other == s); i++)
        other = fuzz_pick_stream(g, t);
    for (unsigned int n = fuzz_random(g, 3); n > 0 && FUZZ_EMIT(g, t, fork, other); n--) {
        for (unsigned int i = 1 + fuzz_random(g, 6); i > 0; i--)
            fuzz_emit(g, fuzz_random_work(g, t, fuzz_chance(g, 50) ? s : other));
        FUZZ_EMIT(g, t, join, other);
        some_work(g, t, s, 4);
    }
    if (other >= 0 && other != s)
        some_work(g, t, other, 2);
    if (fuzz_chance(g, 30))
        FUZZ_EMIT(g, t, host, s, fuzz_pick_buffer(g, t, 1u << FUZZ_PINNED), (int)fuzz_random(g, 1000), 0);
    FUZZ_EMIT(g, t, capture_end, s, graph);
    FUZZ_EMIT(g, t, instantiate, graph, exec);
    for (unsigned int n = 1 + fuzz_random(g, 4); n > 0; n--) {
        FUZZ_EMIT(g, t, graph_launch, exec, fuzz_pick_stream(g, t));
        some_work(g, t, fuzz_pick_stream(g, t), 3);
    }
}

static void code(struct fuzz_gen *g, int t)
{
    struct fuzz_op body[10];
    int slot = 2 + (int)fuzz_random(g, FUZZ_CODES - 2), s = fuzz_pick_stream(g, t), how = (int)fuzz_random(g, 2);
    int length = 3 + (int)fuzz_random(g, 8), block = 16 << fuzz_random(g, 3);
    if (g->model->codes[slot].use.live && fuzz_chance(g, 50)) {
        FUZZ_EMIT(g, t, code_unload, slot);
        return;
    }
    for (int i = 0; i < length; i++) {
        body[i] = fuzz_random_launch(g, t, s);
        body[i].a[1] = body[i].a[2] == FUZZ_SCALED ? 0 : slot;
        if (body[i].a[2] != FUZZ_LARGE && body[i].a[7] <= 64)
            body[i].a[7] = block;
        if (fuzz_limit(body[i].a[2]) >= 0 && body[i].a[8] < 4 * fuzz_block_threads(&body[i]))
            body[i].a[8] = 4 * fuzz_block_threads(&body[i]);
    }
    /* As a program that compiles code while it runs: handles come back with other meanings. */
    for (unsigned int loads = 1 + fuzz_random(g, 3); loads > 0; loads--) {
        int turn = fuzz_chance(g, 40) ? 0 : (int)fuzz_random(g, FUZZ_KERNELS + 1);
        if (!FUZZ_EMIT(g, t, code_load, slot, how, turn))
            return;
        for (unsigned int times = 2 + fuzz_random(g, 3); times > 0; times--)
            for (int i = 0; i < length; i++) {
                if (fuzz_chance(g, 50))
                    body[i].a[5] = (int)fuzz_random(g, 1000);
                fuzz_emit(g, body[i]);
            }
        if (loads > 1 || fuzz_chance(g, 60))
            FUZZ_EMIT(g, t, code_unload, slot);
    }
}

static void attributes(struct fuzz_gen *g, int t)
{
    int k = fuzz_chance(g, 70) ? 0 : fuzz_chance(g, 50) ? 1 : 2, s = fuzz_pick_stream(g, t);
    for (unsigned int n = 1 + fuzz_random(g, 8); n > 0; n--) {
        static const int limits[] = {0, 1024, 16384, 49152, 65536, 98304, 232448, 300000, -1};
        int which = fuzz_chance(g, 85) ? 0 : 1;
        int value = which ? (int)fuzz_random(g, 110) : limits[fuzz_random(g, 9)];
        int limit = (int)fuzz_random(g, FUZZ_LIMITS), other = fuzz_chance(g, 70) ? limit : 1 - limit;
        FUZZ_EMIT(g, t, func_attr, k, which, value, limit);
        if (fuzz_chance(g, 40))
            FUZZ_EMIT(g, t, func_get, k, which, other);
        struct fuzz_op op = fuzz_random_launch(g, t, s);
        op.a[1] = k;
        op.a[2] = other ? FUZZ_THROUGH_ROOM : FUZZ_THROUGH_SHARED;
        op.a[8] = fuzz_chance(g, 40) ? 1024 * (1 + (int)fuzz_random(g, 100)) : 4 * fuzz_block_threads(&op);
        fuzz_emit(g, op);
    }
}

static void contexts(struct fuzz_gen *g, int t)
{
    int c = 1 + (int)fuzz_random(g, FUZZ_CTXS - 1), s = -1, e = free_event(g, t);
    if (!g->model->ctxs[c].use.live && !FUZZ_EMIT(g, t, ctx_new, c))
        return;
    int back = fuzz_model_ctx(g->model, t);
    bool set = fuzz_chance(g, 30);
    if (!(set ? FUZZ_EMIT(g, t, ctx_set, c) : FUZZ_EMIT(g, t, ctx_push, c)))
        return;
    for (int i = t; i < FUZZ_STREAMS && s < 0; i += g->threads)
        if (!g->model->streams[i].use.live && FUZZ_EMIT(g, t, stream_new, i, (int)fuzz_random(g, 2), 0))
            s = i;
    if (e >= 0)
        FUZZ_EMIT(g, t, event_new, e, 2);
    fuzz_new_buffer(g, t, FUZZ_DEVICE);
    fuzz_new_buffer(g, t, fuzz_chance(g, 50) ? FUZZ_DEVICE : FUZZ_PINNED);
    for (unsigned int n = 1 + fuzz_random(g, 3); n > 0; n--) {
        some_work(g, t, s, 12);
        if (fuzz_chance(g, 30))
            some_work(g, t, fuzz_pick_stream(g, t), 4);
        if (fuzz_chance(g, 30))
            observe(g, t);
        if (!set && fuzz_chance(g, 20)) {
            FUZZ_EMIT(g, t, ctx_pop, 0);
            some_work(g, t, g->loops[t].main_stream, 8);
            FUZZ_EMIT(g, t, ctx_push, c);
        }
    }
    if (set)
        FUZZ_EMIT(g, t, ctx_set, back);
    else
        FUZZ_EMIT(g, t, ctx_pop, 0);
    if (fuzz_chance(g, 60))
        FUZZ_EMIT(g, t, ctx_del, c);
}

/* Two contexts at work on each other's memory: copies between them, and kernels of one device in memory of another. */
static void abroad(struct fuzz_gen *g, int t)
{
    int c = fuzz_chance(g, 70) ? FUZZ_CTXS - 1 : 1, here = fuzz_model_ctx(g->model, t), there = -1, theirs = -1;
    int s = g->loops[t].main_stream, event = fuzz_pick_event(g, t), buffer = fuzz_pick_buffer(g, t, 1u << FUZZ_DEVICE);
    if (here != 0 || buffer < 0 || event < 0 || s < 0 || g->model->streams[s].ctx != 0)
        return;
    if ((!g->model->ctxs[c].use.live && !FUZZ_EMIT(g, t, ctx_new, c)) || !FUZZ_EMIT(g, t, ctx_push, c))
        return;
    if (fuzz_chance(g, 70))
        FUZZ_EMIT(g, t, peer_on, 0);
    there = fuzz_pick_stream(g, t);
    for (int i = t; i < FUZZ_STREAMS && there < 0; i += g->threads)
        if (!g->model->streams[i].use.live && FUZZ_EMIT(g, t, stream_new, i, (int)fuzz_random(g, 2), 0))
            there = i;
    fuzz_new_buffer(g, t, FUZZ_DEVICE);
    theirs = fuzz_pick_buffer(g, t, 1u << FUZZ_DEVICE);
    int e = fuzz_pick_event(g, t) >= 0 ? -1 : free_event(g, t);
    if (e >= 0)
        FUZZ_EMIT(g, t, event_new, e, 2);
    int answer = fuzz_pick_event(g, t);
    FUZZ_EMIT(g, t, ctx_pop, 0);
    if (fuzz_chance(g, 70))
        FUZZ_EMIT(g, t, peer_on, c);
    for (unsigned int n = 2 + fuzz_random(g, 6); n > 0 && theirs >= 0; n--) {
        some_work(g, t, s, 5);
        if (fuzz_chance(g, 20))
            FUZZ_EMIT(g, t, copy, fuzz_chance(g, 50) ? -1 : -3, theirs, buffer, FUZZ_WORDS, FUZZ_COPY_PEER_SYNC);
        FUZZ_EMIT(g, t, copy, s, theirs, buffer, 1 + (int)fuzz_random(g, FUZZ_WORDS),
                  fuzz_chance(g, 60) ? FUZZ_COPY_PEER : FUZZ_COPY_ASYNC);
        FUZZ_EMIT(g, t, launch, s, 0, FUZZ_MIX, buffer, theirs, (int)fuzz_random(g, 1000), 1, FUZZ_WORDS);
        FUZZ_EMIT(g, t, record, event, s, 0);
        if (FUZZ_EMIT(g, t, ctx_push, c)) {
            FUZZ_EMIT(g, t, wait, there, event);
            some_work(g, t, there, 5);
            FUZZ_EMIT(g, t, launch, there, 0, FUZZ_STEP, buffer, 0, (int)fuzz_random(g, 1000), 2, 32);
            FUZZ_EMIT(g, t, copy, there, buffer, theirs, FUZZ_WORDS, FUZZ_COPY_PEER);
            if (FUZZ_EMIT(g, t, record, answer, there, 0))
                FUZZ_EMIT(g, t, wait, s, answer);
            FUZZ_EMIT(g, t, ctx_pop, 0);
        }
    }
    if (fuzz_chance(g, 40))
        FUZZ_EMIT(g, t, buf_del, buffer, s);
    if (fuzz_chance(g, 40))
        FUZZ_EMIT(g, t, ctx_del, c);
}

void fuzz_odd(struct fuzz_gen *g, int t)
{
    unsigned int dice = fuzz_random(g, 1000);
    int s = fuzz_pick_stream(g, t);
    if (dice < 180)
        observe(g, t);
    else if (dice < 270)
        host_side(g, t);
    else if (dice < 400)
        events(g, t);
    else if (dice < 490)
        memory(g, t);
    else if (dice < 510)
        FUZZ_EMIT(g, t, hoard, 1 + (int)fuzz_random(g, FUZZ_DEVICE_KB / 1024), (int)fuzz_random(g, 2));
    else if (dice < 570)
        streams(g, t);
    else if (dice < 630)
        gates(g, t);
    else if (dice < 680)
        flags(g, t);
    else if (dice < 760)
        graphs(g, t);
    else if (dice < 775)
        code(g, t);
    else if (dice < 835)
        attributes(g, t);
    else if (dice < 850)
        contexts(g, t);
    else if (dice < 865)
        abroad(g, t);
    else if (dice < 900)
        FUZZ_EMIT(g, t, bad, (int)fuzz_random(g, 30), s, fuzz_pick_buffer(g, t, 1u << FUZZ_DEVICE));
    else if (dice < 908)
        FUZZ_EMIT(g, t, stale, (int)fuzz_random(g, 8));
    else if (dice < 934)
        FUZZ_EMIT(g, t, info, (int)fuzz_random(g, 8), s);
    else if (dice < 942)
        FUZZ_EMIT(g, t, duel, s, fuzz_pick_buffer(g, t, 1u << FUZZ_PINNED));
    else if (dice < 953)
        sign(g, t);
    else if (dice < 956)
        FUZZ_EMIT(g, t, nap, (int)fuzz_random(g, 3000));
    else if (dice < 965)
        FUZZ_EMIT(g, t, set_global, s, (int)fuzz_random(g, 1000));
    else if (dice < 985)
        FUZZ_EMIT(g, t, ctx_sync, 0);
    else
        FUZZ_EMIT(g, t, stream_sync, s);
}
