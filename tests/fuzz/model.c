/* See model.h. Clocks, uses, and the operations on objects; the other parts have work and graphs. */
#include "tests/fuzz/model_work.h"

#include <stdlib.h>
#include <string.h>

/* ---- clocks ---- */
void fuzz_join(struct fuzz_clock *to, const struct fuzz_clock *from)
{
    for (int i = 0; i < FUZZ_ENTITIES; i++)
        if (to->at[i] < from->at[i])
            to->at[i] = from->at[i];
}

bool fuzz_before(const struct fuzz_clock *a, const struct fuzz_clock *b)
{
    for (int i = 0; i < FUZZ_ENTITIES; i++)
        if (a->at[i] > b->at[i])
            return false;
    return true;
}

bool fuzz_over(const struct fuzz_model *m, int thread, const struct fuzz_clock *done)
{
    for (int i = 0; i < FUZZ_ENTITIES; i++)
        if (done->at[i] > 0 && done->at[i] == m->glimpsed.at[i])
            return false;
    return fuzz_before(done, &m->host[thread]);
}

void fuzz_glimpse(struct fuzz_model *m, int thread, int entity, const struct fuzz_clock *done)
{
    if (done->at[entity] > m->host[thread].at[entity])
        m->glimpsed.at[entity] = done->at[entity];
    fuzz_join(&m->host[thread], done);
}

void fuzz_await(struct fuzz_model *m, int thread, int stream)
{
    int entity = m->streams[stream].entity;
    fuzz_join(&m->host[thread], &m->streams[stream].done);
    /* with several threads another one may ask before this one has waited */
    if (m->threads == 1 && m->streams[stream].done.at[entity] >= m->glimpsed.at[entity])
        m->glimpsed.at[entity] = 0;
}

/* ---- the host's side of objects ---- */
bool fuzz_ordered(struct fuzz_model *m, int thread, const struct fuzz_use *use, bool alone)
{
    for (int t = 0; t < m->threads; t++) {
        if (use->made[t] > m->host[thread].at[t] || (alone && use->used[t] > m->host[thread].at[t])) {
            m->culprit = t;
            return false;
        }
    }
    return true;
}

/* Whether the thread may use something that lives. */
enum fuzz_verdict fuzz_may_use(struct fuzz_model *m, int thread, const struct fuzz_use *use, bool alone)
{
    if (!use->live)
        return FUZZ_WRONG;
    return fuzz_ordered(m, thread, use, alone) ? FUZZ_LEGAL : FUZZ_OTHER;
}

/* Whether the thread may make something in a slot. */
static enum fuzz_verdict may_make(struct fuzz_model *m, int thread, const struct fuzz_use *use)
{
    if (use->live)
        return FUZZ_WRONG;
    return fuzz_ordered(m, thread, use, true) ? FUZZ_LEGAL : FUZZ_OTHER;
}

void fuzz_used(struct fuzz_model *m, int thread, struct fuzz_use *use)
{
    use->used[thread] = m->host[thread].at[thread];
}

static void made(struct fuzz_model *m, int thread, struct fuzz_use *use, bool live)
{
    use->live = live;
    use->made[thread] = use->used[thread] = m->host[thread].at[thread];
    use->generation++;
}

/* ---- the model ---- */
uint32_t fuzz_model_full(const struct fuzz_model *m)
{
    uint32_t set = 0;
    for (int b = 0; b < FUZZ_BUFFERS; b++)
        if (m->buffers[b].use.live && m->buffers[b].full)
            set |= 1u << b;
    return set;
}

bool fuzz_on_host(enum fuzz_memory kind)
{
    return kind >= FUZZ_PINNED;
}

int fuzz_model_ctx(const struct fuzz_model *m, int thread)
{
    return m->depth[thread] ? m->stack[thread][m->depth[thread] - 1] : -1;
}

int fuzz_model_stream(const struct fuzz_model *m, int thread, int stream)
{
    int ctx = fuzz_model_ctx(m, thread);
    if (stream >= 0)
        return stream < FUZZ_STREAMS ? stream : -1;
    if (ctx < 0 || stream < FUZZ_STREAM_MIN)
        return -1;
    return stream >= -2 ? FUZZ_LEGACY(ctx) : FUZZ_OWN(thread, ctx);
}

static bool open_stream(struct fuzz_model *m, int index, int ctx, bool blocking)
{
    if (m->entities == FUZZ_ENTITIES)
        return false;
    memset(&m->streams[index].done, 0, sizeof(m->streams[index].done));
    m->streams[index].entity = m->entities++;
    m->streams[index].ctx = ctx;
    m->streams[index].blocking = blocking;
    m->streams[index].capturing = false;
    m->streams[index].use.live = true;
    return true;
}

static bool open_ctx(struct fuzz_model *m, int ctx)
{
    if (m->entities + 1 + m->threads > FUZZ_ENTITIES)
        return false;
    open_stream(m, FUZZ_LEGACY(ctx), ctx, false);
    for (int t = 0; t < m->threads; t++)
        open_stream(m, FUZZ_OWN(t, ctx), ctx, true);
    for (int c = 0; c < FUZZ_CODES; c++)
        for (int l = 0; l < FUZZ_LIMITS; l++)
            m->codes[c].shared[l][ctx] = FUZZ_DEFAULT_SHARED;
    return true;
}

struct fuzz_model *fuzz_model_new(int threads)
{
    struct fuzz_model *m = calloc(1, sizeof(*m));
    if (!m)
        abort();
    m->threads = threads;
    m->entities = threads;
    m->captured = m->side = -1;
    m->ctxs[0].use.live = true;
    open_ctx(m, 0);
    for (int t = 0; t < threads; t++)
        m->depth[t] = 1; /* context 0 is current */
    for (int c = 0; c < 2; c++)
        m->codes[c].use.live = true;
    m->codes[1].library = true;
    m->buffers[FUZZ_GLOBAL].use.live = m->buffers[FUZZ_GLOBAL].full = true;
    return m;
}

void fuzz_model_free(struct fuzz_model *m)
{
    free(m);
}

/* ---- streams and contexts ---- */
static enum fuzz_verdict stream_new(struct fuzz_model *m, int t, int s, int flags)
{
    int ctx = fuzz_model_ctx(m, t);
    NEED(fuzz_slot(s, FUZZ_STREAMS) && ctx >= 0 && (flags == 0 || flags == 1));
    TRY(may_make(m, t, &m->streams[s].use));
    NEED(open_stream(m, s, ctx, !flags));
    made(m, t, &m->streams[s].use, true);
    return FUZZ_LEGAL;
}

static void bury(struct fuzz_model *m, int index)
{
    if (m->n_gone == FUZZ_ENTITIES)
        return;
    m->gone[m->n_gone].ctx = m->streams[index].ctx;
    m->gone[m->n_gone++].done = m->streams[index].done;
}

static enum fuzz_verdict stream_del(struct fuzz_model *m, int t, int s)
{
    NEED(fuzz_slot(s, FUZZ_STREAMS) && !m->streams[s].capturing);
    TRY(fuzz_may_use(m, t, &m->streams[s].use, true));
    bury(m, s);
    made(m, t, &m->streams[s].use, false);
    return FUZZ_LEGAL;
}

static enum fuzz_verdict ctx_new(struct fuzz_model *m, int t, int c)
{
    NEED(fuzz_slot(c, FUZZ_CTXS) && c > 0);
    TRY(may_make(m, t, &m->ctxs[c].use));
    NEED(open_ctx(m, c));
    made(m, t, &m->ctxs[c].use, true);
    made(m, t, &m->ctxs[c].captures, true);
    made(m, t, &m->ctxs[c].syncs, true);
    /* the streams that every context has begin with it */
    made(m, t, &m->streams[FUZZ_LEGACY(c)].use, true);
    for (int o = 0; o < m->threads; o++)
        made(m, t, &m->streams[FUZZ_OWN(o, c)].use, true);
    return FUZZ_LEGAL;
}

static enum fuzz_verdict ctx_del(struct fuzz_model *m, int t, int c)
{
    NEED(fuzz_slot(c, FUZZ_CTXS) && c > 0);
    TRY(fuzz_may_use(m, t, &m->ctxs[c].use, true));
    for (int o = 0; o < m->threads; o++)
        for (int d = 0; d < m->depth[o]; d++)
            NEED(m->stack[o][d] != c);
    for (int s = 0; s < FUZZ_ALL_STREAMS; s++) {
        if (!m->streams[s].use.live || m->streams[s].ctx != c)
            continue;
        NEED(!m->streams[s].capturing);
        TRY(fuzz_may_use(m, t, &m->streams[s].use, true));
    }
    for (int b = 0; b < FUZZ_BUFFERS; b++)
        if (m->buffers[b].use.live && m->buffers[b].ctx == c) {
            /* memory that does not go with the context would be left without an owner */
            NEED(m->buffers[b].kind == FUZZ_DEVICE || m->buffers[b].kind == FUZZ_PINNED ||
                 m->buffers[b].kind == FUZZ_MANAGED);
            TRY(fuzz_may_use(m, t, &m->buffers[b].use, true));
            if (m->buffers[b].abroad)
                TRY(fuzz_access(m, b, true, &m->host[t]));
        }
    for (int e = 0; e < FUZZ_EVENTS; e++)
        if (m->events[e].use.live && m->events[e].ctx == c)
            TRY(fuzz_may_use(m, t, &m->events[e].use, true));
    for (int k = 2; k < FUZZ_CODES; k++)
        if (m->codes[k].use.live && m->codes[k].ctx == c)
            TRY(fuzz_may_use(m, t, &m->codes[k].use, true));
    for (int g = 0; g < FUZZ_GRAPHS; g++)
        NEED(!m->graphs[g].use.live || m->graphs[g].ctx != c);
    for (int x = 0; x < FUZZ_EXECS; x++)
        NEED(!m->execs[x].use.live || m->execs[x].ctx != c);
    for (int s = 0; s < FUZZ_ALL_STREAMS; s++)
        if (m->streams[s].use.live && m->streams[s].ctx == c)
            made(m, t, &m->streams[s].use, false);
    for (int b = 0; b < FUZZ_BUFFERS; b++)
        if (m->buffers[b].use.live && m->buffers[b].ctx == c)
            made(m, t, &m->buffers[b].use, false);
    for (int e = 0; e < FUZZ_EVENTS; e++)
        if (m->events[e].use.live && m->events[e].ctx == c)
            made(m, t, &m->events[e].use, false);
    for (int k = 2; k < FUZZ_CODES; k++)
        if (m->codes[k].use.live && m->codes[k].ctx == c)
            made(m, t, &m->codes[k].use, false);
    made(m, t, &m->ctxs[c].use, false);
    for (int o = 0; o < FUZZ_CTXS; o++)
        m->ctxs[o].peers[c] = m->ctxs[c].peers[o] = false;
    for (int g = 0; g < m->n_gone; g++)
        if (m->gone[g].ctx == c)
            m->gone[g--] = m->gone[--m->n_gone];
    return FUZZ_LEGAL;
}

static enum fuzz_verdict ctx_current(struct fuzz_model *m, int t, const struct fuzz_op *op)
{
    int c = op->a[0], depth = m->depth[t];
    if (op->kind == FUZZ_ctx_pop) {
        NEED(depth > 1);
        m->depth[t]--;
        return FUZZ_LEGAL;
    }
    NEED(fuzz_slot(c, FUZZ_CTXS) && depth > 0 && (op->kind == FUZZ_ctx_set || depth < FUZZ_STACK));
    TRY(fuzz_may_use(m, t, &m->ctxs[c].use, false));
    if (op->kind == FUZZ_ctx_push)
        m->depth[t]++;
    m->stack[t][m->depth[t] - 1] = c;
    fuzz_used(m, t, &m->ctxs[c].use);
    return FUZZ_LEGAL;
}

/* ---- events ---- */
static enum fuzz_verdict event_new(struct fuzz_model *m, int t, int e, int flags)
{
    int ctx = fuzz_model_ctx(m, t);
    NEED(fuzz_slot(e, FUZZ_EVENTS) && ctx >= 0 && flags >= 0 && flags < 4);
    TRY(may_make(m, t, &m->events[e].use));
    m->events[e].ctx = ctx;
    m->events[e].timed = !(flags & 2); /* CU_EVENT_DISABLE_TIMING */
    m->events[e].recorded = m->events[e].vague = false;
    memset(&m->events[e].done, 0, sizeof(m->events[e].done));
    made(m, t, &m->events[e].use, true);
    return FUZZ_LEGAL;
}

static enum fuzz_verdict event_del(struct fuzz_model *m, int t, int e)
{
    NEED(fuzz_slot(e, FUZZ_EVENTS));
    TRY(fuzz_may_use(m, t, &m->events[e].use, true));
    made(m, t, &m->events[e].use, false);
    return FUZZ_LEGAL;
}

static enum fuzz_verdict elapsed(struct fuzz_model *m, int t, const struct fuzz_op *op)
{
    for (int i = 0; i < 2; i++) {
        int e = op->a[i];
        NEED(fuzz_slot(e, FUZZ_EVENTS));
        TRY(fuzz_may_use(m, t, &m->events[e].use, true));
        NEED(m->events[e].recorded && m->events[e].timed && fuzz_over(m, t, &m->events[e].done));
    }
    return FUZZ_LEGAL;
}

static enum fuzz_verdict event_wait(struct fuzz_model *m, int t, struct fuzz_op *op)
{
    int e = op->a[0];
    NEED(fuzz_slot(e, FUZZ_EVENTS));
    TRY(fuzz_may_use(m, t, &m->events[e].use, true));
    op->certain = !m->events[e].vague && fuzz_over(m, t, &m->events[e].done);
    fuzz_used(m, t, &m->events[e].use);
    if (op->kind != FUZZ_event_query)
        fuzz_join(&m->host[t], &m->events[e].done);
    return FUZZ_LEGAL;
}

/* ---- buffers ---- */
static enum fuzz_verdict buf_new(struct fuzz_model *m, int t, const struct fuzz_op *op)
{
    int b = op->a[0], kind = op->a[1], ctx = fuzz_model_ctx(m, t);
    NEED(fuzz_slot(b, FUZZ_BUFFERS) && fuzz_slot(kind, FUZZ_MEMORIES) && ctx >= 0);
    TRY(may_make(m, t, &m->buffers[b].use));
    int entity = t;
    if (kind == FUZZ_POOL) {
        struct fuzz_clock done;
        int s = fuzz_model_stream(m, t, op->a[2]);
        TRY(fuzz_ready(m, t, s, &done));
        NEED(m->streams[s].ctx == ctx && !m->streams[s].capturing);
        fuzz_submit(m, t, s, &done);
        entity = m->streams[s].entity;
    }
    memset(m->buffers[b].read, 0, sizeof(m->buffers[b].read));
    memset(&m->buffers[b].signalled, 0, sizeof(m->buffers[b].signalled));
    m->buffers[b].kind = (enum fuzz_memory)kind;
    m->buffers[b].abroad = false;
    m->buffers[b].ctx = ctx;
    m->buffers[b].full = fuzz_on_host((enum fuzz_memory)kind); /* the host fills it */
    m->buffers[b].writer = entity;
    m->buffers[b].written =
            kind == FUZZ_POOL ? m->streams[fuzz_model_stream(m, t, op->a[2])].done.at[entity] : m->host[t].at[t];
    made(m, t, &m->buffers[b].use, true);
    return FUZZ_LEGAL;
}

static enum fuzz_verdict buf_del(struct fuzz_model *m, int t, const struct fuzz_op *op)
{
    int b = op->a[0];
    NEED(fuzz_slot(b, FUZZ_BUFFERS));
    TRY(fuzz_may_use(m, t, &m->buffers[b].use, true));
    NEED(fuzz_model_ctx(m, t) == m->buffers[b].ctx);
    if (m->buffers[b].kind == FUZZ_POOL) {
        struct fuzz_clock done;
        int s = fuzz_model_stream(m, t, op->a[1]);
        TRY(fuzz_ready(m, t, s, &done));
        NEED(m->streams[s].ctx == m->buffers[b].ctx && !m->streams[s].capturing);
        TRY(fuzz_access(m, b, true, &done));
        fuzz_submit(m, t, s, &done);
    } else if (m->buffers[b].kind == FUZZ_PAGEABLE || m->buffers[b].kind == FUZZ_REGISTERED || m->buffers[b].abroad) {
        TRY(fuzz_access(m, b, true, &m->host[t]));
    }
    /* The other frees wait for the context. */
    made(m, t, &m->buffers[b].use, false);
    return FUZZ_LEGAL;
}

static enum fuzz_verdict host_access(struct fuzz_model *m, int t, const struct fuzz_op *op)
{
    int b = op->a[0];
    bool write = op->kind == FUZZ_host_write;
    NEED(fuzz_slot(b, FUZZ_BUFFERS) && fuzz_on_host(m->buffers[b].kind));
    TRY(fuzz_may_use(m, t, &m->buffers[b].use, false));
    TRY(fuzz_access(m, b, write, &m->host[t]));
    fuzz_accessed(m, b, write, t, m->host[t].at[t]);
    fuzz_used(m, t, &m->buffers[b].use);
    return FUZZ_LEGAL;
}

/* ---- code ---- */
static enum fuzz_verdict code(struct fuzz_model *m, int t, const struct fuzz_op *op)
{
    int k = op->a[0], ctx = fuzz_model_ctx(m, t);
    NEED(fuzz_slot(k, FUZZ_CODES) && ctx >= 0);
    if (op->kind == FUZZ_code_load) {
        NEED(k >= 2 && fuzz_slot(op->a[1], 2) && fuzz_slot(op->a[2], FUZZ_KERNELS + 1));
        TRY(may_make(m, t, &m->codes[k].use));
        m->codes[k].ctx = ctx;
        m->codes[k].library = op->a[1] == 1;
        for (int l = 0; l < FUZZ_LIMITS * FUZZ_CTXS; l++)
            m->codes[k].shared[l / FUZZ_CTXS][l % FUZZ_CTXS] = FUZZ_DEFAULT_SHARED;
        made(m, t, &m->codes[k].use, true);
        made(m, t, &m->codes[k].limit, true);
        return FUZZ_LEGAL;
    }
    TRY(fuzz_may_use(m, t, &m->codes[k].use, op->kind == FUZZ_code_unload));
    if (op->kind == FUZZ_code_unload) {
        NEED(k >= 2);
        made(m, t, &m->codes[k].use, false);
        return FUZZ_LEGAL;
    }
    NEED(k == 0 || m->codes[k].ctx == ctx);
    int limit = op->a[op->kind == FUZZ_func_attr ? 3 : 2];
    NEED(fuzz_slot(op->a[1], 2) && fuzz_slot(limit, FUZZ_LIMITS));
    if (!fuzz_ordered(m, t, &m->codes[k].limit, true))
        return FUZZ_OTHER;
    if (op->kind == FUZZ_func_attr) {
        NEED(op->a[2] >= -1 && op->a[2] <= 1000000);
        if (op->a[1] == 0 && op->a[2] >= 0 && op->a[2] <= 232448)
            m->codes[k].shared[limit][ctx] = op->a[2];
    }
    fuzz_used(m, t, &m->codes[k].limit);
    fuzz_used(m, t, &m->codes[k].use);
    return FUZZ_LEGAL;
}

/* ---- threads ---- */
static enum fuzz_verdict token(struct fuzz_model *m, int t, const struct fuzz_op *op)
{
    int k = op->a[0];
    NEED(fuzz_slot(k, FUZZ_TOKENS));
    if (op->kind == FUZZ_post) {
        NEED(!m->tokens[k].posted);
        m->tokens[k].posted = true;
        m->tokens[k].done = m->host[t];
        return FUZZ_LEGAL;
    }
    NEED(m->tokens[k].posted && !m->tokens[k].awaited);
    m->tokens[k].awaited = true;
    fuzz_join(&m->host[t], &m->tokens[k].done);
    return FUZZ_LEGAL;
}

enum fuzz_verdict fuzz_model_apply(struct fuzz_model *m, struct fuzz_op *op)
{
    int t = op->thread;
    const int *a = op->a;
    op->certain = true;
    NEED(fuzz_slot(t, m->threads));
    NEED(m->captured < 0 || m->capturer != t || fuzz_in_capture(op));
    NEED(!m->gates[t] || !fuzz_may_block(m, op));
    m->host[t].at[t]++;
    switch (op->kind) {
    case FUZZ_stream_new:
        return stream_new(m, t, a[0], a[1]);
    case FUZZ_stream_del:
        return stream_del(m, t, a[0]);
    case FUZZ_event_new:
        return event_new(m, t, a[0], a[1]);
    case FUZZ_event_del:
        return event_del(m, t, a[0]);
    case FUZZ_event_sync:
    case FUZZ_event_query:
    case FUZZ_event_poll:
        return event_wait(m, t, op);
    case FUZZ_elapsed:
        return elapsed(m, t, op);
    case FUZZ_ctx_new:
        return ctx_new(m, t, a[0]);
    case FUZZ_ctx_del:
        return ctx_del(m, t, a[0]);
    case FUZZ_ctx_set:
    case FUZZ_ctx_push:
    case FUZZ_ctx_pop:
        return ctx_current(m, t, op);
    case FUZZ_buf_new:
        return buf_new(m, t, op);
    case FUZZ_buf_del:
        return buf_del(m, t, op);
    case FUZZ_host_write:
    case FUZZ_host_read:
        return host_access(m, t, op);
    case FUZZ_code_load:
    case FUZZ_code_unload:
    case FUZZ_func_attr:
    case FUZZ_func_get:
        return code(m, t, op);
    case FUZZ_post:
    case FUZZ_await:
        return token(m, t, op);
    case FUZZ_nap:
        return a[0] >= 0 && a[0] <= 100000 ? FUZZ_LEGAL : FUZZ_WRONG;
    default:
        return fuzz_model_work(m, op);
    }
}
