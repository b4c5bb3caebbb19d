/* full_queue CALL: one thread fills the queue of a stream behind a kernel that waits for the host; another thread makes
 * CALL, which does not depend on that stream, and only then lets the kernel go. Without the shim the call returns. */
#include "tests/reports/reports.h"

static volatile unsigned *host;
static CUstream full;
static CUfunction step, wait;
static CUdeviceptr data, out, flag;
static atomic_bool waiting;

static void *fill(void *unused)
{
    unsigned value = 1;
    unsigned long long limit = 4000000000u;
    void *args[] = {&flag, &value, &out, &limit};
    (void)unused;
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuLaunchKernel(wait, 1, 1, 1, 1, 1, 1, 0, full, args, NULL));
    CHECK(cuStreamQuery(full) == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN);
    atomic_store(&waiting, true);
    for (unsigned i = 0; i < 3000; i++)
        CHECK(report_step(step, full, data, i));
    return NULL;
}

int main(int argc, char **argv)
{
    const char *call = argc > 1 ? argv[1] : "event";
    pthread_t thread;
    CUstream other;
    CUevent event;
    unsigned word = 0;
    report_open();
    step = report_kernel(module, "step");
    wait = report_kernel(module, "wait_for");
    CUfunction never = report_kernel(module, "scaled");
    data = report_memory(4), out = report_memory(4);
    CUdeviceptr elsewhere = report_memory(64);
    CHECK(cuMemHostAlloc((void **)&host, 64, CU_MEMHOSTALLOC_DEVICEMAP));
    *host = 0;
    CHECK(cuMemHostGetDevicePointer(&flag, (void *)host, 0));
    CHECK(cuStreamCreate(&full, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&event, 0));
    for (unsigned i = 0; i < 40; i++) {
        CHECK(report_step(step, full, data, i));
        CHECK(report_step(step, other, elsewhere, i));
    }
    CHECK(cuEventRecord(event, other));
    CHECK(cuCtxSynchronize());
    if (pthread_create(&thread, NULL, fill, NULL) != 0)
        return 98;
    while (!atomic_load(&waiting))
        report_sleep_ms(1);
    report_sleep_ms(100);
    if (strcmp(call, "event") == 0)
        CHECK(cuEventSynchronize(event));
    else if (strcmp(call, "stream") == 0)
        CHECK(cuStreamSynchronize(other));
    else if (strcmp(call, "copy") == 0)
        CHECK(cuMemcpyHtoD(elsewhere, &word, sizeof word));
    else if (strcmp(call, "launch") == 0)
        CHECK(report_step(step, other, elsewhere, 1));
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
    *host = 1;
    pthread_join(thread, NULL);
    CHECK(cuCtxSynchronize());
    bool right = report_word(out) == 1;
    printf("%s: %s\n", call, right ? "returned" : "WAITED until the kernel gave up");
    return right ? 0 : 1;
}
