/* One thread only asks events, the other only launches and records and then sleeps: the first sees each complete. */
#include "tests/reports/reports.h"

enum { EVENTS = 50 };

static CUevent events[EVENTS];
static atomic_uint recorded;
static unsigned seen;

static void *poll(void *unused)
{
    (void)unused;
    CHECK(cuCtxSetCurrent(context));
    for (unsigned i = 0; i < EVENTS; i++) {
        while (atomic_load(&recorded) <= i)
            usleep(100);
        for (unsigned n = 0; n < 50000; n++) {
            CUresult result = cuEventQuery(events[i]);
            if (result == CUDA_SUCCESS) {
                seen++;
                break;
            }
            if (result != CUDA_ERROR_NOT_READY)
                break;
            usleep(100);
        }
    }
    return NULL;
}

int main(void)
{
    pthread_t thread;
    CUstream streams[2];
    report_open();
    CUfunction step = report_kernel(module, "step");
    CUdeviceptr data = report_memory(4), other = report_memory(4);
    for (unsigned k = 0; k < 2; k++)
        CHECK(cuStreamCreate(&streams[k], CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < EVENTS; i++)
        CHECK(cuEventCreate(&events[i], CU_EVENT_DISABLE_TIMING));
    if (pthread_create(&thread, NULL, poll, NULL) != 0)
        return 98;
    for (unsigned i = 0; i < EVENTS; i++) {
        for (unsigned n = 0; n < 7; n++) {
            CHECK(report_step(step, streams[0], data, n));
            CHECK(report_step(step, streams[1], other, n));
        }
        CHECK(cuEventRecord(events[i], streams[1]));
        CHECK(cuStreamWaitEvent(streams[0], events[i], 0));
        CHECK(report_step(step, streams[0], data, 7));
        atomic_store(&recorded, i + 1);
        report_sleep_ms(i % 5);
    }
    pthread_join(thread, NULL);
    CHECK(cuCtxSynchronize());
    printf("%u of %u seen\n", seen, EVENTS);
    return seen == EVENTS ? 0 : 1;
}
