/* limit_passed HOW: the limit of dynamic shared memory was raised, then lowered; a launch beyond it that cannot be held
 * (thread: on the thread's own stream, capture: into a graph, cooperative) is refused as any other. */
#include "tests/reports/reports.h"

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "thread";
    report_open();
    CUfunction kernel = report_kernel(module, "through_shared");
    CUdeviceptr data = report_memory(4);
    unsigned value = 1, count = 1;
    void *args[] = {&data, &value, &count};
    CUstream stream;
    CUgraph graph;
    CUresult result = CUDA_SUCCESS;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 64 << 10));
    CHECK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 60 << 10, stream, args, NULL));
    CHECK(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 16 << 10));
    if (strcmp(how, "thread") == 0)
        result = cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 32 << 10, CU_STREAM_PER_THREAD, args, NULL);
    else if (strcmp(how, "cooperative") == 0)
        result = cuLaunchCooperativeKernel(kernel, 1, 1, 1, 1, 1, 1, 32 << 10, stream, args);
    else {
        CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
        result = cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 32 << 10, stream, args, NULL);
        CHECK(cuStreamEndCapture(stream, &graph));
    }
    printf("%s: launch %d, synchronise %d\n", how, result, cuCtxSynchronize());
    return result == CUDA_ERROR_INVALID_VALUE ? 0 : 1;
}
