/* limit_beside_destroy [ROUNDS]: one thread lowers the shared memory limit of a function and launches it with more,
 * which must be refused at that call, and is told what it has set; another makes and destroys contexts that have
 * nothing to do with it. */
#include "tests/reports/reports.h"

static atomic_bool ended;

static void *destroy(void *unused)
{
    (void)unused;
    while (!atomic_load(&ended)) {
        CUcontext other;
        CHECK(report_context(&other));
        CHECK(cuCtxDestroy(other));
    }
    return NULL;
}

static CUresult launch(CUfunction step, CUstream stream, CUdeviceptr data, unsigned shared)
{
    unsigned value = 1, count = 1;
    void *args[] = {&data, &value, &count};
    return cuLaunchKernel(step, 1, 1, 1, 1, 1, 1, shared, stream, args, NULL);
}

static int limit_of(CUfunction function)
{
    int limit;
    CHECK(cuFuncGetAttribute(&limit, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function));
    return limit;
}

int main(int argc, char **argv)
{
    unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 10000;
    pthread_t thread;
    CUstream stream;
    unsigned late = 0, untrue = 0;
    report_open();
    CUfunction step = report_kernel(module, "step");
    CUdeviceptr data = report_memory(4);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    if (pthread_create(&thread, NULL, destroy, NULL) != 0)
        return 98;
    for (unsigned long round = 0; round < rounds; round++) {
        CHECK(cuFuncSetAttribute(step, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536));
        for (unsigned i = 0; i < 3; i++)
            CHECK(launch(step, stream, data, 60000));
        CHECK(cuFuncSetAttribute(step, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 0));
        for (unsigned i = 0; i < 16; i++)
            untrue += limit_of(step) != 0;
        for (unsigned i = 0; i < 8; i++)
            late += launch(step, stream, data, 256) != CUDA_ERROR_INVALID_VALUE;
    }
    atomic_store(&ended, true);
    pthread_join(thread, NULL);
    late += cuCtxSynchronize() != CUDA_SUCCESS;
    printf("%u refused late, %u answers untrue\n", late, untrue);
    return late != 0 || untrue != 0;
}
