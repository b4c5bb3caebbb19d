/* Kernels of code that launches kernels itself go out one by one, at once; those of other code are replayed beside them
 * (the statistics tell). The code is told by the device runtime's kernels or variable, for every way to get a kernel,
 * and what was told ends with the code: its handles come back for other code. The argument names the image. */
#include "tests/reports/reports.h"

enum { ROUNDS = 60, LAUNCHES = 20, WAYS = 4 };

static CUfunction get(unsigned way, const char *image, CUmodule *loaded, CUlibrary *library)
{
    CUkernel kernel;
    CUfunction function;
    CUmodule inner;
    if (way == 0) {
        CHECK(cuModuleLoad(loaded, image));
        return report_kernel(*loaded, "step");
    }
    CHECK(cuLibraryLoadFromFile(library, image, NULL, NULL, 0, NULL, NULL, 0));
    if (way == 1) {
        CHECK(cuLibraryGetModule(&inner, *library));
        return report_kernel(inner, "step");
    }
    CHECK(cuLibraryGetKernel(&kernel, *library, "step"));
    if (way == 2)
        return (CUfunction)kernel;
    CHECK(cuKernelGetFunction(&function, kernel));
    return function;
}

int main(int argc, char **argv)
{
    char image[3 * PATH_MAX];
    if (argc != 2)
        return 2;
    report_open();
    snprintf(image, sizeof image, "%s", report_image());
    char *folder = dirname(image);
    snprintf(folder + strlen(folder), PATH_MAX, "/../tests/reports/%s", argv[1]);
    CUdeviceptr data = report_memory(8);
    CUstream streams[2];
    CHECK(cuStreamCreate(&streams[0], CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&streams[1], CU_STREAM_NON_BLOCKING));
    CUfunction plain = report_kernel(module, "step");
    unsigned expected = 0;
    for (unsigned turn = 0; turn < 2 * WAYS; turn++) {
        CUmodule loaded = NULL;
        CUlibrary library = NULL;
        CUfunction other = get(turn / 2, turn % 2 == 0 ? report_image() : image, &loaded, &library);
        for (unsigned i = 0; i < ROUNDS * LAUNCHES; i++) {
            CHECK(report_step(other, streams[0], data, i));
            CHECK(report_step(plain, streams[1], data + 4, i));
            expected = expected * 3 + i;
            if (i % LAUNCHES == LAUNCHES - 1)
                CHECK(cuCtxSynchronize());
        }
        if (loaded != NULL)
            CHECK(cuModuleUnload(loaded));
        else
            CHECK(cuLibraryUnload(library));
    }
    bool same = report_word(data) == expected && report_word(data + 4) == expected;
    printf("%u launches nested, %s\n", WAYS * ROUNDS * LAUNCHES, same ? "results right" : "results WRONG");
    return same ? 0 : 1;
}
