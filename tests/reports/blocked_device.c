/* A kernel blocks the device until the host says so; a known loop is launched behind it, and meanwhile the stream is
 * busy. Nothing that the shim does may wait for the device. */
#include "tests/reports/reports.h"

int main(void)
{
    volatile unsigned *host;
    CUdeviceptr flag, data, out;
    CUstream stream;
    unsigned expected = 0, ready = 0;
    report_open();
    CUfunction step = report_kernel(module, "step"), wait = report_kernel(module, "wait_for");
    data = report_memory(4), out = report_memory(4);
    CHECK(cuMemHostAlloc((void **)&host, 64, CU_MEMHOSTALLOC_DEVICEMAP));
    CHECK(cuMemHostGetDevicePointer(&flag, (void *)host, 0));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned round = 1; round <= 20; round++) {
        unsigned value = round;
        unsigned long long limit = 5000000000u;
        void *args[] = {&flag, &value, &out, &limit};
        CHECK(cuLaunchKernel(wait, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL));
        ready += cuStreamQuery(stream) != CUDA_ERROR_NOT_READY;
        for (unsigned i = 0; i < 50 + round; i++) {
            CHECK(report_step(step, stream, data, i));
            expected = expected * 3 + i;
        }
        ready += cuStreamQuery(stream) != CUDA_ERROR_NOT_READY;
        report_poke(host, round);
        CHECK(cuStreamSynchronize(stream));
    }
    bool same = report_word(data) == expected && report_word(out) == 20;
    printf("%u times not busy, %s\n", ready, same ? "sums right" : "sums WRONG");
    return same && ready == 0 ? 0 : 1;
}
