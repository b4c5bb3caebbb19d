/* A memset whose address does not fit its elements is refused by the call itself, also where others were accepted. */
#include "tests/reports/reports.h"

int main(void)
{
    report_open();
    CUdeviceptr data = report_memory(4096);
    CUstream stream;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < 50; i++)
        CHECK(cuMemsetD32Async(data, i, 16, stream));
    CUresult refused = cuMemsetD32Async(data + 2, 7, 16, stream), odd = cuMemsetD16Async(data + 1, 7, 16, stream);
    CUresult next = cuMemsetD32Async(data, 8, 16, stream), done = cuStreamSynchronize(stream);
    printf("misaligned %d %d, next %d, synchronise %d, word %u\n", refused, odd, next, done, report_word(data));
    return refused == CUDA_ERROR_INVALID_VALUE && next == CUDA_SUCCESS && done == CUDA_SUCCESS ? 0 : 1;
}
