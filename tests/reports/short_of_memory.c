/* short_of_memory extended|cooperative|load: the driver has no memory for the first call of a kind (the simulator's
 * `fail` setting); graphs of a known loop take some. Prints the code and ends with it. */
#include "tests/reports/reports.h"

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    report_open();
    CUfunction step = report_kernel(module, "step"), fill = report_kernel(module, "fill");
    CUdeviceptr data = report_memory(4), other = report_memory(4);
    CUstream stream;
    unsigned value = 5, count = 1, expected = 0;
    void *args[] = {&other, &value, &count};
    CUresult code;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < 1000; i++) {
        CHECK(report_step(step, stream, data, i));
        expected = expected * 3 + i;
    }
    if (strcmp(how, "extended") == 0) {
        CUlaunchAttribute priority = {.id = CU_LAUNCH_ATTRIBUTE_PRIORITY};
        CUlaunchConfig config = {1, 1, 1, 1, 1, 1, 0, stream, &priority, 1};
        code = cuLaunchKernelEx(&config, fill, args, NULL);
    } else if (strcmp(how, "cooperative") == 0) {
        code = cuLaunchCooperativeKernel(fill, 1, 1, 1, 1, 1, 1, 0, stream, args);
    } else {
        code = cuFuncLoad(fill);
    }
    for (unsigned i = 0; i < 1000; i++) {
        CHECK(report_step(step, stream, data, i));
        expected = expected * 3 + i;
    }
    CHECK(cuStreamSynchronize(stream));
    bool filled = report_word(other) == (code == CUDA_SUCCESS && strcmp(how, "load") != 0 ? 5 : 0);
    bool same = report_word(data) == expected;
    printf("code %d, %s, %s\n", code, filled ? "as it says" : "NOT as it says", same ? "sum right" : "sum WRONG");
    return same && filled ? (int)code : 99;
}
