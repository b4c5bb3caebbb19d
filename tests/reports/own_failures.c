/* A loop in which the shim's own calls are made to fail (the simulator's `fail` setting): the program sees no error. */
#include "tests/reports/reports.h"

int main(void)
{
    report_open();
    CUfunction step = report_kernel(module, "step"), fill = report_kernel(module, "fill");
    CUdeviceptr data = report_memory(4), other = report_memory(4);
    CUstream stream;
    unsigned expected = 0, errors = 0;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < 1000; i++) {
        errors += report_step(step, stream, data, i) != CUDA_SUCCESS;
        errors += report_step(i % 100 == 50 ? step : fill, stream, other, i) != CUDA_SUCCESS;
        errors += cuMemsetD32Async(other, i, 1, stream) != CUDA_SUCCESS;
        expected = expected * 3 + i;
    }
    errors += cuStreamSynchronize(stream) != CUDA_SUCCESS;
    bool same = report_word(data) == expected && report_word(other) == 999;
    printf("%u errors, %s\n", errors, same ? "sum right" : "sum WRONG");
    return same && errors == 0 ? 0 : 1;
}
