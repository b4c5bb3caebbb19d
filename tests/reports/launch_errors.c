/* Launches that the driver refuses, in the place of known good ones: the same codes at the same calls, nothing left
 * over.
 */
#include "tests/reports/reports.h"

int main(void)
{
    report_open();
    CUcontext second;
    CUmodule theirs;
    CHECK(report_context(&second));
    CHECK(cuModuleLoad(&theirs, report_image()));
    CUfunction foreign = report_kernel(theirs, "step");
    CHECK(cuCtxSetCurrent(context));
    CUfunction step = report_kernel(module, "step");
    CUdeviceptr data = report_memory(4);
    CUstream stream;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    unsigned value = 1, count = 1, expected = 0;
    void *args[] = {&data, &value, &count}, *missing[] = {&data, NULL, &count};
    size_t small = 4;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &data, CU_LAUNCH_PARAM_BUFFER_SIZE, &small, CU_LAUNCH_PARAM_END};
    for (unsigned round = 0; round < 4; round++) {
        for (unsigned i = 0; i < 64; i++) {
            CHECK(report_step(step, stream, data, i));
            expected = expected * 3 + i;
        }
        printf("%d ", cuLaunchKernel(step, 0, 1, 1, 1, 1, 1, 0, stream, args, NULL));
        printf("%d ", cuLaunchKernel(step, 1, 70000, 1, 1, 1, 1, 0, stream, args, NULL));
        printf("%d ", cuLaunchKernel(step, 1, 1, 1, 2048, 1, 1, 0, stream, args, NULL));
        printf("%d ", cuLaunchKernel(step, 1, 1, 1, 1, 1, 1, 10 << 20, stream, args, NULL));
        printf("%d ", cuLaunchKernel(step, 1, 1, 1, 1, 1, 1, 0, stream, missing, NULL));
        printf("%d ", cuLaunchKernel(step, 1, 1, 1, 1, 1, 1, 0, stream, NULL, extra));
        printf("%d ", cuLaunchKernel(step, 1, 1, 1, 1, 1, 1, 0, stream, args, extra));
        printf("%d ", cuLaunchKernel(foreign, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL));
        int clusters;
        printf("%d ", cuOccupancyMaxActiveClusters(&clusters, step, NULL));
        printf("%d ", cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL));
        for (unsigned i = 0; i < 64; i++) {
            CHECK(report_step(step, stream, data, i));
            expected = expected * 3 + i;
        }
        printf("then %d\n", cuStreamSynchronize(stream));
    }
    bool same = report_word(data) == expected;
    printf("%s\n", same ? "sum right" : "sum WRONG");
    return same ? 0 : 1;
}
