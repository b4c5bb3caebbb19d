/* Host functions inside a capture run at every launch of the graph, those of a stream once, with their own argument;
 * many wait at once, in streams that are destroyed meanwhile, and some are lost with their context. */
#include "tests/reports/reports.h"

enum { LAUNCHES = 50, STREAMS = 4, MANY = 500 };

static atomic_uint calls[4], sum;

static void CUDA_CB count(void *which)
{
    atomic_fetch_add((atomic_uint *)which, 1);
}

static void CUDA_CB count_back(CUstream stream, CUresult status, void *which)
{
    (void)stream;
    if (status == CUDA_SUCCESS)
        count(which);
}

static void CUDA_CB add(void *number)
{
    atomic_fetch_add(&sum, (unsigned)(uintptr_t)number);
}

static void CUDA_CB wait_for(void *flag)
{
    while (atomic_load((atomic_bool *)flag) == false)
        usleep(100);
}

int main(void)
{
    static atomic_bool go;
    report_open();
    CUfunction step = report_kernel(module, "step");
    CUdeviceptr data = report_memory(4);
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;
    unsigned expected = 0;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    CHECK(report_step(step, stream, data, 7));
    CHECK(cuLaunchHostFunc(stream, count, &calls[0]));
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (unsigned i = 0; i < LAUNCHES; i++) {
        CHECK(cuGraphLaunch(exec, stream));
        expected = expected * 3 + 7;
        CHECK(report_step(step, stream, data, i));
        expected = expected * 3 + i;
        CHECK(cuLaunchHostFunc(stream, count, &calls[1]));
        CHECK(cuStreamAddCallback(stream, count_back, &calls[2], 0));
    }
    CHECK(cuStreamSynchronize(stream));
    printf("%u in the graph, %u functions, %u callbacks\n", calls[0], calls[1], calls[2]);
    printf("refused: %d\n", cuLaunchHostFunc(stream, NULL, NULL));
    CHECK(cuStreamDestroy(stream));
    for (unsigned s = 0; s < STREAMS; s++) {
        CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        CHECK(cuLaunchHostFunc(stream, wait_for, &go));
        for (unsigned i = 0; i < MANY; i++)
            CHECK(cuLaunchHostFunc(stream, add, (void *)(uintptr_t)i));
        CHECK(cuStreamDestroy(stream));
    }
    atomic_store(&go, true);
    CHECK(cuCtxSynchronize());
    printf("%u added\n", sum);
    bool same = report_word(data) == expected;
    for (unsigned i = 0; i < 40; i++) {
        CUcontext second;
        CHECK(report_context(&second));
        CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        for (unsigned n = 0; n < 40; n++)
            CHECK(cuLaunchHostFunc(stream, count, &calls[3]));
        CHECK(cuCtxDestroy(second));
        CHECK(cuCtxSetCurrent(context));
    }
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuLaunchHostFunc(stream, count, &calls[1]));
    CHECK(cuStreamSynchronize(stream));
    printf("%u functions, %s\n", calls[1], same ? "sum right" : "sum WRONG");
    return same && calls[0] == LAUNCHES && calls[1] == LAUNCHES + 1 && calls[2] == LAUNCHES ? 0 : 1;
}
