/* A function's handle comes back after its module was unloaded: the new function has the driver's limit, not the old
 * one's. */
#include "tests/reports/reports.h"

int main(void)
{
    report_open();
    CUmodule loaded;
    CUfunction old, kernel;
    int limit = 0;
    CHECK(cuModuleLoad(&loaded, report_image()));
    old = report_kernel(loaded, "through_shared");
    CHECK(cuFuncSetAttribute(old, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100 << 10));
    CHECK(cuModuleUnload(loaded));
    bool again = false;
    for (unsigned i = 0; i < 64 && !again; i++) {
        CHECK(cuModuleLoad(&loaded, report_image()));
        static const char *const names[] = {"through_shared", "fill", "step", "mix", "gaps"};
        for (unsigned k = 0; k < 5 && !again; k++) {
            kernel = report_kernel(loaded, names[k]);
            again = kernel == old;
        }
    }
    if (!again) {
        printf("the handle did not come back\n");
        return 0;
    }
    CHECK(cuFuncGetAttribute(&limit, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel));
    CUresult set = cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 80 << 10);
    CUdeviceptr data = report_memory(4096);
    unsigned value = 1, count = 1;
    unsigned long long more[16] = {data, 1, 1, 1};
    void *args[] = {&data, &value, &count, more, more, more};
    CUresult launched = cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 70 << 10, NULL, args, NULL);
    CUresult done = cuCtxSynchronize();
    printf("limit %d, set %d, launch %d, synchronise %d\n", limit, set, launched, done);
    return limit != 100 << 10 && launched == CUDA_SUCCESS ? 0 : 1;
}
