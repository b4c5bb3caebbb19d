/* A kernel faults in the middle of a loop that is known: after the first call that says so every launch says so. */
#include "tests/reports/reports.h"

int main(void)
{
    report_open();
    CUfunction step = report_kernel(module, "step"), fault = report_kernel(module, "fault");
    CUdeviceptr data = report_memory(4);
    CUstream stream;
    int code = 700;
    void *args[] = {&code};
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < 76; i++)
        CHECK(report_step(step, stream, data, i));
    CHECK(cuLaunchKernel(fault, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL));
    CUresult first = cuStreamSynchronize(stream);
    unsigned accepted = 0;
    for (unsigned i = 0; i < 123; i++)
        accepted += report_step(step, stream, data, i) == CUDA_SUCCESS;
    CUevent event;
    CUdeviceptr more;
    printf("synchronise %d, launches accepted afterwards %u, then %d %d %d\n", first, accepted,
           cuEventCreate(&event, 0), cuMemAlloc(&more, 4), cuStreamSynchronize(stream));
    return accepted == 0 ? 0 : 1;
}
