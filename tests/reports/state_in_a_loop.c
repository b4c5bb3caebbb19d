/* state_in_a_loop CALL: sets something to the value that it has already, or asks for a known kernel's function, before
 * every twenty launches of a known loop (libraries do); the loop is replayed all the same (its statistics tell). */
#include "tests/reports/reports.h"

int main(int argc, char **argv)
{
    const char *call = argc > 1 ? argv[1] : "none";
    report_open();
    CUfunction step = report_kernel(module, "step");
    CUdeviceptr data = report_memory(4);
    CUstream stream;
    CUcontext retained;
    CUlibrary library;
    CUkernel kernel;
    unsigned expected = 0;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuLibraryLoadFromFile(&library, report_image(), NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cuLibraryGetKernel(&kernel, library, "step"));
    for (unsigned i = 0; i < 4000; i++) {
        if (i % 20 == 0) {
            if (strcmp(call, "cache") == 0)
                CHECK(cuFuncSetCacheConfig(step, CU_FUNC_CACHE_PREFER_L1));
            else if (strcmp(call, "context-cache") == 0)
                CHECK(cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_L1));
            else if (strcmp(call, "limit") == 0)
                CHECK(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 1 << 20));
            else if (strcmp(call, "retain") == 0) {
                CHECK(cuDevicePrimaryCtxRetain(&retained, device));
                CHECK(cuDevicePrimaryCtxRelease(device));
            } else if (strcmp(call, "unload") == 0) {
                CUmodule other;
                CHECK(cuModuleLoad(&other, report_image()));
                CHECK(cuModuleUnload(other));
            } else if (strcmp(call, "carveout") == 0)
                CHECK(cuFuncSetAttribute(step, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, i / 20 % 2 * 100));
            else if (strcmp(call, "function") == 0)
                CHECK(cuKernelGetFunction(&step, kernel));
        }
        CHECK(report_step(step, stream, data, i));
        expected = expected * 3 + i;
    }
    CHECK(cuCtxSynchronize());
    bool same = report_word(data) == expected;
    printf("%s\n", same ? "sum right" : "sum WRONG");
    return same ? 0 : 1;
}
