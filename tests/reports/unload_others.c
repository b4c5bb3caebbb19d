/* Kernels got in every way there is are launched in turn; modules and libraries come and go meanwhile, also the ones
 * that some of the kernels are of, whose handles then come back for other kernels. What is unloaded ends, the rest is
 * replayed (the statistics tell); each keeps its own limit of shared memory. */
#include "tests/reports/reports.h"

#define SHARED CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES

enum { ROUNDS = 60, WAYS = 6 };

struct code {
    CUmodule module; /* one of both */
    CUlibrary library;
    CUfunction function;
    bool fills; /* data = value; else data = data * 3 + value */
};

static CUstream streams[WAYS]; /* one for each way, so that no chunk mixes them */
static CUdeviceptr data;
static unsigned expected[WAYS];

/* Loads code, and gets the kernel from it in one of the ways. */
static struct code load(unsigned way, bool fills)
{
    static char image[4 << 20];
    struct code code = {.fills = fills};
    const char *name = fills ? "fill" : "step";
    CUkernel kernel;
    CUmodule inner;
    if (image[0] == '\0') { /* what cuModuleLoadData reads */
        char path[3 * PATH_MAX];
        snprintf(path, sizeof path, "%s.sim.so", report_image());
        FILE *file = fopen(access(path, R_OK) == 0 ? path : report_image(), "rb");
        if (file == NULL || fread(image, 1, sizeof image - 1, file) == 0)
            _exit(97);
        fclose(file);
    }
    if (way == 0)
        CHECK(cuModuleLoad(&code.module, report_image()));
    else if (way == 1)
        CHECK(cuModuleLoadData(&code.module, image));
    else
        CHECK(cuLibraryLoadFromFile(&code.library, report_image(), NULL, NULL, 0, NULL, NULL, 0));
    if (way <= 1) {
        CHECK(cuModuleGetFunction(&code.function, code.module, name));
        return code;
    }
    CHECK(cuLibraryGetKernel(&kernel, code.library, name));
    if (way == 2) {
        code.function = (CUfunction)kernel;
    } else if (way == 3) {
        CHECK(cuKernelGetFunction(&code.function, kernel));
    } else {
        CHECK(cuLibraryGetModule(&inner, code.library));
        CHECK(cuModuleGetFunction(&code.function, inner, name));
        /* way 5: its other handle is known as well */
        if (way == 5)
            CHECK(cuKernelGetFunction(&code.function, kernel));
    }
    return code;
}

static void unload(const struct code *code)
{
    if (code->library != NULL)
        CHECK(cuLibraryUnload(code->library));
    else
        CHECK(cuModuleUnload(code->module));
}

static void work(const struct code *codes, unsigned round)
{
    for (unsigned i = 0; i < 20; i++)
        for (unsigned way = 0; way < WAYS; way++) {
            unsigned value = 100 * round + i + way;
            CHECK(report_step(codes[way].function, streams[way], data + 4 * way, value));
            expected[way] = codes[way].fills ? value : expected[way] * 3 + value;
        }
}

int main(void)
{
    struct code codes[WAYS];
    unsigned back = 0;
    report_open();
    data = report_memory(4 * WAYS);
    for (unsigned way = 0; way < WAYS; way++)
        CHECK(cuStreamCreate(&streams[way], CU_STREAM_NON_BLOCKING));
    CUfunction kept = report_kernel(module, "through_shared");
    unsigned value = 1, count = 1;
    void *args[] = {&data, &value, &count};
    for (unsigned way = 0; way < WAYS; way++)
        codes[way] = load(way, false);
    for (unsigned round = 0; round < ROUNDS; round++) {
        work(codes, round);
        if (round % 3 == 2) { /* one that is used; it may come back with the same handles */
            unsigned way = round / 3 % WAYS;
            struct code old = codes[way];
            unload(&old);
            codes[way] = load(way, round % 2 == 0);
            back += codes[way].function == old.function;
        } else { /* one that is not */
            struct code other = load(round % WAYS, false);
            CHECK(report_step(other.function, streams[round % WAYS], data + 4 * (round % WAYS), 1));
            expected[round % WAYS] = expected[round % WAYS] * 3 + 1;
            unload(&other);
        }
    }
    CHECK(cuFuncSetAttribute(kept, SHARED, 100 << 10));
    CHECK(cuLaunchKernel(kept, 1, 1, 1, 1, 1, 1, 90 << 10, streams[0], args, NULL));
    CHECK(cuLaunchKernel(kept, 1, 1, 1, 1, 1, 1, 90 << 10, streams[0], args, NULL));
    CHECK(cuFuncSetAttribute(kept, SHARED, 16 << 10));
    struct code other = load(0, false);
    unload(&other);
    int limit = 0;
    CHECK(cuFuncGetAttribute(&limit, SHARED, kept));
    CUresult launched = cuLaunchKernel(kept, 1, 1, 1, 1, 1, 1, 90 << 10, streams[0], args, NULL);
    CHECK(cuCtxSynchronize());
    bool right = limit == 16 << 10 && launched == CUDA_ERROR_INVALID_VALUE;
    for (unsigned way = 1; way < WAYS; way++) /* the first word was written by through_shared as well */
        right = right && report_word(data + 4 * way) == expected[way];
    printf("limit %d, launch %d, handles back %s, sums %s\n", limit, launched, back > 0 ? "yes" : "no",
           right ? "right" : "WRONG");
    return right ? 0 : 1;
}
