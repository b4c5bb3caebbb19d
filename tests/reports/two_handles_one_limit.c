/* A kernel has two handles, the library's and the function's; both mean the same limit of dynamic shared memory, and
 * the one set last is in force. The function tells that one, the kernel what was set last through itself. */
#include "tests/reports/reports.h"

#define SHARED CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES

static void print_limits(CUkernel kernel, CUfunction function)
{
    int of_kernel = -1, of_function = -1;
    CHECK(cuKernelGetAttribute(&of_kernel, SHARED, kernel, device));
    CHECK(cuFuncGetAttribute(&of_function, SHARED, function));
    printf("kernel %d, function %d\n", of_kernel, of_function);
}

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
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    /* set through the function only, and lowered again where a launch through the kernel must be refused */
    CHECK(cuFuncSetAttribute(function, SHARED, 100 << 10));
    CHECK(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 60 << 10, stream, args, NULL));
    expected = expected * 7 + value;
    CHECK(cuFuncSetAttribute(function, SHARED, 8 << 10));
    CUresult code = cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 60 << 10, stream, args, NULL);
    printf("too much: %d\n", (int)code);
    print_limits(kernel, function);
    for (unsigned i = 0; i < 30; i++) {
        CHECK(cuKernelSetAttribute(SHARED, 64 << 10, kernel, device));
        if (cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 60 << 10, stream, args, NULL) == CUDA_SUCCESS)
            expected = expected * 7 + value;
        else
            refused++;
        print_limits(kernel, function);
        CHECK(cuFuncSetAttribute(function, SHARED, 16 << 10));
        print_limits(kernel, function);
        /* the driver is brought to the last limit here, and the kernel's own answer stays */
        for (unsigned handle = 0; i % 10 == 9 && handle < 2; handle++) {
            CUfunction used = handle == 0 ? (CUfunction)kernel : function;
            printf("too much: %d\n", (int)cuLaunchKernel(used, 1, 1, 1, 1, 1, 1, 60 << 10, stream, args, NULL));
            print_limits(kernel, function);
        }
        CHECK(cuStreamSynchronize(stream));
    }
    /* other code is unloaded, by which what is known of kernels that were never launched ends */
    CUlibrary other;
    CUmodule gone;
    CHECK(cuLibraryLoadFromFile(&other, report_image(), NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cuLibraryGetKernel(&kernel, other, "through_shared"));
    CHECK(cuKernelGetFunction(&function, kernel));
    CHECK(cuKernelSetAttribute(SHARED, 64 << 10, kernel, device));
    CHECK(cuFuncSetAttribute(function, SHARED, 16 << 10));
    CHECK(cuModuleLoad(&gone, report_image()));
    CHECK(cuModuleUnload(gone));
    print_limits(kernel, function);
    bool same = report_word(data) == expected;
    printf("%u refused, %s\n", refused, same ? "sum right" : "sum WRONG");
    return same && refused == 0 ? 0 : 1;
}
