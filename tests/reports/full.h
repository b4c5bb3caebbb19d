/* A thread that fills the queue of a stream behind a kernel which waits for the host. What it needs is set up by
 * full_open(); full_start() returns once the kernel runs and the queue has filled. */
#ifndef TESTS_REPORTS_FULL_H
#define TESTS_REPORTS_FULL_H

#include "tests/reports/reports.h"

static struct {
    volatile unsigned *host; /* the kernel waits until it is 1 */
    CUstream stream;
    CUfunction step, wait;
    CUdeviceptr data, out, flag; /* out: 1 when the kernel saw that, more when it gave up after four seconds */
    unsigned launches;
    atomic_bool waiting;
    pthread_t thread;
} full;

static inline void full_open(void)
{
    report_open();
    full.step = report_kernel(module, "step");
    full.wait = report_kernel(module, "wait_for");
    full.data = report_memory(4), full.out = report_memory(4);
    CHECK(cuMemHostAlloc((void **)&full.host, 64, CU_MEMHOSTALLOC_DEVICEMAP));
    report_poke(full.host, 0);
    CHECK(cuMemHostGetDevicePointer(&full.flag, (void *)full.host, 0));
    CHECK(cuStreamCreate(&full.stream, CU_STREAM_NON_BLOCKING));
}

static void *full_fill(void *unused)
{
    unsigned value = 1;
    unsigned long long limit = 4000000000u;
    void *args[] = {&full.flag, &value, &full.out, &limit};
    (void)unused;
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuLaunchKernel(full.wait, 1, 1, 1, 1, 1, 1, 0, full.stream, args, NULL));
    CHECK(cuStreamQuery(full.stream) == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN);
    atomic_store(&full.waiting, true);
    for (unsigned i = 0; i < full.launches; i++)
        CHECK(report_step(full.step, full.stream, full.data, i));
    return NULL;
}

static inline void full_start(unsigned launches)
{
    full.launches = launches;
    if (pthread_create(&full.thread, NULL, full_fill, NULL) != 0)
        _exit(98);
    while (!atomic_load(&full.waiting))
        report_sleep_ms(1);
    report_sleep_ms(100);
}

/* Whether the kernel saw the flag in time. */
static inline bool full_end(void)
{
    pthread_join(full.thread, NULL);
    CHECK(cuCtxSynchronize());
    return report_word(full.out) == 1;
}

#endif
