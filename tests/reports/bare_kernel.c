/* bare_kernel function|kernel: a kernel without parameters, launched in every way that can be written, beside one that
 * has some and is given as the same kind of handle. */
#include "tests/reports/reports.h"

static CUfunction get(bool as_kernel, const char *name, CUlibrary library)
{
    CUkernel kernel;
    if (!as_kernel)
        return report_kernel(module, name);
    CHECK(cuLibraryGetKernel(&kernel, library, name));
    return (CUfunction)kernel;
}

int main(int argc, char **argv)
{
    bool as_kernel = argc > 1 && strcmp(argv[1], "kernel") == 0;
    CUlibrary library;
    CUstream stream;
    report_open();
    CUdeviceptr data = report_memory(4);
    unsigned count = 1, scale = 1, expected = 0;
    CHECK(cuLibraryLoadFromFile(&library, report_image(), NULL, NULL, 0, NULL, NULL, 0));
    CUfunction bare = get(as_kernel, "next_scale", library), scaled = get(as_kernel, "scaled", library);
    void *args[] = {&data, &count}, *none[] = {NULL};
    size_t size = 0;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &size, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < 900; i++) {
        CHECK(cuLaunchKernel(bare, 1, 1, 1, 1, 1, 1, 0, stream, i % 3 == 0 ? none : NULL, i % 3 == 1 ? extra : NULL));
        CHECK(cuLaunchKernel(scaled, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL));
        scale = scale * 3 + 1;
        expected = expected * 3 + scale;
    }
    CHECK(cuStreamSynchronize(stream));
    bool same = report_word(data) == expected;
    printf("%s\n", same ? "sum right" : "sum WRONG");
    return same ? 0 : 1;
}
