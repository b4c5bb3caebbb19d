/* A thread fills the queue of a stream behind a kernel that waits for another stream's kernel; that one is launched by
 * a thread that then makes no further call. */
#include "tests/reports/full.h"

int main(void)
{
    CUstream other;
    full_open();
    CUfunction set = report_kernel(module, "set_flag");
    CHECK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    unsigned value = 0;
    void *args[] = {&full.flag, &value};
    for (unsigned i = 0; i < 40; i++) {
        CHECK(report_step(full.step, full.stream, full.data, i));
        CHECK(cuLaunchKernel(set, 1, 1, 1, 1, 1, 1, 0, other, args, NULL));
    }
    CHECK(cuCtxSynchronize());
    full_start(20);
    value = 1;
    CHECK(cuLaunchKernel(set, 1, 1, 1, 1, 1, 1, 0, other, args, NULL));
    for (unsigned i = 0; i < 3000 && report_peek(full.host) != 1; i++)
        report_sleep_ms(1);
    bool right = report_peek(full.host) == 1;
    right = full_end() && right;
    printf("%s\n", right ? "the other stream went on" : "STUCK until the kernel gave up");
    return right ? 0 : 1;
}
