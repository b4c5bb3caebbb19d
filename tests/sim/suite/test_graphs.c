/* Graphs: nodes, instantiation, launches, updates while in flight, what an update may not do. */
#include "tests/sim/suite/tap.h"

#include <string.h>

CUresult sim_exec_node_args(CUgraphExec exec, size_t index, void *bytes, size_t *size);

static CUcontext ctx;
static CUstream stream;
static CUdeviceptr data;
static unsigned int *flag;

static void set_up(void)
{
    ctx = tap_context();
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    data = tap_words(64);
    flag = tap_mapped(4);
}

struct step {
    CUDA_KERNEL_NODE_PARAMS params;
    CUdeviceptr target;
    unsigned int value, count;
    void *args[3];
};

/* The struct holds its own arguments, so it must stay where it is. */
static const CUDA_KERNEL_NODE_PARAMS *fill_step(struct step *s, CUdeviceptr target, unsigned int value)
{
    memset(s, 0, sizeof(*s));
    s->target = target;
    s->value = value;
    s->count = 1;
    s->args[0] = &s->target;
    s->args[1] = &s->value;
    s->args[2] = &s->count;
    s->params.func = tap_function("step");
    s->params.gridDimX = s->params.gridDimY = s->params.gridDimZ = 1;
    s->params.blockDimX = s->params.blockDimY = s->params.blockDimZ = 1;
    s->params.kernelParams = s->args;
    return &s->params;
}

static CUgraphNode add_step(CUgraph graph, CUgraphNode after, unsigned int value)
{
    struct step s;
    CUgraphNode node = NULL;
    OK(cuGraphAddKernelNode(&node, graph, after ? &after : NULL, after ? 1 : 0, fill_step(&s, data, value)));
    return node;
}

static void straight_line(void)
{
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode node = NULL;
    unsigned int want = 0;
    size_t n = 0;
    set_up();
    OK(cuGraphCreate(&graph, 0));
    for (unsigned int i = 1; i <= 20; i++)
        node = add_step(graph, node, i);
    OK(cuGraphGetNodes(graph, NULL, &n));
    EXPECT(n == 20);
    OK(cuGraphGetRootNodes(graph, NULL, &n));
    EXPECT(n == 1);
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuGraphDestroy(graph));
    for (int round = 0; round < 3; round++) {
        OK(cuGraphLaunch(exec, stream));
        for (unsigned int i = 1; i <= 20; i++)
            want = want * 3 + i;
    }
    OK(cuGraphExecDestroy(exec)); /* with launches in flight */
    FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    EXPECT(tap_word(data) == want);
}

/* A launch keeps what it was given: updates made while it waits concern later launches only. */
static void update_in_flight(void)
{
    CUgraph graph;
    CUgraphExec exec;
    struct step s;
    unsigned char bytes[16];
    size_t size = sizeof(bytes);
    unsigned int value;
    set_up();
    OK(cuGraphCreate(&graph, 0));
    CUgraphNode node = add_step(graph, NULL, 1);
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(tap_wait_for(flag, 1, data + 4, stream));
    OK(cuGraphLaunch(exec, stream));
    OK(cuGraphExecKernelNodeSetParams(exec, node, fill_step(&s, data, 2)));
    s.value = 99; /* copied */
    OK(cuGraphLaunch(exec, stream));
    OK(cuGraphExecKernelNodeSetParams(exec, node, fill_step(&s, data + 8, 7)));
    OK(cuGraphLaunch(exec, stream));
    OK(sim_exec_node_args(exec, 0, bytes, &size));
    memcpy(&value, bytes + 8, 4);
    EXPECT(size == 16 && value == 7);
    tap_raise(flag, 1);
    OK(cuStreamSynchronize(stream));
    EXPECT(tap_word(data) == 5 && tap_word(data + 8) == 7);
}

/* Another function may take a node over; one of another context may not; the limit in force counts. */
static void retarget(void)
{
    CUgraph graph;
    CUgraphExec exec;
    struct step s;
    CUmodule elsewhere;
    CUcontext other;
    set_up();
    OK(cuGraphCreate(&graph, 0));
    CUgraphNode node = add_step(graph, NULL, 1);
    OK(cuGraphInstantiate(&exec, graph, 0));
    fill_step(&s, data, 4);
    s.params.func = tap_function("through_shared");
    s.params.sharedMemBytes = 64;
    OK(cuGraphExecKernelNodeSetParams(exec, node, &s.params));
    s.params.sharedMemBytes = 60000;
    FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphExecKernelNodeSetParams(exec, node, &s.params));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphAddKernelNode(&node, graph, NULL, 0, &s.params));
    OK(cuFuncSetAttribute(s.params.func, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000));
    OK(cuGraphExecKernelNodeSetParams(exec, node, &s.params));
    s.params.gridDimX = 0;
    FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphExecKernelNodeSetParams(exec, node, &s.params));
#if CUDA_VERSION >= 13000
    OK(cuCtxCreate(&other, NULL, 0, 0));
#else
    OK(cuCtxCreate(&other, 0, 0));
#endif
    elsewhere = tap_module();
    fill_step(&s, data, 4);
    OK(cuModuleGetFunction(&s.params.func, elsewhere, "step"));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphExecKernelNodeSetParams(exec, node, &s.params));
    OK(cuCtxPopCurrent(&other));
    OK(cuMemsetD32Async(data, 2, 1, stream));
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    EXPECT(tap_word(data) == 18);
}

/* Launches of one executable graph do not overlap, in whatever streams: the second waits for the first, which waits for
 * the kernel before it. */
static void no_overlap(void)
{
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode node;
    CUstream other;
    struct step s;
    set_up();
    OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    OK(cuGraphCreate(&graph, 0));
    CUdeviceptr seen = (CUdeviceptr)(uintptr_t)(flag + 1);
    OK(cuGraphAddKernelNode(&node, graph, NULL, 0, fill_step(&s, seen, 1)));
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(tap_wait_for(flag, 1, data, stream));
    OK(cuGraphLaunch(exec, stream));
    OK(cuGraphLaunch(exec, other));
    EXPECT(cuStreamQuery(other) == CUDA_ERROR_NOT_READY);
    tap_sleep_ms(50);
    FAILS(CUDA_ERROR_NOT_READY, cuStreamQuery(other));
    tap_raise(flag, 1);
    OK(cuStreamSynchronize(other));
    EXPECT(tap_read(flag + 1) == 4);
}

static void other_nodes(void)
{
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode set, copy, record;
    CUevent event;
    set_up();
    unsigned int *pinned = tap_mapped(2), pageable = 0;
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    OK(cuGraphCreate(&graph, 0));
    CUDA_MEMSET_NODE_PARAMS fill = {.dst = data, .value = 5, .elementSize = 4, .width = 2, .height = 1};
    OK(cuGraphAddMemsetNode(&set, graph, NULL, 0, &fill, ctx));
    CUDA_MEMCPY3D move = {
            .srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = data, .dstMemoryType = CU_MEMORYTYPE_DEVICE};
    move.dstDevice = data + 16;
    move.WidthInBytes = 8;
    move.Height = move.Depth = 1;
    OK(cuGraphAddMemcpyNode(&copy, graph, &set, 1, &move, ctx));
    OK(cuGraphAddEventRecordNode(&record, graph, &copy, 1, event));
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(tap_wait_for(flag, 1, data + 32, stream));
    OK(cuGraphLaunch(exec, stream));
    FAILS(CUDA_ERROR_NOT_READY, cuEventQuery(event));
    tap_raise(flag, 1);
    OK(cuEventSynchronize(event));
    EXPECT(tap_word(data + 20) == 5);
    fill.value = 6;
    fill.width = 1;
    OK(cuGraphExecMemsetNodeSetParams(exec, set, &fill, ctx));
    fill.dst = (CUdeviceptr)(uintptr_t)pinned; /* another kind of memory */
    FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphExecMemsetNodeSetParams(exec, set, &fill, ctx));
    move.dstDevice = data + 24;
    OK(cuGraphExecMemcpyNodeSetParams(exec, copy, &move, ctx));
    move.Height = 2;
    FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphExecMemcpyNodeSetParams(exec, copy, &move, ctx));
    move.Height = 1;
    move.srcMemoryType = CU_MEMORYTYPE_HOST;
    move.srcHost = &pageable;
    FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphExecMemcpyNodeSetParams(exec, copy, &move, ctx));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphExecMemsetNodeSetParams(exec, copy, &fill, ctx));
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    EXPECT(tap_word(data) == 6 && tap_word(data + 24) == 6 && tap_word(data + 28) == 5);
}

/* A copy node's pinned source is what it was when the node was set last, not what is pinned there now. */
static void pinned_source_ends(void)
{
    static unsigned int source[1024];
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode copy;
    set_up();
    source[0] = 5;
    OK(cuMemHostRegister(source, sizeof(source), 0));
    OK(cuGraphCreate(&graph, 0));
    CUDA_MEMCPY3D move = {
            .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = source, .dstMemoryType = CU_MEMORYTYPE_DEVICE};
    move.dstDevice = data;
    move.WidthInBytes = 4;
    move.Height = move.Depth = 1;
    OK(cuGraphAddMemcpyNode(&copy, graph, NULL, 0, &move, ctx));
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    EXPECT(tap_word(data) == 5);
    OK(cuMemHostUnregister(source));
    OK(cuMemHostRegister(source, sizeof(source), 0));
    source[0] = 6;
    OK(cuGraphExecMemcpyNodeSetParams(exec, copy, &move, ctx));
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    EXPECT(tap_word(data) == 6);
    OK(cuMemHostUnregister(source));
    OK(cuMemHostRegister(source, sizeof(source), 0));
    cuGraphLaunch(exec, stream);
    FAILS(CUDA_ERROR_LAUNCH_FAILED, cuStreamSynchronize(stream));
    FAILS(CUDA_ERROR_LAUNCH_FAILED, cuCtxSynchronize());
}

static void children_and_clones(void)
{
    CUgraph graph, child, clone;
    CUgraphExec exec;
    CUgraphNode node, twin;
    CUgraphNodeType type;
    set_up();
    OK(cuGraphCreate(&child, 0));
    CUgraphNode first = add_step(child, NULL, 1);
    add_step(child, first, 2);
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddChildGraphNode(&node, graph, NULL, 0, child));
    add_step(graph, node, 3);
    OK(cuGraphClone(&clone, graph));
    OK(cuGraphNodeFindInClone(&twin, node, clone));
    OK(cuGraphNodeGetType(twin, &type));
    EXPECT(type == CU_GRAPH_NODE_TYPE_GRAPH && twin != node);
    OK(cuGraphDestroy(child));
    OK(cuGraphDestroy(graph));
    OK(cuGraphInstantiate(&exec, clone, 0));
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    EXPECT(tap_word(data) == (1 * 3 + 2) * 3 + 3);
}

static void whole_update(void)
{
    CUgraph graph, longer;
    CUgraphExec exec;
    CUgraphExecUpdateResultInfo info;
    set_up();
    OK(cuGraphCreate(&graph, 0));
    CUgraphNode node = add_step(graph, NULL, 1);
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuGraphCreate(&longer, 0));
    CUgraphNode other = add_step(longer, NULL, 8);
    OK(cuGraphExecUpdate(exec, longer, &info));
    OK(cuGraphLaunch(exec, stream));
    add_step(longer, other, 9);
    FAILS(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate(exec, longer, &info));
    EXPECT(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
    OK(cuGraphNodeSetEnabled(exec, node, 0));
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    EXPECT(tap_word(data) == 8);
}

static void node_attributes(void)
{
    CUgraph graph;
    CUkernelNodeAttrValue value = {.priority = -2}, got;
    CUDA_KERNEL_NODE_PARAMS params;
    set_up();
    OK(cuGraphCreate(&graph, 0));
    CUgraphNode a = add_step(graph, NULL, 6), b = add_step(graph, a, 7);
    OK(cuGraphKernelNodeSetAttribute(a, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
    FAILS(CUDA_ERROR_INVALID_VALUE,
          cuGraphKernelNodeSetAttribute(a, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, &value));
    OK(cuGraphKernelNodeCopyAttributes(b, a));
    OK(cuGraphKernelNodeGetAttribute(b, CU_LAUNCH_ATTRIBUTE_PRIORITY, &got));
    EXPECT(got.priority == -2);
    OK(cuGraphKernelNodeGetParams(a, &params));
    EXPECT(*(unsigned int *)params.kernelParams[1] == 6 && params.func == tap_function("step"));
    /* A cycle is refused, edges carry their data. */
    FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphAddDependencies(graph, &b, &a,
#if CUDA_VERSION >= 13000
                                                           NULL,
#endif
                                                           1));
}

static const struct tap_case cases[] = {
        {"a straight line, destroyed while in flight", NULL, straight_line},
        {"updates in flight concern later launches only", NULL, update_in_flight},
        {"another function: what is allowed", NULL, retarget},
        {"two launches of one graph never overlap", NULL, no_overlap},
        {"memset, copy and event nodes and their updates", NULL, other_nodes},
        {"a node's pinned source ends, and is pinned again", NULL, pinned_source_ends},
        {"child graphs and clones", NULL, children_and_clones},
        {"whole-graph update, disabled nodes", NULL, whole_update},
        {"node attributes and parameters", NULL, node_attributes},
};
TAP_MAIN(cases)
