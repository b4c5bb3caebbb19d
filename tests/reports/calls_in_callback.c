/* calls_in_callback function|callback|graph: a host function makes driver calls, which CUDA forbids: each is refused at
 * once, also while the queue of its stream is full, and none takes effect. */
#include "tests/reports/reports.h"

static CUstream stream;
static CUfunction step;
static CUdeviceptr data;
static CUresult codes[6];

static void CUDA_CB call(void *unused)
{
    (void)unused;
    report_sleep_ms(200);
    codes[0] = report_step(step, stream, data, 99);
    codes[1] = cuStreamSynchronize(stream);
    codes[2] = cuMemsetD32Async(data, 5, 1, stream);
    codes[3] = cuCtxSynchronize();
    codes[4] = cuModuleUnload(module);
    codes[5] = cuStreamDestroy(stream);
}

static void CUDA_CB call_back(CUstream in, CUresult status, void *passed)
{
    if (in != stream || status != CUDA_SUCCESS || passed != codes)
        _exit(97);
    call(passed);
}

static void add(const char *how)
{
    if (strcmp(how, "callback") == 0) {
        CHECK(cuStreamAddCallback(stream, call_back, codes, 0));
    } else if (strcmp(how, "graph") == 0) {
        CUDA_HOST_NODE_PARAMS params = {.fn = call, .userData = codes};
        CUgraph graph;
        CUgraphExec exec;
        CUgraphNode node;
        CHECK(cuGraphCreate(&graph, 0));
        CHECK(cuGraphAddHostNode(&node, graph, NULL, 0, &params));
        CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
        CHECK(cuGraphLaunch(exec, stream));
    } else {
        CHECK(cuLaunchHostFunc(stream, call, codes));
    }
}

int main(int argc, char **argv)
{
    report_open();
    step = report_kernel(module, "step");
    data = report_memory(4);
    unsigned expected = 0;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < 3000; i++) {
        if (i == 100)
            add(argc > 1 ? argv[1] : "function");
        CHECK(report_step(step, stream, data, i));
        expected = expected * 3 + i;
    }
    CHECK(cuCtxSynchronize());
    for (unsigned i = 0; i < 6; i++)
        printf("%d ", codes[i]);
    bool same = report_word(data) == expected;
    printf("%s\n", same ? "sum right" : "sum WRONG");
    return same ? 0 : 1;
}
