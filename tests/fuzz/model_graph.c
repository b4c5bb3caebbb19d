/* See model.h: graphs of the program, and what is legal while a stream captures or a gate is closed. */
#include "tests/fuzz/model_work.h"

#include <string.h>

/* ---- graphs of the program ---- */
enum fuzz_verdict fuzz_model_capture(struct fuzz_model *m, const struct fuzz_op *op)
{
    int t = op->thread, s = fuzz_model_stream(m, t, op->a[0]);
    NEED(fuzz_slot(op->a[0], FUZZ_STREAMS));
    TRY(fuzz_may_use(m, t, &m->streams[s].use, true));
    int ctx = m->streams[s].ctx;
    if (op->kind == FUZZ_capture_begin) {
        NEED(m->captured < 0 && fuzz_slot(op->a[1], 3));
        /* Other threads' calls may come at any time: none may be one that this capture forbids. */
        NEED(m->threads == 1 || (op->a[1] > 0 && !m->streams[s].blocking));
        if (!fuzz_ordered(m, t, &m->ctxs[ctx].syncs, true))
            return FUZZ_OTHER;
        fuzz_used(m, t, &m->ctxs[ctx].captures);
        fuzz_used(m, t, &m->streams[s].use);
        m->captured = s;
        m->capturer = t;
        m->streams[s].capturing = true;
        memset(&m->capture, 0, sizeof(m->capture));
        m->capture.ctx = m->streams[s].ctx;
        return FUZZ_LEGAL;
    }
    int g = op->a[1];
    NEED(m->captured == s && m->capturer == t && !m->apart && fuzz_slot(g, FUZZ_GRAPHS) && !m->graphs[g].use.live);
    NEED(g % m->threads == t);
    fuzz_used(m, t, &m->ctxs[ctx].captures);
    fuzz_used(m, t, &m->streams[s].use);
    m->captured = -1;
    m->streams[s].capturing = false;
    if (m->side >= 0) {
        fuzz_used(m, t, &m->streams[m->side].use);
        m->streams[m->side].capturing = false;
        m->side = -1;
    }
    m->graphs[g] = m->capture;
    m->graphs[g].use.live = true;
    return FUZZ_LEGAL;
}

/* A stream joins the capture, or the capture waits for it. Between the two, work of both may run at the same time. */
enum fuzz_verdict fuzz_model_fork(struct fuzz_model *m, const struct fuzz_op *op)
{
    int t = op->thread, s = op->a[0];
    NEED(m->captured >= 0 && m->capturer == t && fuzz_slot(s, FUZZ_STREAMS) && s != m->captured);
    if (op->kind == FUZZ_join) {
        NEED(m->side == s && m->apart);
        m->apart = false;
        return FUZZ_LEGAL;
    }
    NEED(!m->apart && (m->side == s || (m->side < 0 && !m->streams[s].capturing)));
    TRY(fuzz_may_use(m, t, &m->streams[s].use, true));
    NEED(m->streams[s].ctx == m->streams[m->captured].ctx && (m->threads == 1 || !m->streams[s].blocking));
    fuzz_used(m, t, &m->streams[s].use);
    memset(m->branch, 0, sizeof(m->branch));
    m->streams[s].capturing = m->apart = true;
    m->side = s;
    return FUZZ_LEGAL;
}

static bool stale(const struct fuzz_model *m, const struct fuzz_graph *graph)
{
    for (int b = 0; b < FUZZ_ALL_BUFFERS; b++)
        if ((graph->reads | graph->writes) >> b & 1 &&
            (!m->buffers[b].use.live || graph->buffer_generation[b] != m->buffers[b].use.generation))
            return true;
    for (int k = 0; k < FUZZ_CODES; k++)
        if (graph->codes >> k & 1 && (!m->codes[k].use.live || graph->code_generation[k] != m->codes[k].use.generation))
            return true;
    return false;
}

int fuzz_graphs_kb(const struct fuzz_model *m)
{
    int nodes = 0;
    for (int x = 0; x < FUZZ_EXECS; x++)
        nodes += m->execs[x].use.live ? m->execs[x].nodes : 0;
    return FUZZ_NODE_KB * nodes;
}

enum fuzz_verdict fuzz_model_graph(struct fuzz_model *m, const struct fuzz_op *op)
{
    int t = op->thread, index = op->a[0];
    if (op->kind == FUZZ_instantiate) {
        NEED(fuzz_slot(index, FUZZ_GRAPHS) && fuzz_slot(op->a[1], FUZZ_EXECS) && m->graphs[index].use.live &&
             !m->execs[op->a[1]].use.live && !stale(m, &m->graphs[index]));
        NEED(fuzz_graphs_kb(m) + FUZZ_NODE_KB * m->graphs[index].nodes <= FUZZ_DEVICE_KB);
        NEED(fuzz_model_ctx(m, t) == m->graphs[index].ctx && index % m->threads == t && op->a[1] % m->threads == t);
        for (int b = 0; b < FUZZ_ALL_BUFFERS; b++)
            if ((m->graphs[index].reads | m->graphs[index].writes) >> b & 1) {
                TRY(fuzz_may_use(m, t, &m->buffers[b].use, false));
                fuzz_used(m, t, &m->buffers[b].use);
            }
        for (int k = 0; k < FUZZ_CODES; k++)
            if (m->graphs[index].codes >> k & 1) {
                TRY(fuzz_may_use(m, t, &m->codes[k].use, false));
                fuzz_used(m, t, &m->codes[k].use);
            }
        m->execs[op->a[1]] = m->graphs[index];
        return FUZZ_LEGAL;
    }
    if (op->kind == FUZZ_graph_del) {
        NEED(fuzz_slot(index, FUZZ_GRAPHS) && m->graphs[index].use.live && index % m->threads == t);
        m->graphs[index].use.live = false;
        return FUZZ_LEGAL;
    }
    NEED(fuzz_slot(index, FUZZ_EXECS) && m->execs[index].use.live && index % m->threads == t);
    if (op->kind == FUZZ_exec_del) {
        m->execs[index].use.live = false;
        return FUZZ_LEGAL;
    }
    int s = fuzz_model_stream(m, t, op->a[1]);
    NEED(s >= 0 && m->streams[s].ctx == m->execs[index].ctx && !m->streams[s].capturing);
    NEED(!stale(m, &m->execs[index]));
    struct fuzz_effect effect = {.reads = m->execs[index].reads,
                                 .writes = m->execs[index].writes,
                                 .codes = m->execs[index].codes,
                                 .fills = -1};
    return fuzz_work(m, t, s, &effect, NULL);
}

/* Calls that may wait for the device, or for another thread. */
bool fuzz_may_block(const struct fuzz_model *m, const struct fuzz_op *op)
{
    switch (op->kind) {
    case FUZZ_stream_sync:
    case FUZZ_stream_poll:
    case FUZZ_event_sync:
    case FUZZ_event_poll:
    case FUZZ_ctx_sync:
    case FUZZ_ctx_new:
    case FUZZ_ctx_del:
    case FUZZ_fetch:
    case FUZZ_set_global:
    case FUZZ_code_load:
    case FUZZ_code_unload:
    case FUZZ_await:
    case FUZZ_duel:
    case FUZZ_hoard:
    case FUZZ_poison:
    case FUZZ_bad:
        return true;
    case FUZZ_buf_new:
        return op->a[1] != FUZZ_POOL;
    case FUZZ_buf_del:
        return !fuzz_slot(op->a[0], FUZZ_BUFFERS) || m->buffers[op->a[0]].kind != FUZZ_POOL;
    case FUZZ_copy:
        return fuzz_copy_sync(op->a[4]) || !fuzz_slot(op->a[1], FUZZ_BUFFERS) || !fuzz_slot(op->a[2], FUZZ_BUFFERS) ||
               m->buffers[op->a[1]].kind == FUZZ_PAGEABLE || m->buffers[op->a[2]].kind == FUZZ_PAGEABLE;
    case FUZZ_set:
        return fuzz_set_sync(op->a[5]);
    default:
        return false;
    }
}

/* Calls that are legal while a stream of the program captures. */
bool fuzz_in_capture(const struct fuzz_op *op)
{
    switch (op->kind) {
    case FUZZ_launch:
    case FUZZ_host:
    case FUZZ_capture_end:
    case FUZZ_fork:
    case FUZZ_join:
    case FUZZ_host_write:
    case FUZZ_nap:
        return true;
    case FUZZ_copy:
        return !fuzz_copy_sync(op->a[4]);
    case FUZZ_set:
        return !fuzz_set_sync(op->a[5]);
    case FUZZ_record:
        return true;
    default:
        return false;
    }
}
