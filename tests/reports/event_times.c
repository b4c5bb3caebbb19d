/* Events inside a sequence that repeats still time it, and the odd cases answer as ever. */
#include "tests/reports/reports.h"

int main(void)
{
    report_open();
    CUfunction spin = report_kernel(module, "spin");
    CUdeviceptr out = report_memory(4);
    CUstream stream;
    CUevent e0, e1, e2, never, untimed;
    unsigned long long ns = 20000;
    void *args[] = {&ns, &out};
    unsigned short_ones = 0;
    float first, second;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&e0, 0));
    CHECK(cuEventCreate(&e1, 0));
    CHECK(cuEventCreate(&e2, 0));
    CHECK(cuEventCreate(&never, 0));
    CHECK(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
    for (unsigned round = 0; round < 50; round++) {
        CHECK(cuEventRecord(e0, stream));
        for (unsigned i = 0; i < 10; i++)
            CHECK(cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL));
        CHECK(cuEventRecord(e1, stream));
        for (unsigned i = 0; i < 3; i++)
            CHECK(cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL));
        CHECK(cuEventRecord(e2, stream));
        CHECK(cuEventRecord(untimed, stream));
        CHECK(cuEventSynchronize(e2));
        CHECK(cuEventQuery(e1));
        CHECK(cuEventElapsedTime(&first, e0, e1));
        CHECK(cuEventElapsedTime(&second, e1, e2));
        /* the kernels wait that long themselves */
        short_ones += first < 0.199f || second < 0.059f;
    }
    CHECK(cuStreamSynchronize(stream));
    printf("%u too short, never recorded %d, without time %d, ", short_ones, cuEventElapsedTime(&first, e0, never),
           cuEventElapsedTime(&first, e0, untimed));
    for (unsigned i = 0; i < 3; i++) {
        CHECK(cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL));
        CHECK(cuEventRecord(e1, stream)); /* while it is in flight */
    }
    CHECK(cuEventSynchronize(e1));
    printf("recorded again %d, sum %u\n", cuEventQuery(e1), report_word(out));
    return short_ones == 0 ? 0 : 1;
}
