/* callback_loop function|callback: each round ends in a host function that sets a flag; the main thread waits for the
 * flag without a driver call, then launches the next round. */
#include "tests/reports/reports.h"

enum { ROUNDS = 60, LAUNCHES = 5 };

static atomic_uint finished, expected, early;
static volatile unsigned *host;

static void CUDA_CB in_function(void *unused)
{
    (void)unused;
    if (report_peek(host) != expected) /* the launches before it are not done */
        early++;
    atomic_fetch_add(&finished, 1);
}

static void CUDA_CB in_callback(CUstream stream, CUresult status, void *data)
{
    (void)stream;
    (void)status;
    in_function(data);
}

int main(int argc, char **argv)
{
    bool callback = argc > 1 && strcmp(argv[1], "callback") == 0;
    unsigned round = 0;
    CUdeviceptr data;
    CUstream stream;
    report_open();
    CUfunction step = report_kernel(module, "step");
    CHECK(cuMemHostAlloc((void **)&host, 64, CU_MEMHOSTALLOC_DEVICEMAP));
    CHECK(cuMemHostGetDevicePointer(&data, (void *)host, 0));
    report_poke(host, 0);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (; round < ROUNDS; round++) {
        for (unsigned i = 0; i < LAUNCHES; i++) {
            CHECK(report_step(step, stream, data, round + i));
            expected = expected * 3 + round + i;
        }
        if (callback)
            CHECK(cuStreamAddCallback(stream, in_callback, NULL, 0));
        else
            CHECK(cuLaunchHostFunc(stream, in_function, NULL));
        for (unsigned i = 0; i < 100000 && finished != round + 1; i++)
            usleep(100);
        if (finished != round + 1)
            break;
    }
    CHECK(cuStreamSynchronize(stream));
    bool right = round == ROUNDS && report_peek(host) == expected && early == 0;
    printf("%u of %u rounds, %s\n", round, (unsigned)ROUNDS, right ? "in order" : "NOT in order");
    return right ? 0 : 1;
}
