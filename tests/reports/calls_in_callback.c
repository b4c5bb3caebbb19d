/* A host function makes driver calls, which CUDA forbids: each is refused at once, also while the queue of its stream
 * is full, and none takes effect. */
#include "tests/reports/reports.h"

static CUstream stream;
static CUfunction step;
static CUdeviceptr data;
static CUresult codes[4];

static void CUDA_CB call(void *unused)
{
    (void)unused;
    report_sleep_ms(200);
    codes[0] = report_step(step, stream, data, 99);
    codes[1] = cuStreamSynchronize(stream);
    codes[2] = cuMemsetD32Async(data, 5, 1, stream);
    codes[3] = cuCtxSynchronize();
}

int main(void)
{
    report_open();
    step = report_kernel(module, "step");
    data = report_memory(4);
    unsigned expected = 0;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < 3000; i++) {
        if (i == 100)
            CHECK(cuLaunchHostFunc(stream, call, NULL));
        CHECK(report_step(step, stream, data, i));
        expected = expected * 3 + i;
    }
    CHECK(cuCtxSynchronize());
    bool same = report_word(data) == expected;
    printf("%d %d %d %d, %s\n", codes[0], codes[1], codes[2], codes[3], same ? "sum right" : "sum WRONG");
    return same ? 0 : 1;
}
