/* See model.h: what programs do now and then. */
#include "tests/fuzz/model_work.h"

static enum fuzz_verdict duel(struct fuzz_model *m, const struct fuzz_op *op)
{
    int t = op->thread, s = fuzz_model_stream(m, t, op->a[0]), b = op->a[1];
    NEED(fuzz_slot(b, FUZZ_BUFFERS) && m->buffers[b].kind == FUZZ_PINNED && s >= 0);
    for (int o = 0; o < m->threads; o++)
        NEED(!m->gates[o]);
    struct fuzz_effect effect = {.writes = 1u << b, .fills = -1};
    /* The host writes too: nothing else may be at work on it. */
    TRY(fuzz_may_use(m, t, &m->buffers[b].use, true));
    TRY(fuzz_access(m, b, true, &m->host[t]));
    TRY(fuzz_work(m, t, s, &effect, NULL));
    fuzz_glimpse(m, t, m->streams[s].entity, &m->streams[s].done);
    return FUZZ_LEGAL;
}

/* A kernel that writes a cell which the host polls without a call. It may not stand behind a closed gate. */
static enum fuzz_verdict signal(struct fuzz_model *m, const struct fuzz_op *op)
{
    int t = op->thread, s = fuzz_model_stream(m, t, op->a[0]), b = op->a[1];
    NEED(fuzz_slot(b, FUZZ_BUFFERS) && m->buffers[b].kind == FUZZ_PINNED && s >= 0 && s < FUZZ_STREAMS);
    NEED(m->threads == 1 && !m->streams[s].blocking && !m->streams[s].capturing);
    struct fuzz_effect effect = {.writes = 1u << b, .codes = 1, .fills = -1};
    TRY(fuzz_may_use(m, t, &m->buffers[b].use, true));
    TRY(fuzz_access(m, b, true, &m->host[t])); /* the host must not see an older write */
    TRY(fuzz_work(m, t, s, &effect, NULL));
    m->buffers[b].signalled = m->streams[s].done;
    return FUZZ_LEGAL;
}

static enum fuzz_verdict watch(struct fuzz_model *m, const struct fuzz_op *op)
{
    int t = op->thread, b = op->a[0];
    NEED(fuzz_slot(b, FUZZ_BUFFERS) && m->buffers[b].use.live);
    struct fuzz_clock *done = &m->buffers[b].signalled;
    NEED(m->buffers[b].written > 0 && done->at[m->buffers[b].writer] == m->buffers[b].written);
    for (int g = 0; g < FUZZ_GATES; g++)
        NEED(!m->gate[g].closed || done->at[m->gate[g].entity] < m->gate[g].at);
    fuzz_glimpse(m, t, m->buffers[b].writer, done);
    return FUZZ_LEGAL;
}

static enum fuzz_verdict peer_on(struct fuzz_model *m, const struct fuzz_op *op)
{
    int t = op->thread, ctx = fuzz_model_ctx(m, t), peer = op->a[0];
    NEED(fuzz_slot(peer, FUZZ_CTXS) && ctx >= 0 && fuzz_ctx_device(ctx) != fuzz_ctx_device(peer) &&
         !m->ctxs[ctx].peers[peer]);
    TRY(fuzz_may_use(m, t, &m->ctxs[peer].use, true));
    TRY(fuzz_may_use(m, t, &m->ctxs[ctx].use, true));
    m->ctxs[ctx].peers[peer] = true;
    fuzz_used(m, t, &m->ctxs[peer].use);
    fuzz_used(m, t, &m->ctxs[ctx].use);
    return FUZZ_LEGAL;
}

/* With one thread only: what another thread needs meanwhile is not known. */
static enum fuzz_verdict hoard(const struct fuzz_model *m, const struct fuzz_op *op)
{
    NEED(m->threads == 1 && fuzz_model_ctx(m, 0) >= 0 && fuzz_slot(op->a[0] - 1, FUZZ_DEVICE_KB / 1024));
    NEED(fuzz_graphs_kb(m) + 1024 * op->a[0] <= FUZZ_DEVICE_KB && fuzz_slot(op->a[1], 2));
    return FUZZ_LEGAL;
}

static enum fuzz_verdict poison(struct fuzz_model *m, const struct fuzz_op *op)
{
    int c = op->a[0];
    NEED(fuzz_slot(c, FUZZ_CTXS) && c > 0 && !m->ctxs[c].use.live && m->threads == 1 && fuzz_slot(op->a[1], 64));
    return FUZZ_LEGAL;
}

static enum fuzz_verdict question(struct fuzz_model *m, const struct fuzz_op *op)
{
    int t = op->thread, s = fuzz_model_stream(m, t, op->a[1]);
    NEED(s >= 0 && fuzz_slot(op->a[0], 32) && !m->streams[s].capturing);
    TRY(fuzz_may_use(m, t, &m->streams[s].use, true));
    NEED(m->streams[s].ctx == fuzz_model_ctx(m, t));
    if (op->kind == FUZZ_bad) {
        NEED(fuzz_slot(op->a[2], FUZZ_BUFFERS));
        TRY(fuzz_may_use(m, t, &m->buffers[op->a[2]].use, false));
        NEED(m->buffers[op->a[2]].kind == FUZZ_DEVICE && m->buffers[op->a[2]].ctx == m->streams[s].ctx);
        fuzz_used(m, t, &m->buffers[op->a[2]].use);
    }
    fuzz_used(m, t, &m->streams[s].use);
    return FUZZ_LEGAL;
}

enum fuzz_verdict fuzz_model_odd(struct fuzz_model *m, struct fuzz_op *op)
{
    switch (op->kind) {
    case FUZZ_duel:
        return duel(m, op);
    case FUZZ_signal:
        return signal(m, op);
    case FUZZ_watch:
        return watch(m, op);
    case FUZZ_peer_on:
        return peer_on(m, op);
    case FUZZ_hoard:
        return hoard(m, op);
    case FUZZ_poison:
        return poison(m, op);
    case FUZZ_bad:
    case FUZZ_info:
        return question(m, op);
    case FUZZ_stale:
        return m->threads == 1 && op->a[0] >= 0 && op->a[0] < 8 && fuzz_model_ctx(m, 0) == 0 ? FUZZ_LEGAL : FUZZ_WRONG;
    default:
        return FUZZ_WRONG;
    }
}
