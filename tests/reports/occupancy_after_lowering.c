/* A launch with much dynamic shared memory, the limit lowered, a question about the occupancy: the launch still runs.
 */
#include "tests/reports/reports.h"

int main(void)
{
    report_open();
    CUfunction kernel = report_kernel(module, "through_shared");
    CUdeviceptr data = report_memory(4);
    unsigned value = 1, count = 1, expected = 0;
    void *args[] = {&data, &value, &count};
    CUstream stream;
    int blocks;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < 20; i++) {
        CHECK(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 64 << 10));
        CHECK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 60 << 10, stream, args, NULL));
        expected = expected * 7 + value;
        CHECK(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 16 << 10));
        CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 32, 32 << 10));
        CHECK(cuStreamSynchronize(stream));
    }
    bool same = report_word(data) == expected;
    printf("%s, %d blocks\n", same ? "every launch ran" : "WRONG", blocks);
    return same ? 0 : 1;
}
