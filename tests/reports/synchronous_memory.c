/* Memory whose operations the program has asked to be synchronous: when a memset of it returns, it is done. */
#include "tests/reports/reports.h"

int main(void)
{
    report_open();
    CUdeviceptr data = report_memory(4096);
    CUstream stream;
    unsigned yes = 1, pending = 0;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuPointerSetAttribute(&yes, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, data));
    for (unsigned i = 0; i < 50; i++) {
        CHECK(cuMemsetD32Async(data, i, 64, stream));
        pending += cuStreamQuery(stream) != CUDA_SUCCESS;
    }
    printf("%u pending\n", pending);
    return pending == 0 ? 0 : 1;
}
