/* A function's limit was raised and lowered; a module that has nothing to do with it is unloaded: the limit is still
 * the lower one, for questions and for launches. */
#include "tests/reports/reports.h"

int main(void)
{
    report_open();
    CUmodule other;
    CUfunction kernel = report_kernel(module, "through_shared");
    CUdeviceptr data = report_memory(4);
    unsigned value = 1, count = 1;
    void *args[] = {&data, &value, &count};
    int limit = 0;
    CHECK(cuModuleLoad(&other, report_image()));
    CHECK(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100 << 10));
    CHECK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 90 << 10, NULL, args, NULL));
    CHECK(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 16 << 10));
    CHECK(cuModuleUnload(other));
    CHECK(cuFuncGetAttribute(&limit, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel));
    CUresult launched = cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 90 << 10, NULL, args, NULL);
    printf("limit %d, launch %d, synchronise %d\n", limit, launched, cuCtxSynchronize());
    return limit == 16 << 10 && launched == CUDA_ERROR_INVALID_VALUE ? 0 : 1;
}
