/* Stream capture: streams that build a graph instead of doing work, how others join them, and what a capture forbids.
 */
#include "tests/sim/graph.h"
#include "tests/sim/report.h"

struct sim_capture {
    uint64_t id;
    struct sim_graph *graph;
    bool own_graph; /* false: the program's graph (cuStreamBeginCaptureToGraph) */
    struct sim_stream *origin;
    CUstreamCaptureMode mode;
    pthread_t thread;
    bool invalid;
    struct sim_capture *next;
};

static struct sim_capture *captures;
static uint64_t next_id = 1;

static void spoil(struct sim_capture *capture)
{
    capture->invalid = true;
}

/* ---- what a capture forbids ---- */
CUresult sim_capture_unsafe(void)
{
    if (sim_self.capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_SUCCESS;
    CUresult result = CUDA_SUCCESS;
    for (struct sim_capture *capture = captures; capture; capture = capture->next) {
        bool mine = pthread_equal(capture->thread, pthread_self()) && capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
        bool global = capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                      sim_self.capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
        if (!mine && !global)
            continue;
        spoil(capture);
        result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return result;
}

/* A blocking stream of this context that captures makes the legacy stream unusable. */
static struct sim_capture *blocking_capture(struct sim_ctx *ctx)
{
    for (struct sim_stream *stream = ctx->streams; stream; stream = stream->next)
        if (stream->capture && sim_stream_blocking(stream))
            return stream->capture;
    return NULL;
}

CUresult sim_capture_implicit(struct sim_stream *stream)
{
    struct sim_capture *capture = stream->legacy ? blocking_capture(stream->ctx) : NULL;
    if (!capture)
        return CUDA_SUCCESS;
    spoil(capture);
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

CUresult sim_capture_refuse(struct sim_stream *stream)
{
    if (stream->capture) {
        spoil(stream->capture);
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return sim_capture_implicit(stream);
}

CUresult sim_capture_refuse_ctx(struct sim_ctx *ctx)
{
    for (struct sim_stream *stream = ctx->streams; stream; stream = stream->next)
        if (stream->capture)
            return sim_capture_refuse(stream);
    return CUDA_SUCCESS;
}

/* ---- streams in a capture ---- */
static bool set_tail(struct sim_stream *stream, struct sim_node **nodes, size_t n, const CUgraphEdgeData *edges)
{
    struct sim_node **deps = calloc(n + 1, sizeof(struct sim_node *));
    CUgraphEdgeData *data = calloc(n + 1, sizeof(*data));
    if (!deps || !data) {
        free(deps);
        free(data);
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        deps[i] = nodes[i];
        if (edges)
            data[i] = edges[i];
    }
    free(stream->cap_deps);
    free(stream->cap_edges);
    stream->cap_deps = deps;
    stream->cap_edges = data;
    stream->n_cap_deps = n;
    return true;
}

static bool add_tail(struct sim_stream *stream, struct sim_node *node)
{
    for (size_t i = 0; i < stream->n_cap_deps; i++)
        if (stream->cap_deps[i] == node)
            return true;
    struct sim_node **nodes = calloc(stream->n_cap_deps + 1, sizeof(struct sim_node *));
    if (!nodes)
        return false;
    for (size_t i = 0; i < stream->n_cap_deps; i++)
        nodes[i] = stream->cap_deps[i];
    nodes[stream->n_cap_deps] = node;
    bool done = set_tail(stream, nodes, stream->n_cap_deps + 1, NULL);
    free(nodes);
    return done;
}

static void leave(struct sim_stream *stream)
{
    free(stream->cap_deps);
    free(stream->cap_edges);
    stream->cap_deps = NULL;
    stream->cap_edges = NULL;
    stream->n_cap_deps = 0;
    stream->capture = NULL;
}

static bool programmatic(const struct sim_task *task)
{
    for (unsigned int i = 0; task->kind == SIM_TASK_KERNEL && i < task->u.kernel.n_attrs; i++)
        if (task->u.kernel.attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
            return task->u.kernel.attrs[i].value.programmaticStreamSerializationAllowed;
    return false;
}

CUresult sim_capture_task(struct sim_stream *stream, struct sim_task *task)
{
    struct sim_capture *capture = stream->capture;
    if (capture->invalid) {
        sim_task_drop(task);
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    bool overlap = programmatic(task);
    CUgraphNodeType type = task->kind == SIM_TASK_CHILD    ? CU_GRAPH_NODE_TYPE_GRAPH
                           : task->kind == SIM_TASK_KERNEL ? CU_GRAPH_NODE_TYPE_KERNEL
                           : task->kind == SIM_TASK_MEMSET ? CU_GRAPH_NODE_TYPE_MEMSET
                           : task->kind == SIM_TASK_COPY   ? CU_GRAPH_NODE_TYPE_MEMCPY
                           : task->kind == SIM_TASK_HOST   ? CU_GRAPH_NODE_TYPE_HOST
                                                           : CU_GRAPH_NODE_TYPE_EMPTY;
    struct sim_node *node = sim_node_add(capture->graph, type, task);
    if (!node)
        return CUDA_ERROR_OUT_OF_MEMORY;
    node->ctx = stream->ctx;
    sim_counts.nodes_added++;
    sim_cost_host(0); /* the captured call has paid for itself */
    for (size_t i = 0; i < stream->n_cap_deps; i++) {
        CUgraphEdgeData edge = stream->cap_edges[i];
        if (overlap && stream->cap_deps[i]->type == CU_GRAPH_NODE_TYPE_KERNEL) {
            edge.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
            edge.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
        }
        sim_node_depend(node, stream->cap_deps[i], &edge);
    }
    sim_log_detail(" captured=%p", (void *)node->handle);
    return set_tail(stream, &node, 1, NULL) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sim_capture_record(struct sim_stream *stream, struct sim_event *event)
{
    if (stream->capture->invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    sim_event_forget_capture(event);
    event->cap_nodes = calloc(stream->n_cap_deps + 1, sizeof(struct sim_node *));
    if (!event->cap_nodes)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < stream->n_cap_deps; i++)
        event->cap_nodes[event->n_cap_nodes++] = stream->cap_deps[i];
    event->capture = stream->capture;
    return CUDA_SUCCESS;
}

static bool alive(const struct sim_capture *wanted)
{
    for (struct sim_capture *capture = captures; capture; capture = capture->next)
        if (capture == wanted)
            return true;
    return false;
}

CUresult sim_capture_wait(struct sim_stream *stream, struct sim_event *event)
{
    if (event->capture && !alive(event->capture))
        return CUDA_ERROR_INVALID_VALUE; /* recorded in a capture that has ended */
    if (!event->capture) {
        /* Work outside the capture cannot be waited for inside it; an event never recorded is complete. */
        if (stream->capture->invalid)
            return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        if (!event->op)
            return CUDA_SUCCESS;
        spoil(stream->capture);
        return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    if (event->capture->invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (stream->capture && stream->capture != event->capture) {
        spoil(stream->capture);
        spoil(event->capture);
        return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    }
    if (stream->legacy) {
        spoil(event->capture);
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    stream->capture = event->capture;
    for (size_t i = 0; i < event->n_cap_nodes; i++)
        if (!add_tail(stream, event->cap_nodes[i]))
            return CUDA_ERROR_OUT_OF_MEMORY;
    return CUDA_SUCCESS;
}

static void end(struct sim_capture *capture)
{
    struct sim_capture **link = &captures;
    while (*link != capture)
        link = &(*link)->next;
    *link = capture->next;
    for (struct sim_stream *stream = capture->origin->ctx->streams; stream; stream = stream->next)
        if (stream->capture == capture)
            leave(stream);
    capture->graph->capturing = false;
}

void sim_capture_forget_stream(struct sim_stream *stream)
{
    struct sim_capture *capture = stream->capture;
    if (!capture)
        return;
    if (capture->origin != stream) {
        spoil(capture);
        leave(stream);
        return;
    }
    end(capture);
    if (capture->own_graph)
        sim_graph_destroy(capture->graph);
    free(capture);
}

/* ---- driver API ---- */
static CUresult begin(CUstream handle, CUgraph graph, const CUgraphNode *deps, const CUgraphEdgeData *edges, size_t n,
                      CUstreamCaptureMode mode)
{
    struct sim_stream *stream;
    CUresult result = sim_stream_find(handle, &stream);
    if (result)
        return result;
    if (stream->legacy)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (stream->capture || (unsigned int)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_ILLEGAL_STATE;
    struct sim_capture *capture = calloc(1, sizeof(*capture));
    if (!capture)
        return CUDA_ERROR_OUT_OF_MEMORY;
    capture->own_graph = !graph;
    capture->graph = graph ? sim_graph_of(graph) : sim_graph_new(true);
    if (!capture->graph || capture->graph->capturing) {
        free(capture);
        return CUDA_ERROR_INVALID_VALUE;
    }
    capture->graph->capturing = true;
    capture->id = next_id++;
    capture->origin = stream;
    capture->mode = mode;
    capture->thread = pthread_self();
    capture->next = captures;
    captures = capture;
    stream->capture = capture;
    struct sim_node *nodes[64];
    size_t found = 0;
    for (size_t i = 0; i < n && i < 64; i++)
        if ((nodes[found] = sim_node_of(deps[i])))
            found++;
    return set_tail(stream, nodes, found, edges) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sim_cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
    return begin(stream, NULL, NULL, NULL, 0, mode);
}
SIM_ALSO(cuStreamBeginCapture_v2_ptsz, cuStreamBeginCapture_v2);

CUresult sim_cuStreamBeginCapture(CUstream stream)
{
    return begin(stream, NULL, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_GLOBAL);
}
SIM_ALSO(cuStreamBeginCapture_ptsz, cuStreamBeginCapture);

CUresult sim_cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode *deps,
                                         const CUgraphEdgeData *edges, size_t n, CUstreamCaptureMode mode)
{
    return sim_graph_of(graph) ? begin(stream, graph, deps, edges, n, mode) : CUDA_ERROR_INVALID_VALUE;
}
SIM_ALSO(cuStreamBeginCaptureToGraph_ptsz, cuStreamBeginCaptureToGraph);

/* Every last node of a joined stream must lead back to the stream that began. */
static bool joined(const struct sim_capture *capture)
{
    struct sim_stream *origin = capture->origin;
    for (struct sim_stream *stream = origin->ctx->streams; stream; stream = stream->next) {
        if (stream->capture != capture || stream == origin)
            continue;
        for (size_t i = 0; i < stream->n_cap_deps; i++) {
            bool reached = false;
            for (size_t k = 0; k < origin->n_cap_deps && !reached; k++)
                reached = sim_node_reaches(origin->cap_deps[k], stream->cap_deps[i]);
            if (!reached)
                return false;
        }
    }
    return true;
}

CUresult sim_cuStreamEndCapture(CUstream handle, CUgraph *out)
{
    struct sim_stream *stream;
    CUresult result = sim_stream_find(handle, &stream);
    if (result)
        return result;
    struct sim_capture *capture = stream->capture;
    if (out)
        *out = NULL;
    if (!capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (capture->origin != stream)
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && !pthread_equal(capture->thread, pthread_self()))
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    if (capture->invalid)
        result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    else if (!joined(capture))
        result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    end(capture);
    if (!result && out)
        *out = capture->graph->handle;
    else if (capture->own_graph)
        sim_graph_destroy(capture->graph);
    free(capture);
    return result;
}
SIM_ALSO(cuStreamEndCapture_ptsz, cuStreamEndCapture);

static CUstreamCaptureStatus status_of(const struct sim_stream *stream)
{
    if (!stream->capture)
        return CU_STREAM_CAPTURE_STATUS_NONE;
    return stream->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

CUresult sim_cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *status)
{
    struct sim_stream *stream;
    CUresult result = sim_stream_find(handle, &stream);
    if (result)
        return result;
    if (!status)
        return CUDA_ERROR_INVALID_VALUE;
    /* Asking about the legacy stream does not spoil the capture, but cannot be answered either. */
    if (stream->legacy && blocking_capture(stream->ctx))
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    *status = status_of(stream);
    return CUDA_SUCCESS;
}
SIM_ALSO(cuStreamIsCapturing_ptsz, cuStreamIsCapturing);

static CUresult info(CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                     const CUgraphNode **deps, const CUgraphEdgeData **edges, size_t *n)
{
    /* The arrays live until the next question of this thread; the real driver's live until the next call on the stream.
     */
    static __thread CUgraphNode handles[256];
    static __thread CUgraphEdgeData data[256];
    struct sim_stream *stream;
    CUresult result = sim_stream_find(handle, &stream);
    if (result)
        return result;
    if (!status)
        return CUDA_ERROR_INVALID_VALUE;
    if (stream->legacy && blocking_capture(stream->ctx))
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    *status = status_of(stream);
    if (*status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
        return CUDA_SUCCESS;
    size_t count = stream->n_cap_deps < 256 ? stream->n_cap_deps : 256;
    for (size_t i = 0; i < count; i++) {
        handles[i] = stream->cap_deps[i]->handle;
        data[i] = stream->cap_edges[i];
    }
    if (id)
        *id = stream->capture->id;
    if (graph)
        *graph = stream->capture->graph->handle;
    if (deps)
        *deps = handles;
    if (edges)
        *edges = data;
    if (n)
        *n = count;
    return CUDA_SUCCESS;
}

CUresult sim_cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id)
{
    return info(stream, status, id, NULL, NULL, NULL, NULL);
}
SIM_ALSO(cuStreamGetCaptureInfo_ptsz, cuStreamGetCaptureInfo);

CUresult sim_cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                                       const CUgraphNode **deps, size_t *n)
{
    return info(stream, status, id, graph, deps, NULL, n);
}
SIM_ALSO(cuStreamGetCaptureInfo_v2_ptsz, cuStreamGetCaptureInfo_v2);

CUresult sim_cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                                       const CUgraphNode **deps, const CUgraphEdgeData **edges, size_t *n)
{
    return info(stream, status, id, graph, deps, edges, n);
}
SIM_ALSO(cuStreamGetCaptureInfo_v3_ptsz, cuStreamGetCaptureInfo_v3);

CUresult sim_cuStreamUpdateCaptureDependencies_v2(CUstream handle, CUgraphNode *deps, const CUgraphEdgeData *edges,
                                                  size_t n, unsigned int flags)
{
    struct sim_stream *stream;
    CUresult result = sim_stream_find(handle, &stream);
    if (result)
        return result;
    if (!stream->capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES || n > 64)
        return CUDA_ERROR_INVALID_VALUE;
    struct sim_node *nodes[64];
    for (size_t i = 0; i < n; i++) {
        nodes[i] = sim_node_of(deps[i]);
        if (!nodes[i] || nodes[i]->graph != stream->capture->graph)
            return CUDA_ERROR_INVALID_VALUE;
    }
    if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES)
        return set_tail(stream, nodes, n, edges) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < n; i++)
        if (!add_tail(stream, nodes[i]))
            return CUDA_ERROR_OUT_OF_MEMORY;
    return CUDA_SUCCESS;
}
SIM_ALSO(cuStreamUpdateCaptureDependencies_v2_ptsz, cuStreamUpdateCaptureDependencies_v2);

CUresult sim_cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *deps, size_t n, unsigned int flags)
{
    return sim_cuStreamUpdateCaptureDependencies_v2(stream, deps, NULL, n, flags);
}
SIM_ALSO(cuStreamUpdateCaptureDependencies_ptsz, cuStreamUpdateCaptureDependencies);

CUresult sim_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    if (!mode || (unsigned int)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    CUstreamCaptureMode former = sim_self.capture_mode;
    sim_self.capture_mode = *mode;
    *mode = former;
    return CUDA_SUCCESS;
}
