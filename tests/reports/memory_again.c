/* memory_again plain|ordered: memory is freed behind launches that use it and its address comes back at once. The
 * simulated driver gives the address that was freed last; where it does not come back this shows nothing, and fails. */
#include "tests/reports/reports.h"

int main(int argc, char **argv)
{
    bool ordered = argc > 1 && strcmp(argv[1], "ordered") == 0;
    report_open();
    CUfunction step = report_kernel(module, "step"), mix = report_kernel(module, "mix");
    CUdeviceptr sums = report_memory(4), memory, before = 0;
    CUstream stream;
    unsigned expected = 0, wrong = 0, others = 0;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned round = 0; round < 200; round++) {
        unsigned count = 1, key = 0, want = round;
        if (ordered)
            CHECK(cuMemAllocAsync(&memory, 4096, stream));
        else
            CHECK(cuMemAlloc(&memory, 4096));
        others += round > 0 && memory != before;
        before = memory;
        CHECK(cuMemsetD32Async(memory, round, 4, stream));
        for (unsigned i = 0; i < 9; i++) {
            CHECK(report_step(step, stream, memory, i));
            want = want * 3 + i;
        }
        void *args[] = {&sums, &memory, &key, &count};
        CHECK(cuLaunchKernel(mix, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL));
        expected = (want ^ key) * 2654435761u + want;
        if (round % 50 == 49)
            wrong += cuStreamSynchronize(stream) != CUDA_SUCCESS || report_word(sums) != expected;
        if (ordered)
            CHECK(cuMemFreeAsync(memory, stream));
        else
            CHECK(cuMemFree(memory));
    }
    CHECK(cuStreamSynchronize(stream));
    wrong += report_word(sums) != expected;
    printf("%u wrong, %u other addresses\n", wrong, others);
    return wrong == 0 && others == 0 ? 0 : 1;
}
