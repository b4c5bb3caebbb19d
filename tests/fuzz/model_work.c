/* See model.h: work on streams, and what it may touch. */
#include "tests/fuzz/model_work.h"

#include <string.h>

/* ---- submission ---- */
enum fuzz_verdict fuzz_ready(struct fuzz_model *m, int t, int s, struct fuzz_clock *done)
{
    NEED(s >= 0);
    TRY(fuzz_may_use(m, t, &m->streams[s].use, true));
    *done = m->streams[s].done;
    int ctx = m->streams[s].ctx, culprit = m->culprit;
    bool legacy = s == FUZZ_LEGACY(ctx);
    /* The legacy stream and blocking streams wait for each other; what another thread submits meanwhile may or may not
     * come first, so it does not count. */
    for (int o = 0; o < FUZZ_ALL_STREAMS; o++) {
        bool other = legacy ? m->streams[o].blocking : m->streams[s].blocking && o == FUZZ_LEGACY(ctx);
        if (o != s && other && m->streams[o].use.live && m->streams[o].ctx == ctx && !m->streams[o].capturing &&
            fuzz_ordered(m, t, &m->streams[o].use, true))
            fuzz_join(done, &m->streams[o].done);
    }
    m->culprit = culprit;
    fuzz_join(done, &m->host[t]);
    done->at[m->streams[s].entity]++;
    return FUZZ_LEGAL;
}

void fuzz_submit(struct fuzz_model *m, int t, int s, const struct fuzz_clock *done)
{
    m->streams[s].done = *done;
    fuzz_used(m, t, &m->streams[s].use);
}

static int stream_of(const struct fuzz_model *m, int entity)
{
    for (int s = 0; s < FUZZ_ALL_STREAMS; s++)
        if (m->streams[s].use.live && m->streams[s].entity == entity)
            return s;
    return -1 - (entity < m->threads ? entity : 0);
}

enum fuzz_verdict fuzz_access(struct fuzz_model *m, int b, bool write, const struct fuzz_clock *done)
{
    int culprit = -1;
    if (m->buffers[b].written > done->at[m->buffers[b].writer])
        culprit = m->buffers[b].writer;
    for (int e = 0; write && e < m->entities && culprit < 0; e++)
        if (m->buffers[b].read[e] > done->at[e])
            culprit = e;
    if (culprit < 0)
        return FUZZ_LEGAL;
    m->culprit = stream_of(m, culprit);
    return FUZZ_RACE;
}

void fuzz_accessed(struct fuzz_model *m, int b, bool write, int entity, uint32_t at)
{
    if (!write) {
        m->buffers[b].read[entity] = at;
        return;
    }
    m->buffers[b].writer = entity;
    m->buffers[b].written = at;
    memset(m->buffers[b].read, 0, sizeof(m->buffers[b].read));
}

static enum fuzz_verdict buffers_usable(struct fuzz_model *m, int t, int ctx, const struct fuzz_effect *effect)
{
    for (int b = 0; b < FUZZ_ALL_BUFFERS; b++) {
        if (!((effect->reads | effect->writes) >> b & 1))
            continue;
        TRY(fuzz_may_use(m, t, &m->buffers[b].use, false));
        int home = m->buffers[b].ctx;
        if (home == ctx)
            continue;
        NEED(m->buffers[b].kind == FUZZ_DEVICE && b < FUZZ_BUFFERS && m->captured < 0);
        NEED(effect->reach == FUZZ_ANYWHERE || (effect->reach == FUZZ_PEERS && m->ctxs[ctx].peers[home]));
    }
    return FUZZ_LEGAL;
}

static void note(struct fuzz_model *m, int t, struct fuzz_graph *graph, const struct fuzz_effect *effect)
{
    for (int b = 0; b < FUZZ_ALL_BUFFERS; b++)
        if ((effect->reads | effect->writes) >> b & 1) {
            graph->buffer_generation[b] = m->buffers[b].use.generation;
            fuzz_used(m, t, &m->buffers[b].use);
        }
    for (int k = 0; k < FUZZ_CODES; k++)
        if (effect->codes >> k & 1) {
            graph->code_generation[k] = m->codes[k].use.generation;
            fuzz_used(m, t, &m->codes[k].use);
        }
    graph->nodes++;
    graph->reads |= effect->reads;
    graph->writes |= effect->writes;
    graph->codes |= effect->codes;
}

enum fuzz_verdict fuzz_work(struct fuzz_model *m, int t, int s, const struct fuzz_effect *effect,
                            struct fuzz_clock *before)
{
    struct fuzz_clock done;
    NEED(s >= 0);
    TRY(fuzz_may_use(m, t, &m->streams[s].use, true));
    int ctx = m->streams[s].ctx;
    TRY(buffers_usable(m, t, ctx, effect));
    uint32_t unset = effect->reads;
    for (int b = 0; b < FUZZ_ALL_BUFFERS; b++)
        if ((unset | effect->writes) >> b & 1 && b != effect->fills)
            NEED(m->buffers[b].full);
    if (m->streams[s].capturing) {
        NEED((effect->fills < 0 || m->buffers[effect->fills].full) && m->capturer == t);
        NEED(s != m->side || m->apart);
        if (m->apart) {
            int mine = s == m->side;
            uint32_t touched = m->branch[!mine].reads | m->branch[!mine].writes;
            NEED(!(effect->writes & touched) && !(effect->reads & m->branch[!mine].writes));
            m->branch[mine].reads |= effect->reads;
            m->branch[mine].writes |= effect->writes;
        }
        note(m, t, &m->capture, effect);
        fuzz_used(m, t, &m->streams[s].use);
        return FUZZ_LEGAL;
    }
    NEED(m->captured < 0 || m->capturer != t || s < FUZZ_STREAMS);
    TRY(fuzz_ready(m, t, s, &done));
    for (int b = 0; b < FUZZ_ALL_BUFFERS; b++)
        if ((effect->reads | effect->writes) >> b & 1)
            TRY(fuzz_access(m, b, effect->writes >> b & 1, &done));
    if (before) {
        *before = done;
        before->at[m->streams[s].entity]--;
    }
    fuzz_submit(m, t, s, &done);
    int entity = m->streams[s].entity;
    for (int b = 0; b < FUZZ_ALL_BUFFERS; b++) {
        if ((effect->reads | effect->writes) >> b & 1) {
            fuzz_accessed(m, b, effect->writes >> b & 1, entity, done.at[entity]);
            fuzz_used(m, t, &m->buffers[b].use);
            m->buffers[b].abroad = m->buffers[b].abroad || m->buffers[b].ctx != ctx;
        }
    }
    for (int k = 0; k < FUZZ_CODES; k++)
        if (effect->codes >> k & 1)
            fuzz_used(m, t, &m->codes[k].use);
    if (effect->fills >= 0)
        m->buffers[effect->fills].full = true;
    return FUZZ_LEGAL;
}

/* ---- waiting ---- */
static enum fuzz_verdict stream_wait(struct fuzz_model *m, struct fuzz_op *op)
{
    int t = op->thread, s = fuzz_model_stream(m, t, op->a[0]);
    NEED(s >= 0 && !m->streams[s].capturing);
    TRY(fuzz_may_use(m, t, &m->streams[s].use, true));
    op->certain = s != FUZZ_LEGACY(m->streams[s].ctx) && fuzz_over(m, t, &m->streams[s].done);
    fuzz_used(m, t, &m->streams[s].use);
    if (op->kind != FUZZ_stream_query)
        fuzz_await(m, t, s);
    return FUZZ_LEGAL;
}

static enum fuzz_verdict ctx_sync(struct fuzz_model *m, int t)
{
    int ctx = fuzz_model_ctx(m, t);
    NEED(ctx >= 0 && (m->captured < 0 || m->streams[m->captured].ctx != ctx));
    if (!fuzz_ordered(m, t, &m->ctxs[ctx].captures, true))
        return FUZZ_OTHER;
    fuzz_used(m, t, &m->ctxs[ctx].syncs);
    for (int s = 0; s < FUZZ_ALL_STREAMS; s++)
        if (m->streams[s].use.live && m->streams[s].ctx == ctx && fuzz_ordered(m, t, &m->streams[s].use, true))
            fuzz_await(m, t, s);
    for (int g = 0; g < m->n_gone && m->threads == 1; g++)
        if (m->gone[g].ctx == ctx)
            fuzz_join(&m->host[t], &m->gone[g].done);
    return FUZZ_LEGAL;
}

static enum fuzz_verdict record(struct fuzz_model *m, const struct fuzz_op *op)
{
    int t = op->thread, e = op->a[0], s = fuzz_model_stream(m, t, op->a[1]);
    struct fuzz_clock done;
    NEED(fuzz_slot(e, FUZZ_EVENTS) && s >= 0 && !m->streams[s].capturing);
    NEED(m->captured < 0 || m->capturer != t || s < FUZZ_STREAMS);
    TRY(fuzz_may_use(m, t, &m->events[e].use, true));
    TRY(fuzz_ready(m, t, s, &done));
    NEED(m->events[e].ctx == m->streams[s].ctx);
    fuzz_submit(m, t, s, &done);
    m->events[e].done = done;
    m->events[e].recorded = true;
    m->events[e].vague = false;
    fuzz_used(m, t, &m->events[e].use);
    return FUZZ_LEGAL;
}

static enum fuzz_verdict wait(struct fuzz_model *m, const struct fuzz_op *op)
{
    int t = op->thread, s = fuzz_model_stream(m, t, op->a[0]), e = op->a[1];
    struct fuzz_clock done;
    NEED(fuzz_slot(e, FUZZ_EVENTS) && s >= 0 && !m->streams[s].capturing);
    TRY(fuzz_may_use(m, t, &m->events[e].use, true));
    TRY(fuzz_ready(m, t, s, &done));
    fuzz_join(&done, &m->events[e].done);
    fuzz_submit(m, t, s, &done);
    fuzz_used(m, t, &m->events[e].use);
    return FUZZ_LEGAL;
}

/* ---- work ---- */
static enum fuzz_verdict copy(struct fuzz_model *m, const struct fuzz_op *op)
{
    int t = op->thread, s = fuzz_model_stream(m, t, op->a[0]), dst = op->a[1], src = op->a[2], how = op->a[4];
    NEED(fuzz_slot(dst, FUZZ_BUFFERS) && fuzz_slot(src, FUZZ_BUFFERS) && dst != src && fuzz_slot(how, FUZZ_COPIES) &&
         s >= 0);
    NEED(op->a[3] > 0 && op->a[3] <= FUZZ_WORDS);
    enum fuzz_memory to = m->buffers[dst].kind, from = m->buffers[src].kind;
    bool host_to = fuzz_on_host(to) && to != FUZZ_MANAGED, host_from = fuzz_on_host(from) && from != FUZZ_MANAGED;
    bool pageable = to == FUZZ_PAGEABLE || from == FUZZ_PAGEABLE;
    bool typed = how == FUZZ_COPY_TYPED || how == FUZZ_COPY_TYPED_SYNC || fuzz_copy_shaped(how);
    bool sync = fuzz_copy_sync(how), peer = how == FUZZ_COPY_PEER || how == FUZZ_COPY_PEER_SYNC;
    NEED(!(typed && host_to && host_from) && !(sync && op->a[0] != -1 && op->a[0] != -3));
    NEED(!(peer && (host_to || host_from)));
    NEED(!pageable || ((sync || !fuzz_copy_shaped(how)) && !m->streams[s].capturing && !(host_to && host_from)));
    struct fuzz_effect effect = {.reads = 1u << src, .writes = 1u << dst, .fills = op->a[3] == FUZZ_WORDS ? dst : -1};
    if (peer) /* a synchronous one waits for all work of both contexts: a promise that no program counts on here */
        effect.reach = FUZZ_ANYWHERE;
    else if (how == FUZZ_COPY_ASYNC)
        effect.reach = FUZZ_PEERS;
    if (from == FUZZ_PAGEABLE) {
        /* The host reads it during the call. */
        NEED(m->buffers[src].use.live);
        TRY(fuzz_may_use(m, t, &m->buffers[src].use, false));
        TRY(fuzz_access(m, src, false, &m->host[t]));
    }
    TRY(fuzz_work(m, t, s, &effect, NULL));
    if (from == FUZZ_PAGEABLE) {
        m->buffers[src].read[m->streams[s].entity] = 0;
        fuzz_accessed(m, src, false, t, m->host[t].at[t]);
    }
    if (to == FUZZ_PAGEABLE || (sync && (host_to || (host_from && from != FUZZ_PAGEABLE))))
        fuzz_await(m, t, s);
    return FUZZ_LEGAL;
}

static enum fuzz_verdict set(struct fuzz_model *m, const struct fuzz_op *op)
{
    int t = op->thread, s = fuzz_model_stream(m, t, op->a[0]), dst = op->a[1], words = op->a[3], element = op->a[4];
    bool sync = fuzz_set_sync(op->a[5]);
    NEED(fuzz_slot(dst, FUZZ_BUFFERS) && words > 0 && words <= FUZZ_WORDS && fuzz_slot(op->a[5], FUZZ_SETS));
    NEED((element == 1 || element == 2 || element == 4) && (!sync || op->a[0] == -1 || op->a[0] == -3));
    NEED(m->buffers[dst].kind != FUZZ_PAGEABLE);
    struct fuzz_effect effect = {.writes = 1u << dst, .fills = words == FUZZ_WORDS ? dst : -1};
    TRY(fuzz_work(m, t, s, &effect, NULL));
    if (sync && fuzz_on_host(m->buffers[dst].kind)) /* pinned and managed memory: as if the host had written it */
        fuzz_await(m, t, s);
    return FUZZ_LEGAL;
}

static enum fuzz_verdict set_global(struct fuzz_model *m, const struct fuzz_op *op)
{
    int t = op->thread, s = fuzz_model_stream(m, t, op->a[0]);
    NEED(s >= 0 && m->streams[s].ctx == 0 && fuzz_model_ctx(m, t) == 0);
    struct fuzz_effect effect = {.writes = 1u << FUZZ_GLOBAL, .codes = 1, .fills = FUZZ_GLOBAL};
    return fuzz_work(m, t, s, &effect, NULL);
}

static enum fuzz_verdict fetch(struct fuzz_model *m, const struct fuzz_op *op)
{
    int t = op->thread, s = fuzz_model_stream(m, t, op->a[0]), b = op->a[1], how = op->a[2];
    NEED(fuzz_slot(b, FUZZ_BUFFERS) && s >= 0 && fuzz_slot(how, 2) && (how == 1 || op->a[0] == -1 || op->a[0] == -3));
    NEED(m->buffers[b].kind != FUZZ_PAGEABLE);
    struct fuzz_effect effect = {.reads = 1u << b, .fills = -1};
    TRY(fuzz_work(m, t, s, &effect, NULL));
    fuzz_await(m, t, s);
    return FUZZ_LEGAL;
}

static enum fuzz_verdict launch_events(struct fuzz_model *m, const struct fuzz_op *op, int s)
{
    int e = op->a[11];
    NEED(fuzz_slot(e, FUZZ_EVENTS) && !m->streams[s].capturing);
    TRY(fuzz_may_use(m, op->thread, &m->events[e].use, true));
    NEED(m->events[e].ctx == m->streams[s].ctx && !m->events[e].timed);
    return FUZZ_LEGAL;
}

static enum fuzz_verdict launch(struct fuzz_model *m, const struct fuzz_op *op)
{
    const int *a = op->a;
    int t = op->thread, s = fuzz_model_stream(m, t, a[0]), k = a[1], kernel = a[2], dst = a[3], src = a[4];
    int shared = a[8], how = a[9], attrs = a[10];
    NEED(s >= 0 && fuzz_slot(k, FUZZ_CODES) && fuzz_slot(kernel, FUZZ_KERNELS) && fuzz_slot(dst, FUZZ_BUFFERS));
    for (int i = 0; i < 3; i++)
        NEED(fuzz_slot(fuzz_grid(op, i) - 1, 16) && fuzz_slot(fuzz_block(op, i) - 1, i == 2 ? 64 : 256));
    int block = fuzz_block_threads(op);
    NEED(block <= 256 && fuzz_blocks(op) <= 64 && shared >= 0 && shared <= 262144 && fuzz_slot(how, FUZZ_LAUNCHES));
    NEED(fuzz_slot(attrs, FUZZ_ATTRS) && (!attrs || how == FUZZ_EX));
    TRY(fuzz_may_use(m, t, &m->streams[s].use, true));
    TRY(fuzz_may_use(m, t, &m->codes[k].use, false));
    int ctx = m->streams[s].ctx;
    NEED(k == 0 || m->codes[k].library || m->codes[k].ctx == ctx);
    NEED(m->buffers[dst].kind != FUZZ_PAGEABLE);
    struct fuzz_effect effect = {.writes = 1u << dst, .codes = 1u << k, .fills = -1, .reach = FUZZ_PEERS};
    if (kernel == FUZZ_FILL && fuzz_blocks(op) * block >= FUZZ_WORDS)
        effect.fills = dst;
    if (kernel == FUZZ_MIX) {
        NEED(fuzz_slot(src, FUZZ_BUFFERS) && src != dst && m->buffers[src].kind != FUZZ_PAGEABLE);
        effect.reads = 1u << src;
    }
    if (kernel == FUZZ_SCALED) {
        NEED(k == 0 && ctx == 0);
        effect.reads = 1u << FUZZ_GLOBAL;
    }
    bool odd = attrs & FUZZ_ATTR_CLUSTER && fuzz_grid(op, attrs & FUZZ_ATTR_CLUSTER_Y ? 1 : 0) % 2 != 0, refused;
    int limit = fuzz_limit(kernel);
    if (limit >= 0) {
        /* Its limit is the one that programs change. */
        NEED(shared >= 4 * block && (k == 0 || m->codes[k].ctx == ctx));
        if (!fuzz_ordered(m, t, &m->codes[k].limit, true))
            return FUZZ_OTHER;
        refused = shared > m->codes[k].shared[limit][ctx] || odd;
    } else {
        refused = odd;
        NEED(shared <= FUZZ_DEFAULT_SHARED);
    }
    if (attrs & (FUZZ_ATTR_COMPLETION | FUZZ_ATTR_EVENT))
        TRY(launch_events(m, op, s));
    struct fuzz_clock before;
    if (refused) {
        NEED(!m->streams[s].capturing && !(attrs & (FUZZ_ATTR_COMPLETION | FUZZ_ATTR_EVENT)));
        /* which refusal it is depends on them: neither ends before this call */
        fuzz_used(m, t, &m->codes[k].use);
        fuzz_used(m, t, &m->streams[s].use);
    } else {
        TRY(fuzz_work(m, t, s, &effect, &before));
    }
    if (limit >= 0)
        fuzz_used(m, t, &m->codes[k].limit);
    if (attrs & (FUZZ_ATTR_COMPLETION | FUZZ_ATTR_EVENT)) {
        /* It is promised to be later than what came before the kernel, no more. */
        m->events[a[11]].done = before;
        m->events[a[11]].recorded = m->events[a[11]].vague = true;
        fuzz_used(m, t, &m->events[a[11]].use);
    }
    return FUZZ_LEGAL;
}

static enum fuzz_verdict host(struct fuzz_model *m, const struct fuzz_op *op)
{
    int t = op->thread, s = fuzz_model_stream(m, t, op->a[0]), b = op->a[1];
    NEED(fuzz_slot(b, FUZZ_BUFFERS) && fuzz_slot(op->a[3], 2) && s >= 0);
    NEED(fuzz_on_host(m->buffers[b].kind) && m->buffers[b].kind != FUZZ_MANAGED);
    NEED(!m->streams[s].capturing || op->a[3] == 0);
    struct fuzz_effect effect = {.writes = 1u << b, .fills = -1};
    return fuzz_work(m, t, s, &effect, NULL);
}

static enum fuzz_verdict gate(struct fuzz_model *m, const struct fuzz_op *op)
{
    int t = op->thread, g = op->kind == FUZZ_gate ? op->a[1] : op->a[0];
    NEED(fuzz_slot(g, FUZZ_GATES));
    if (op->kind == FUZZ_open) {
        NEED(m->gate[g].closed && m->gate[g].thread == t);
        m->gate[g].closed = false;
        m->gates[t]--;
        return FUZZ_LEGAL;
    }
    struct fuzz_effect effect = {.fills = -1};
    NEED(!m->gate[g].used && (m->captured < 0 || m->capturer != t));
    int s = fuzz_model_stream(m, t, op->a[0]);
    TRY(fuzz_work(m, t, s, &effect, NULL));
    m->gate[g].entity = m->streams[s].entity;
    m->gate[g].at = m->streams[s].done.at[m->streams[s].entity];
    m->gate[g].used = m->gate[g].closed = true;
    m->gate[g].thread = t;
    m->gates[t]++;
    return FUZZ_LEGAL;
}

static enum fuzz_verdict flag(struct fuzz_model *m, const struct fuzz_op *op)
{
    int t = op->thread, s = fuzz_model_stream(m, t, op->a[0]), f = op->a[1];
    struct fuzz_clock done;
    NEED(fuzz_slot(f, FUZZ_FLAGS) && s >= 0 && m->streams[s].ctx == 0);
    TRY(fuzz_ready(m, t, s, &done));
    if (op->kind == FUZZ_flag_write) {
        NEED(!m->flags[f].written);
        m->flags[f].written = true;
        m->flags[f].used[t] = m->host[t].at[t];
        m->flags[f].done = done;
    } else {
        NEED(m->flags[f].written);
        for (int o = 0; o < m->threads; o++)
            if (m->flags[f].used[o] > m->host[t].at[o]) {
                m->culprit = o;
                return FUZZ_OTHER;
            }
        fuzz_join(&done, &m->flags[f].done);
    }
    fuzz_submit(m, t, s, &done);
    return FUZZ_LEGAL;
}

enum fuzz_verdict fuzz_model_work(struct fuzz_model *m, struct fuzz_op *op)
{
    switch (op->kind) {
    case FUZZ_stream_sync:
    case FUZZ_stream_query:
    case FUZZ_stream_poll:
        return stream_wait(m, op);
    case FUZZ_ctx_sync:
        return ctx_sync(m, op->thread);
    case FUZZ_record:
        return record(m, op);
    case FUZZ_wait:
        return wait(m, op);
    case FUZZ_copy:
        return copy(m, op);
    case FUZZ_set:
        return set(m, op);
    case FUZZ_set_global:
        return set_global(m, op);
    case FUZZ_fetch:
        return fetch(m, op);
    case FUZZ_launch:
        return launch(m, op);
    case FUZZ_host:
        return host(m, op);
    case FUZZ_gate:
    case FUZZ_open:
        return gate(m, op);
    case FUZZ_flag_write:
    case FUZZ_flag_wait:
        return flag(m, op);
    case FUZZ_capture_begin:
    case FUZZ_capture_end:
        return fuzz_model_capture(m, op);
    case FUZZ_fork:
    case FUZZ_join:
        return fuzz_model_fork(m, op);
    case FUZZ_instantiate:
    case FUZZ_graph_launch:
    case FUZZ_graph_del:
    case FUZZ_exec_del:
        return fuzz_model_graph(m, op);
    default:
        return fuzz_model_odd(m, op);
    }
}
