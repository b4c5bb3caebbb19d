/* What the driver-API tests share: codes, kernels as PTX text, and a device to begin with. Conventions as in gpu.h. */
#ifndef AUTOGRAPH_GPU_DRIVER_H
#define AUTOGRAPH_GPU_DRIVER_H

#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SKIP 77

static inline const char *code_name(CUresult code)
{
    const char *name = "unknown";
    cuGetErrorName(code, &name);
    return name;
}

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        CUresult ok_code = (call);                                                                                     \
        if (ok_code != CUDA_SUCCESS) {                                                                                 \
            printf("%s:%d: %s\n", __FILE__, __LINE__, code_name(ok_code));                                             \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)
#define CODE(call) printf("%s -> %s\n", #call, code_name(call))

/* step(state, a): state[i] = (state[i] * FACTOR + a) ^ i; FACTOR is put in by the caller, so that images differ. */
#define STEP_PTX(factor)                                                                                               \
    ".version 7.0\n.target sm_70\n.address_size 64\n"                                                                  \
    ".visible .entry step(.param .u64 state, .param .u32 a)\n{\n"                                                      \
    ".reg .b32 %r<6>;\n.reg .b64 %rd<5>;\n"                                                                            \
    "ld.param.u64 %rd1, [state];\nld.param.u32 %r1, [a];\n"                                                            \
    "cvta.to.global.u64 %rd2, %rd1;\nmov.u32 %r2, %tid.x;\nmul.wide.u32 %rd3, %r2, 4;\nadd.s64 %rd4, %rd2, %rd3;\n"    \
    "ld.global.u32 %r3, [%rd4];\nmad.lo.s32 %r4, %r3, " factor ", %r1;\nxor.b32 %r5, %r4, %r2;\n"                      \
    "st.global.u32 [%rd4], %r5;\nret;\n}\n"

static inline CUcontext new_context(void)
{
    CUcontext context;
#if CUDA_VERSION >= 13000
    OK(cuCtxCreate(&context, NULL, 0, 0));
#else
    OK(cuCtxCreate(&context, 0, 0));
#endif
    return context;
}

static inline CUdeviceptr zeros(size_t bytes)
{
    CUdeviceptr p;
    OK(cuMemAlloc(&p, bytes));
    OK(cuMemsetD8(p, 0, bytes));
    OK(cuCtxSynchronize());
    return p;
}

static inline void print_hash(const char *what, CUdeviceptr p, size_t bytes)
{
    unsigned char host[4096];
    uint64_t value = 1469598103934665603ull;
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH(host, p, bytes));
    for (size_t k = 0; k < bytes; k++)
        value = (value ^ host[k]) * 1099511628211ull;
    printf("%s %016llx\n", what, (unsigned long long)value);
}

static inline CUfunction load(CUmodule *module, const char *image)
{
    CUfunction f;
    OK(cuModuleLoadData(module, image));
    OK(cuModuleGetFunction(&f, *module, "step"));
    return f;
}

static inline CUresult launch(CUfunction f, CUstream stream, CUdeviceptr state, unsigned a)
{
    void *parameters[] = {&state, &a};
    return cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, stream, parameters, NULL);
}

static inline void train(CUfunction f, CUstream stream, CUdeviceptr state, int rounds)
{
    for (int r = 0; r < rounds; r++)
        for (unsigned k = 0; k < 20; k++)
            OK(launch(f, stream, state, k));
}

struct test {
    const char *name;
    int own_context; /* the test makes what contexts it needs */
    int (*run)(void);
};

static inline int run_tests(int argc, char **argv, const struct test *tests, size_t count)
{
    const char *name = argc > 1 ? argv[1] : "";
    setvbuf(stdout, NULL, _IONBF, 0);
    for (size_t k = 0; k < count; k++) {
        if (!strcmp(name, "list")) {
            printf("%s\n", tests[k].name);
        } else if (!strcmp(name, tests[k].name)) {
            OK(cuInit(0));
            if (!tests[k].own_context)
                new_context();
            return tests[k].run();
        }
    }
    return strcmp(name, "list") ? 2 : 0;
}

#define TESTS_MAIN(tests)                                                                                              \
    int main(int argc, char **argv)                                                                                    \
    {                                                                                                                  \
        return run_tests(argc, argv, tests, sizeof tests / sizeof *tests);                                             \
    }

#endif
