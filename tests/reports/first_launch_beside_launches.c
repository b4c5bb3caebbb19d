/* Two threads on one stream: one launches a kernel that is known, the other launches shapes that were never seen. No
 * launch may be lost. */
#include "tests/reports/reports.h"

enum { LAUNCHES = 20000 };

static CUstream stream;
static CUfunction step;
static atomic_bool ended;

static void *news(void *memory)
{
    CHECK(cuCtxSetCurrent(context));
    CUdeviceptr data = *(CUdeviceptr *)memory;
    unsigned count = 0, value = 0;
    void *args[] = {&data, &value, &count};
    for (unsigned x = 1; !atomic_load(&ended); x = x % 512 + 1)
        for (unsigned y = 1; y <= 2; y++)
            CHECK(cuLaunchKernel(step, 1, 1, 1, x, y, 1, 0, stream, args, NULL));
    return NULL;
}

int main(void)
{
    pthread_t thread;
    report_open();
    step = report_kernel(module, "step");
    CUdeviceptr data = report_memory(4), other = report_memory(4);
    unsigned expected = 0;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    if (pthread_create(&thread, NULL, news, &other) != 0)
        return 98;
    for (unsigned i = 0; i < LAUNCHES; i++) {
        CHECK(report_step(step, stream, data, i));
        expected = expected * 3 + i;
    }
    atomic_store(&ended, true);
    pthread_join(thread, NULL);
    CHECK(cuCtxSynchronize());
    bool same = report_word(data) == expected;
    printf("%s\n", same ? "no launch lost" : "LOST");
    return same ? 0 : 1;
}
