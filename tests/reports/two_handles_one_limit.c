/* two_handles_one_limit SEED: a kernel has two handles, the library's and the function's, and one limit of dynamic
 * shared memory. What is set through the function is in force whatever is set through the kernel, before or after; the
 * function tells what is in force, the kernel what was set through itself (cuKernelSetAttribute in cuda.h). Random
 * calls through both, launches, and unloading of other code; each answer is held against that rule. */
#include "tests/reports/reports.h"

#define SHARED CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
#define LIVES 12
#define CALLS 150

static unsigned long long state;

static unsigned pick(unsigned n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % n;
}

static unsigned wrong;

static void expect(const char *what, int value, int expected)
{
    if (value != expected && wrong++ < 20)
        printf("%s: %d, not %d\n", what, value, expected);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {4 << 10, 16 << 10, 48 << 10, 64 << 10, 100 << 10, 200 << 10};
    state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    report_open();
    CUdeviceptr data = report_memory(4);
    CUstream stream;
    unsigned value = 1, count = 1, expected = 0, refused = 0;
    void *args[] = {&data, &value, &count};
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned life = 0; life < LIVES; life++) {
        CUlibrary library;
        CUkernel kernel;
        CUfunction function;
        CHECK(cuLibraryLoadFromFile(&library, report_image(), NULL, NULL, 0, NULL, NULL, 0));
        CHECK(cuLibraryGetKernel(&kernel, library, "through_shared"));
        CHECK(cuKernelGetFunction(&function, kernel));
        CUfunction handles[] = {(CUfunction)kernel, function};
        int in_force, told, is;
        bool own = false;
        /* in some lives no launch tells the shim to which library the kernel belongs */
        unsigned ways = life % 3 == 0 ? 4 : 8, setters = life % 2 == 0 ? 2 : 1;
        CHECK(cuFuncGetAttribute(&in_force, SHARED, function));
        CHECK(cuKernelGetAttribute(&told, SHARED, kernel, device));
        for (unsigned i = 0; i < CALLS; i++) {
            int size = sizes[pick(6)];
            unsigned way = pick(ways);
            if (way == 0 && pick(setters) == 0 && i > CALLS / 4) {
                CHECK(cuFuncSetAttribute(function, SHARED, size));
                in_force = size;
                own = true;
            } else if (way <= 1) {
                CHECK(cuKernelSetAttribute(SHARED, size, kernel, device));
                told = size;
                in_force = own ? in_force : size;
            } else if (way == 2) {
                CHECK(cuFuncGetAttribute(&is, SHARED, function));
                expect("function", is, in_force);
                CHECK(cuKernelGetAttribute(&is, SHARED, kernel, device));
                expect("kernel", is, told);
            } else if (way == 3 && pick(8) == 0) {
                CUmodule gone; /* what is known of kernels whose library is not known ends */
                CHECK(cuModuleLoad(&gone, report_image()));
                CHECK(cuModuleUnload(gone));
            } else if (way > 3) {
                CUresult code = cuLaunchKernel(handles[way % 2], 1, 1, 1, 1, 1, 1, (unsigned)size, stream, args, NULL);
                expect("launch", code, size <= in_force ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
                if (code == CUDA_SUCCESS)
                    expected = expected * 7 + value;
                else
                    refused++;
            }
        }
        CHECK(cuStreamSynchronize(stream));
        CHECK(cuLibraryUnload(library));
    }
    bool same = report_word(data) == expected;
    printf("%u refused, %u wrong, %s\n", refused, wrong, same ? "sum right" : "sum WRONG");
    return same && wrong == 0 ? 0 : 1;
}
