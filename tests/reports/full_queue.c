/* full_queue CALL: one thread fills the queue of a stream behind a kernel that waits for the host; another thread makes
 * CALL, which does not depend on that stream, and only then lets the kernel go. Without the shim the call returns. */
#include "tests/reports/full.h"

int main(int argc, char **argv)
{
    const char *call = argc > 1 ? argv[1] : "event";
    CUstream other;
    CUevent event;
    unsigned word = 0;
    full_open();
    CUfunction never = report_kernel(module, "scaled");
    CUdeviceptr elsewhere = report_memory(64);
    CHECK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&event, 0));
    for (unsigned i = 0; i < 40; i++) {
        CHECK(report_step(full.step, full.stream, full.data, i));
        CHECK(report_step(full.step, other, elsewhere, i));
    }
    CHECK(cuEventRecord(event, other));
    CHECK(cuCtxSynchronize());
    full_start(3000);
    if (strcmp(call, "event") == 0)
        CHECK(cuEventSynchronize(event));
    else if (strcmp(call, "stream") == 0)
        CHECK(cuStreamSynchronize(other));
    else if (strcmp(call, "copy") == 0)
        CHECK(cuMemcpyHtoD(elsewhere, &word, sizeof word));
    else if (strcmp(call, "launch") == 0)
        CHECK(report_step(full.step, other, elsewhere, 1));
    else if (strcmp(call, "first") == 0) {
        unsigned count = 1;
        void *args[] = {&elsewhere, &count};
        CHECK(cuLaunchKernel(never, 1, 1, 1, 1, 1, 1, 0, other, args, NULL));
    } else if (strcmp(call, "state") == 0)
        CHECK(cuFuncSetCacheConfig(never, CU_FUNC_CACHE_PREFER_L1));
    else if (strcmp(call, "cooperative") == 0) {
        unsigned count = 1;
        void *args[] = {&elsewhere, &count};
        CHECK(cuLaunchCooperativeKernel(never, 1, 1, 1, 1, 1, 1, 0, other, args));
    } else if (strcmp(call, "capture") == 0) {
        CUgraph graph;
        CHECK(cuStreamBeginCapture(other, CU_STREAM_CAPTURE_MODE_RELAXED));
        CHECK(cuStreamEndCapture(other, &graph));
    }
    report_poke(full.host, 1);
    bool right = full_end();
    printf("%s: %s\n", call, right ? "returned" : "WAITED until the kernel gave up");
    return right ? 0 : 1;
}
