/* limit_beside_slow own|other: launches with much shared memory, which another thread of the shim submits soon after,
 * and slowly (the simulator's `slow`); meanwhile the limit is lowered below that, and a launch in another stream shows
 * it. The launches before were accepted, so they must run. other: a thread that does not set limits launches them. */
#include "tests/reports/reports.h"

enum { ROUNDS = 8, LAUNCHES = 3 };

static CUfunction step;
static CUstream stream;
static CUdeviceptr data;

static CUresult launch(CUstream into, unsigned shared)
{
    unsigned value = 1, count = 1;
    void *args[] = {&data, &value, &count};
    return cuLaunchKernel(step, 1, 1, 1, 1, 1, 1, shared, into, args, NULL);
}

static void *launch_much(void *unused)
{
    CHECK(cuCtxSetCurrent(context));
    for (unsigned i = 0; i < LAUNCHES; i++)
        CHECK(launch(stream, 60000));
    return unused;
}

int main(int argc, char **argv)
{
    bool other = argc > 1 && strcmp(argv[1], "other") == 0;
    CUstream second;
    unsigned accepted = 0, late = 0;
    report_open();
    step = report_kernel(module, "step");
    data = report_memory(4);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
    for (unsigned round = 0; round < ROUNDS; round++) {
        CHECK(cuFuncSetAttribute(step, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536));
        pthread_t thread;
        if (!other)
            launch_much(NULL);
        else if (pthread_create(&thread, NULL, launch_much, NULL) != 0 || pthread_join(thread, NULL) != 0)
            return 98;
        report_sleep_ms(5);
        CHECK(cuFuncSetAttribute(step, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 0));
        accepted += launch(second, 256) != CUDA_ERROR_INVALID_VALUE;
        late += cuCtxSynchronize() != CUDA_SUCCESS;
    }
    printf("%u accepted, %u refused late, value %u\n", accepted, late, report_word(data));
    return accepted != 0 || late != 0;
}
