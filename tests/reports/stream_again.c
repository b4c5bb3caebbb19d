/* A stream's handle comes back after it was destroyed with work pending: other flags, other arguments, right results.
 * The simulated driver gives the handle that was freed last; where it does not come back this shows nothing, and fails.
 */
#include "tests/reports/reports.h"

int main(void)
{
    report_open();
    CUfunction step = report_kernel(module, "step");
    CUdeviceptr data[4];
    unsigned expected[4] = {0}, wrong = 0, others = 0;
    CUstream before = NULL;
    for (unsigned k = 0; k < 4; k++)
        data[k] = report_memory(4);
    for (unsigned round = 0; round < 40; round++) {
        CUstream stream;
        unsigned k = round % 4;
        CHECK(cuStreamCreate(&stream, round % 2 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT));
        others += round > 0 && stream != before;
        before = stream;
        for (unsigned i = 0; i < 50; i++) {
            CHECK(report_step(step, stream, data[k], i + round));
            expected[k] = expected[k] * 3 + i + round;
        }
        if (round % 2 == 0) { /* a blocking stream: the default stream comes after it, and before what follows */
            CHECK(report_step(step, NULL, data[k], 7));
            CHECK(report_step(step, stream, data[k], 9));
            expected[k] = (expected[k] * 3 + 7) * 3 + 9;
        }
        CHECK(cuStreamDestroy(stream));
        if (k == 3)
            CHECK(cuCtxSynchronize());
    }
    CHECK(cuCtxSynchronize());
    for (unsigned k = 0; k < 4; k++)
        wrong += report_word(data[k]) != expected[k];
    printf("%u wrong, %u other handles\n", wrong, others);
    return wrong == 0 && others == 0 ? 0 : 1;
}
