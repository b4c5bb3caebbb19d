/* Launches, functions, modules and libraries. */
#include "tests/sim/suite/tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static CUstream stream;
static CUdeviceptr data;

static void set_up(void)
{
    tap_context();
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    data = tap_words(64);
}

static CUresult shaped(CUfunction f, unsigned int gx, unsigned int gy, unsigned int bx, unsigned int bz,
                       unsigned int shared)
{
    unsigned int value = 1, count = 1;
    void *args[] = {&data, &value, &count};
    return cuLaunchKernel(f, gx, gy, 1, bx, 1, bz, shared, stream, args, NULL);
}

static void refusals(void)
{
    set_up();
    CUfunction step = tap_function("step");
    void *none[] = {&data, NULL, NULL};
    FAILS(CUDA_ERROR_INVALID_VALUE, shaped(step, 0, 1, 1, 1, 0));
    FAILS(CUDA_ERROR_INVALID_VALUE, shaped(step, 1, 65536, 1, 1, 0));
    FAILS(CUDA_ERROR_INVALID_VALUE, shaped(step, 1, 1, 2048, 1, 0));
    FAILS(CUDA_ERROR_INVALID_VALUE, shaped(step, 1, 1, 64, 64, 0));
    FAILS(CUDA_ERROR_INVALID_VALUE, shaped(step, 1, 1, 1, 65, 0));
    FAILS(CUDA_ERROR_INVALID_VALUE, shaped(step, 1, 1, 1, 1, 10 << 20));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(step, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
    FAILS(CUDA_ERROR_INVALID_VALUE, tap_launch(step, stream, none));
    FAILS(CUDA_ERROR_INVALID_HANDLE, shaped(NULL, 1, 1, 1, 1, 0));
    FAILS(CUDA_ERROR_INVALID_HANDLE, shaped((CUfunction)stream, 1, 1, 1, 1, 0));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernelEx(NULL, step, NULL, NULL));
    OK(cuStreamSynchronize(stream)); /* none of them sticks */
    EXPECT(tap_word(data) == 0);
    OK(shaped(step, 1, 1, 1, 1, 0));
    OK(cuStreamSynchronize(stream));
    EXPECT(tap_word(data) == 1);
}

static void contexts(void)
{
    CUcontext other, popped, primary = NULL;
    set_up();
    CUfunction step = tap_function("step");
    OK(cuCtxGetCurrent(&primary));
#if CUDA_VERSION >= 13000
    OK(cuCtxCreate(&other, NULL, 0, 0));
#else
    OK(cuCtxCreate(&other, 0, 0));
#endif
    /* The stream decides; the default stream of another context does not know the function. */
    FAILS(CUDA_ERROR_INVALID_HANDLE, tap_launch(step, NULL, NULL));
    OK(cuCtxPopCurrent(&popped));
    EXPECT(popped == other);
    OK(cuCtxGetCurrent(&popped));
    EXPECT(popped == primary);
    OK(cuCtxPopCurrent(&popped));
    FAILS(CUDA_ERROR_INVALID_CONTEXT, shaped(step, 1, 1, 1, 1, 0));
    OK(cuCtxPushCurrent(other));
    OK(cuCtxDestroy(other));
    FAILS(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy(other));
    FAILS(CUDA_ERROR_INVALID_CONTEXT, cuCtxPushCurrent(other));
}

static void arguments(void)
{
    set_up();
    CUfunction gaps = tap_function("gaps");
    unsigned int *flag = tap_mapped(1), count = 1;
    unsigned char small = 3;
    unsigned short middle = 4;
    double wide = 5;
    void *args[] = {&small, &data, &middle, &wide, &count};
    OK(tap_wait_for(flag, 1, data + 4, stream));
    OK(tap_launch(gaps, stream, args));
    small = 99; /* copied at the call */
    middle = 99;
    wide = 99;
    /* The same through a buffer laid out by hand. */
    unsigned char buffer[40];
    size_t size = sizeof(buffer), offset, length;
    memset(buffer, 0xff, sizeof(buffer));
    const void *values[] = {&(unsigned char){1}, &data, &(unsigned short){2}, &(double){7}, &count};
    for (size_t i = 0; i < 5; i++) {
        OK(cuFuncGetParamInfo(gaps, i, &offset, &length));
        memcpy(buffer + offset, values[i], length);
    }
    EXPECT(offset == 32 && length == 4);
    FAILS(CUDA_ERROR_INVALID_VALUE, cuFuncGetParamInfo(gaps, 5, &offset, &length));
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    OK(cuLaunchKernel(gaps, 1, 1, 1, 1, 1, 1, 0, stream, NULL, extra));
    memset(buffer, 0, sizeof(buffer));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(gaps, 1, 1, 1, 1, 1, 1, 0, stream, args, extra));
    size = 8;
    FAILS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(gaps, 1, 1, 1, 1, 1, 1, 0, stream, NULL, extra));
    tap_raise(flag, 1);
    OK(cuStreamSynchronize(stream));
    EXPECT(tap_word(data) == (3 + 256 * 4 + 5) * 5 + 1 + 256 * 2 + 7);
}

static void shared_limit(void)
{
    int value = 0;
    set_up();
    CUfunction f = tap_function("through_shared");
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f));
    EXPECT(value == 49152);
    OK(shaped(f, 1, 1, 1, 1, 49152));
    FAILS(CUDA_ERROR_INVALID_VALUE, shaped(f, 1, 1, 1, 1, 49153));
    OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000));
    OK(shaped(f, 1, 1, 1, 1, 100000));
    OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 4096));
    FAILS(CUDA_ERROR_INVALID_VALUE, shaped(f, 1, 1, 1, 1, 16384));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232449));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, -1));
    OK(cuStreamSynchronize(stream));
    EXPECT(tap_word(data) == 8);
}

/* Function handles and kernel handles: both launch, each answers only its own question. */
static void libraries(void)
{
    CUlibrary library;
    CUkernel kernel;
    CUfunction f;
    size_t offset, size;
    int is, told;
    unsigned int value = 1, count = 1;
    void *args[] = {&data, &value, &count};
    set_up();
    OK(cuLibraryLoadFromFile(&library, tap_module_path(), NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&kernel, library, "step"));
    FAILS(CUDA_ERROR_NOT_FOUND, cuLibraryGetKernel(&kernel, library, "no such"));
    OK(tap_launch((CUfunction)kernel, stream, args));
    OK(cuKernelGetFunction(&f, kernel));
    EXPECT((void *)f != (void *)kernel);
    OK(tap_launch(f, stream, args));
    OK(cuStreamSynchronize(stream));
    EXPECT(tap_word(data) == 4);
    OK(cuKernelGetParamInfo(kernel, 1, &offset, &size));
    EXPECT(offset == 8 && size == 4);
    FAILS(CUDA_ERROR_INVALID_HANDLE, cuFuncGetParamInfo((CUfunction)kernel, 1, &offset, &size));
    FAILS(CUDA_ERROR_INVALID_HANDLE, cuKernelGetParamInfo((CUkernel)f, 1, &offset, &size));
    OK(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100, kernel, 0));
    FAILS(CUDA_ERROR_INVALID_VALUE, shaped((CUfunction)kernel, 1, 1, 1, 1, 101));
    OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 200));
    OK(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 50, kernel, 0));
    OK(shaped((CUfunction)kernel, 1, 1, 1, 1, 200)); /* the function's own is in force */
    OK(cuFuncGetAttribute(&is, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f));
    OK(cuKernelGetAttribute(&told, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel, 0));
    EXPECT(is == 200 && told == 50);
    OK(cuLibraryUnload(library));
    FAILS(CUDA_ERROR_INVALID_HANDLE, tap_launch((CUfunction)kernel, stream, args));
    FAILS(CUDA_ERROR_INVALID_HANDLE, tap_launch(f, stream, args));
}

/* Every load has its own globals; unloading lets the work finish; handles come back with new meaning. */
static void modules(void)
{
    CUmodule one, two;
    CUfunction f, g;
    CUdeviceptr scale;
    size_t size;
    unsigned int count = 1, five = 5;
    void *args[] = {&data, &count};
    set_up();
    one = tap_module();
    two = tap_module();
    OK(cuModuleGetFunction(&f, one, "scaled"));
    OK(cuModuleGetFunction(&g, two, "scaled"));
    OK(cuModuleGetGlobal(&scale, &size, one, "scale"));
    EXPECT(size == 4);
    OK(cuMemcpyHtoD(scale, &five, 4));
    OK(cuCtxSynchronize());
    OK(tap_launch(f, stream, args));
    OK(tap_launch(g, stream, args));
    OK(cuModuleUnload(one));
    EXPECT(tap_word(data) == 16);
    FAILS(CUDA_ERROR_INVALID_HANDLE, tap_launch(f, stream, args));
    FAILS(CUDA_ERROR_INVALID_HANDLE, cuModuleUnload(one));
    CUfunction again;
    one = tap_module();
    OK(cuModuleGetFunction(&again, one, "fill"));
    EXPECT(again == f);
    FAILS(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&g, one, "no such"));
    FAILS(CUDA_ERROR_INVALID_IMAGE, cuModuleLoadData(&one, "// ptx text"));
    FAILS(CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad(&one, "/no/such.ptx"));
}

static void image(void)
{
    char path[4300];
    static unsigned char bytes[1 << 20];
    CUmodule module;
    CUfunction f;
    set_up();
    snprintf(path, sizeof(path), "%s.sim.so", tap_module_path());
    FILE *file = fopen(path, "rb");
    EXPECT(file && fread(bytes, 1, sizeof(bytes), file) > 0);
    if (file)
        fclose(file);
    OK(cuModuleLoadData(&module, bytes));
    OK(cuModuleGetFunction(&f, module, "step"));
}

/* Attributes 7 and 12 record events. */
static void launch_attributes(void)
{
    CUevent event, complete;
    unsigned int value = 1, count = 1, *flag;
    void *args[] = {&data, &value, &count};
    set_up();
    flag = tap_mapped(1);
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    OK(cuEventCreate(&complete, CU_EVENT_DISABLE_TIMING));
    CUlaunchAttribute attrs[4] = {{.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT},
                                  {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE},
                                  {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION},
                                  {.id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT}};
    attrs[0].value.programmaticEvent.event = event;
    attrs[1].value.cooperative = 1;
    attrs[2].value.programmaticStreamSerializationAllowed = 1;
    attrs[3].value.launchCompletionEvent.event = complete;
    CUlaunchConfig config = {
            .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1};
    config.hStream = stream;
    config.attrs = attrs;
    config.numAttrs = 4;
    OK(tap_wait_for(flag, 1, data + 4, stream));
    OK(cuLaunchKernelEx(&config, tap_function("step"), args, NULL));
    FAILS(CUDA_ERROR_NOT_READY, cuEventQuery(event));
    FAILS(CUDA_ERROR_NOT_READY, cuEventQuery(complete));
    tap_raise(flag, 1);
    OK(cuEventSynchronize(event));
    OK(cuEventSynchronize(complete));
    config.gridDimX = 100000;
    FAILS(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, cuLaunchKernelEx(&config, tap_function("step"), args, NULL));
    config.numAttrs = 1;
    attrs[0].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attrs[0].value.clusterDim.x = 3;
    attrs[0].value.clusterDim.y = attrs[0].value.clusterDim.z = 1;
    FAILS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernelEx(&config, tap_function("step"), args, NULL));
    OK(cuStreamSynchronize(stream));
    EXPECT(tap_word(data) == 1);
}

/* Reset takes streams, memory and modules away; the context handle comes back. */
static void reset(void)
{
    CUcontext before, after = NULL;
    set_up();
    OK(cuCtxGetCurrent(&before));
    CUfunction step = tap_function("step");
    OK(cuDevicePrimaryCtxReset(0));
    FAILS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuMemAlloc(&data, 4));
    OK(cuDevicePrimaryCtxRetain(&after, 0));
    OK(cuCtxSetCurrent(after));
    EXPECT(after == before);
    FAILS(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize(stream));
    FAILS(CUDA_ERROR_INVALID_HANDLE, tap_launch(step, NULL, NULL));
    const char *name;
    FAILS(CUDA_ERROR_INVALID_HANDLE, cuFuncGetName(&name, step));
}

static const struct tap_case cases[] = {
        {"bad launches are refused and leave no trace", NULL, refusals},
        {"current, foreign and destroyed contexts", NULL, contexts},
        {"arguments are copied at the call, from pointers or a buffer", NULL, arguments},
        {"the shared-memory limit in force decides", NULL, shared_limit},
        {"libraries and kernel handles", NULL, libraries},
        {"modules: own globals, unload, reused handles", NULL, modules},
        {"a module from an image in memory", NULL, image},
        {"launch attributes: events, cooperative, clusters", NULL, launch_attributes},
        {"primary context reset", NULL, reset},
};
TAP_MAIN(cases)
