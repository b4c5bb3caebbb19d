/* A kernel has two handles, the library's and the function's; both mean the same limit of dynamic shared memory. */
#include "tests/reports/reports.h"

int main(void)
{
    report_open();
    CUlibrary library;
    CUkernel kernel;
    CUfunction function;
    CHECK(cuLibraryLoadFromFile(&library, report_image(), NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cuLibraryGetKernel(&kernel, library, "through_shared"));
    CHECK(cuKernelGetFunction(&function, kernel));
    CUdeviceptr data = report_memory(4);
    CUstream stream;
    unsigned value = 1, count = 1, expected = 0, refused = 0;
    void *args[] = {&data, &value, &count};
    int limit = 0;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < 30; i++) {
        CHECK(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 64 << 10, kernel, device));
        if (cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 60 << 10, stream, args, NULL) == CUDA_SUCCESS)
            expected = expected * 7 + value;
        else
            refused++;
        CHECK(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 16 << 10));
        CHECK(cuKernelGetAttribute(&limit, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel, device));
        CHECK(cuStreamSynchronize(stream));
    }
    bool same = report_word(data) == expected;
    printf("%u refused, limit %d, %s\n", refused, limit, same ? "sum right" : "sum WRONG");
    return same && refused == 0 ? 0 : 1;
}
