/* A stream is destroyed while it captures; the loop that follows is replayed all the same (its statistics tell). */
#include "tests/reports/reports.h"

int main(void)
{
    report_open();
    CUfunction step = report_kernel(module, "step");
    CUdeviceptr data = report_memory(4);
    CUstream stream, captured;
    unsigned expected = 0;
    CHECK(cuStreamCreate(&captured, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamBeginCapture(captured, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    CHECK(report_step(step, captured, data, 7));
    CUresult destroyed = cuStreamDestroy(captured);
    for (unsigned i = 0; i < 1000; i++) {
        CHECK(report_step(step, stream, data, i));
        expected = expected * 3 + i;
    }
    CHECK(cuCtxSynchronize());
    bool same = report_word(data) == expected;
    printf("destroy %d, %s\n", destroyed, same ? "sum right" : "sum WRONG");
    return same ? 0 : 1;
}
