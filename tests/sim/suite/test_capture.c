/* Stream capture: what is recorded, who joins, what is forbidden. */
#include "tests/sim/suite/tap.h"

#include <pthread.h>

static CUstream a, b;
static CUdeviceptr data;
static CUevent event;

static void set_up(void)
{
    tap_context();
    OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    data = tap_words(8);
    tap_function("step");
}

static void records_work(void)
{
    CUgraph graph;
    CUgraphExec exec;
    CUstreamCaptureStatus status;
    size_t n = 0;
    set_up();
    OK(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuStreamIsCapturing(a, &status));
    EXPECT(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    OK(tap_step(data, 4, a));
    OK(cuMemsetD32Async(data + 4, 9, 1, a));
    OK(cuMemcpyDtoDAsync(data + 8, data + 4, 4, a));
    OK(cuStreamEndCapture(a, &graph));
    OK(cuStreamIsCapturing(a, &status));
    EXPECT(status == CU_STREAM_CAPTURE_STATUS_NONE);
    OK(cuCtxSynchronize());
    EXPECT(tap_word(data) == 0); /* nothing ran */
    OK(cuGraphGetNodes(graph, NULL, &n));
    EXPECT(n == 3);
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuGraphLaunch(exec, b));
    OK(cuStreamSynchronize(b));
    EXPECT(tap_word(data) == 4 && tap_word(data + 8) == 9);
}

static void streams_join(void)
{
    CUgraph graph;
    CUgraphExec exec;
    CUstreamCaptureStatus status;
    set_up();
    OK(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(tap_step(data, 1, a));
    OK(cuEventRecord(event, a));
    FAILS(CUDA_ERROR_CAPTURED_EVENT, cuEventQuery(event));
    OK(cuStreamWaitEvent(b, event, 0));
    OK(cuStreamIsCapturing(b, &status));
    EXPECT(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    OK(tap_step(data, 2, b));
    FAILS(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, cuStreamEndCapture(b, &graph));
    OK(cuEventRecord(event, b));
    OK(cuStreamWaitEvent(a, event, 0));
    OK(tap_step(data, 3, a));
    OK(cuStreamEndCapture(a, &graph));
    OK(cuStreamIsCapturing(b, &status));
    EXPECT(status == CU_STREAM_CAPTURE_STATUS_NONE);
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuGraphLaunch(exec, a));
    OK(cuStreamSynchronize(a));
    EXPECT(tap_word(data) == (1 * 3 + 2) * 3 + 3);
}

static void not_joined(void)
{
    CUgraph graph = (CUgraph)(uintptr_t)1;
    set_up();
    OK(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuEventRecord(event, a));
    OK(cuStreamWaitEvent(b, event, 0));
    OK(tap_step(data, 2, b));
    FAILS(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, cuStreamEndCapture(a, &graph));
    EXPECT(graph == NULL);
    OK(tap_step(data, 2, b));
    OK(cuStreamSynchronize(b));
}

static void isolated(void)
{
    CUgraph graph;
    set_up();
    OK(tap_step(data, 2, b));
    OK(cuEventRecord(event, b));
    OK(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_RELAXED));
    FAILS(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, cuStreamWaitEvent(a, event, 0));
    FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, tap_step(data, 2, a));
    FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(a, &graph));
    OK(tap_step(data + 4, 2, a));
}

static void synchronising(void)
{
    CUgraph graph;
    set_up();
    OK(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_RELAXED));
    FAILS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamSynchronize(a));
    FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(a, &graph));
    OK(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_RELAXED));
    FAILS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamQuery(a));
    FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(a, &graph));
    OK(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_RELAXED));
    FAILS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuCtxSynchronize());
    FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(a, &graph));
    FAILS(CUDA_ERROR_ILLEGAL_STATE, cuStreamEndCapture(a, &graph));
    FAILS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamBeginCapture(NULL, CU_STREAM_CAPTURE_MODE_RELAXED));
}

static void legacy_is_implicit(void)
{
    CUstream blocking;
    CUgraph graph;
    CUstreamCaptureStatus status;
    set_up();
    OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    OK(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_RELAXED)); /* not blocking: no matter */
    OK(tap_step(data, 1, NULL));
    OK(cuStreamEndCapture(a, &graph));
    OK(cuStreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
    FAILS(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cuStreamIsCapturing(NULL, &status));
    OK(tap_step(data, 1, blocking)); /* the question did not spoil it, the launch does */
    FAILS(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, tap_step(data, 1, NULL));
    FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(blocking, &graph));
}

static CUresult other_result, other_event;
static void *other_thread(void *ctx)
{
    CUdeviceptr p;
    OK(cuCtxSetCurrent(ctx));
    other_event = cuEventQuery(event);
    other_result = cuMemAlloc(&p, 4);
    return NULL;
}

static void capture_with(CUstreamCaptureMode mode, bool mine, CUresult want, CUresult want_end)
{
    CUcontext ctx;
    CUgraph graph;
    CUdeviceptr p;
    pthread_t thread;
    OK(cuCtxGetCurrent(&ctx));
    OK(cuStreamBeginCapture(a, mode));
    OK(tap_step(data, 1, a));
    if (mine) {
        FAILS(want, cuMemAlloc(&p, 4));
    } else {
        pthread_create(&thread, NULL, other_thread, ctx);
        pthread_join(thread, NULL);
        EXPECT(other_result == want && other_event == want);
    }
    FAILS(want_end, cuStreamEndCapture(a, &graph));
}

static void modes(void)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    const CUresult bad = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, spoilt = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    set_up();
    capture_with(CU_STREAM_CAPTURE_MODE_GLOBAL, true, bad, spoilt);
    capture_with(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, true, bad, spoilt);
    capture_with(CU_STREAM_CAPTURE_MODE_RELAXED, true, CUDA_SUCCESS, CUDA_SUCCESS);
    capture_with(CU_STREAM_CAPTURE_MODE_GLOBAL, false, bad, spoilt);
    capture_with(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, false, CUDA_SUCCESS, CUDA_SUCCESS);
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    EXPECT(mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
    capture_with(CU_STREAM_CAPTURE_MODE_GLOBAL, true, CUDA_SUCCESS, CUDA_SUCCESS);
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    EXPECT(mode == CU_STREAM_CAPTURE_MODE_RELAXED);
}

/* Programmatic serialisation becomes a programmatic edge; event attributes do not stand in the way. */
static void programmatic_edges(void)
{
    CUgraph graph;
    CUgraphNode from[4], to[4];
    CUgraphEdgeData edges[4];
    size_t n = 4;
    unsigned int value = 1, count = 1;
    set_up();
    void *args[] = {&data, &value, &count};
    CUlaunchAttribute attr = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION};
    attr.value.programmaticStreamSerializationAllowed = 1;
    CUlaunchConfig config = {
            .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1};
    config.hStream = a;
    config.attrs = &attr;
    config.numAttrs = 1;
    OK(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(tap_step(data, 1, a));
    OK(cuLaunchKernelEx(&config, tap_function("step"), args, NULL));
    OK(tap_step(data, 1, a));
    OK(cuStreamEndCapture(a, &graph));
#if CUDA_VERSION >= 13000
    OK(cuGraphGetEdges(graph, from, to, edges, &n));
#else
    OK(cuGraphGetEdges_v2(graph, from, to, edges, &n));
#endif
    EXPECT(n == 2 && edges[0].type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC &&
           edges[1].type == CU_GRAPH_DEPENDENCY_TYPE_DEFAULT);
}

static const struct tap_case cases[] = {
        {"work is recorded, not run", NULL, records_work},
        {"streams join through events", NULL, streams_join},
        {"a stream that does not come back", "schedule=eager", not_joined},
        {"work outside may not be waited for", "schedule=eager", isolated},
        {"synchronising spoils the capture", "schedule=eager", synchronising},
        {"the legacy stream while a blocking stream captures", "schedule=lazy", legacy_is_implicit},
        {"global, thread-local and relaxed", "schedule=eager", modes},
        {"programmatic edges", "schedule=eager", programmatic_edges},
};
TAP_MAIN(cases)
