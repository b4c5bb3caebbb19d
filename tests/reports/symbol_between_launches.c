/* A variable of the module is written between launches from memory that changes right after the call, and pinned memory
 * that is guarded by an event; each launch sees its own value. */
#include "tests/reports/reports.h"

int main(void)
{
    report_open();
    CUfunction scaled = report_kernel(module, "scaled");
    CUdeviceptr symbol, data = report_memory(4);
    size_t size;
    CUstream streams[2];
    CUevent done[2], ordered;
    unsigned *pinned, count = 1, expected = 0;
    void *args[] = {&data, &count};
    CHECK(cuModuleGetGlobal(&symbol, &size, module, "scale"));
    CHECK(cuMemHostAlloc((void **)&pinned, 64, 0));
    for (unsigned k = 0; k < 2; k++) {
        CHECK(cuStreamCreate(&streams[k], k ? CU_STREAM_NON_BLOCKING : 0));
        CHECK(cuEventCreate(&done[k], CU_EVENT_DISABLE_TIMING));
    }
    CHECK(cuEventCreate(&ordered, CU_EVENT_DISABLE_TIMING));
    for (unsigned i = 0; i < 2000; i++) {
        unsigned k = i / 10 % 2, pageable = i;
        CHECK(cuStreamWaitEvent(streams[k], ordered, 0));
        if (i % 2) {
            CHECK(cuEventSynchronize(done[k]));
            pinned[k] = i;
            CHECK(cuMemcpyHtoDAsync(symbol, &pinned[k], sizeof pinned[k], streams[k]));
            CHECK(cuEventRecord(done[k], streams[k]));
        } else {
            CHECK(cuMemcpyHtoDAsync(symbol, &pageable, sizeof pageable, streams[k]));
            pageable = 12345;
        }
        CHECK(cuLaunchKernel(scaled, 1, 1, 1, 1, 1, 1, 0, streams[k], args, NULL));
        CHECK(cuEventRecord(ordered, streams[k]));
        expected = expected * 3 + i;
    }
    CHECK(cuCtxSynchronize());
    bool same = report_word(data) == expected;
    printf("%s\n", same ? "sum right" : "sum WRONG");
    return same ? 0 : 1;
}
