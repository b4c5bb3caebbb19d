/* A thread fills the queue of a stream behind a kernel that waits for another stream's kernel; that one is launched by
 * a thread that then makes no further call. */
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
    for (unsigned i = 0; i < 20; i++)
        CHECK(report_step(step, full, data, i));
    return NULL;
}

int main(void)
{
    pthread_t thread;
    CUstream other;
    report_open();
    step = report_kernel(module, "step");
    wait = report_kernel(module, "wait_for");
    CUfunction set = report_kernel(module, "set_flag");
    data = report_memory(4), out = report_memory(4);
    CHECK(cuMemHostAlloc((void **)&host, 64, CU_MEMHOSTALLOC_DEVICEMAP));
    CHECK(cuMemHostGetDevicePointer(&flag, (void *)host, 0));
    CHECK(cuStreamCreate(&full, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    unsigned value = 0;
    void *args[] = {&flag, &value};
    for (unsigned i = 0; i < 40; i++) {
        CHECK(report_step(step, full, data, i));
        CHECK(cuLaunchKernel(set, 1, 1, 1, 1, 1, 1, 0, other, args, NULL));
    }
    CHECK(cuCtxSynchronize());
    if (pthread_create(&thread, NULL, fill, NULL) != 0)
        return 98;
    while (!atomic_load(&waiting))
        report_sleep_ms(1);
    report_sleep_ms(100);
    value = 1;
    CHECK(cuLaunchKernel(set, 1, 1, 1, 1, 1, 1, 0, other, args, NULL));
    for (unsigned i = 0; i < 3000 && *host != 1; i++)
        report_sleep_ms(1);
    bool right = *host == 1;
    pthread_join(thread, NULL);
    CHECK(cuCtxSynchronize());
    right = right && report_word(out) == 1;
    printf("%s\n", right ? "the other stream went on" : "STUCK until the kernel gave up");
    return right ? 0 : 1;
}
