/* One thread launches a kernel that counts, another loads and unloads a module that has nothing to do with it: no
 * launch may be lost. */
#include "tests/reports/reports.h"

enum { LAUNCHES = 20000 };

static atomic_bool ended;

static void *unload(void *unused)
{
    (void)unused;
    CHECK(cuCtxSetCurrent(context));
    while (!atomic_load(&ended)) {
        CUmodule other;
        CHECK(cuModuleLoad(&other, report_image()));
        CHECK(cuModuleUnload(other));
    }
    return NULL;
}

int main(void)
{
    pthread_t thread;
    CUstream stream;
    report_open();
    CUfunction step = report_kernel(module, "step");
    CUdeviceptr data = report_memory(4);
    unsigned expected = 0;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    if (pthread_create(&thread, NULL, unload, NULL) != 0)
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
