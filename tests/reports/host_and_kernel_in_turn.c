/* host_and_kernel_in_turn pinned|managed: host and running kernel take turns at one word, without a driver call. */
#include "tests/reports/reports.h"

enum { ROUNDS = 100 };

static bool wait_until(volatile unsigned *word, unsigned value)
{
    for (unsigned i = 0; i < 50000 && report_peek(word) != value; i++)
        usleep(100);
    return report_peek(word) == value;
}

int main(int argc, char **argv)
{
    volatile unsigned *host;
    CUdeviceptr flag;
    unsigned good = 0;
    unsigned long long limit = 5000000000u;
    report_open();
    CUfunction turn = report_kernel(module, "turn");
    if (argc > 1 && strcmp(argv[1], "managed") == 0) {
        CHECK(cuMemAllocManaged(&flag, 64, CU_MEM_ATTACH_GLOBAL));
        host = (volatile unsigned *)flag;
    } else {
        CHECK(cuMemHostAlloc((void **)&host, 64, CU_MEMHOSTALLOC_DEVICEMAP));
        CHECK(cuMemHostGetDevicePointer(&flag, (void *)host, 0));
    }
    void *args[] = {&flag, &limit};
    for (unsigned i = 0; i < ROUNDS; i++) {
        report_poke(host, 0);
        CHECK(cuLaunchKernel(turn, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
        if (!wait_until(host, 1))
            break;
        report_poke(host, 2);
        if (!wait_until(host, 3))
            break;
        good++;
    }
    CHECK(cuCtxSynchronize());
    printf("%u of %u rounds\n", good, ROUNDS);
    return good == ROUNDS ? 0 : 1;
}
