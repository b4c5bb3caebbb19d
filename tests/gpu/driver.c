/* Driver-API tests: modules, libraries, contexts and ways to pass arguments. Conventions as in gpu.h. */
#include "driver.h"
#include <pthread.h>
#include <unistd.h>

/* Modules go with work pending and others come, until a function handle has the value of one that is gone. */
static int modules(void)
{
    CUdeviceptr state = zeros(256);
    CUfunction seen[40];
    int repeated = 0;
    for (int k = 0; k < 40; k++) {
        CUmodule module;
        CUfunction f = load(&module, k % 2 ? STEP_PTX("5") : STEP_PTX("7"));
        for (int j = 0; j < k; j++)
            repeated += seen[j] == f;
        seen[k] = f;
        train(f, NULL, state, 10 + k % 3);
        OK(cuModuleUnload(module));
        if (k % 10 == 9)
            print_hash("state", state, 256);
    }
    printf("# function handles repeated %d times\n", repeated);
    return 0;
}

static CUcontext unloader_context;
static void *unloads(void *nothing)
{
    OK(cuCtxSetCurrent(unloader_context));
    CUdeviceptr own = zeros(256);
    CUstream stream;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int k = 0; k < 50; k++) {
        CUmodule module;
        CUfunction f = load(&module, STEP_PTX("11"));
        train(f, stream, own, 3);
        OK(cuModuleUnload(module));
    }
    print_hash("unloader", own, 256);
    return nothing;
}

/* One thread loads and unloads modules while another launches from a module of its own. */
static int unload_race(void)
{
    CUmodule module;
    CUfunction f = load(&module, STEP_PTX("5"));
    CUdeviceptr state = zeros(256);
    CUstream stream;
    pthread_t thread;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuCtxGetCurrent(&unloader_context));
    pthread_create(&thread, NULL, unloads, NULL);
    train(f, stream, state, 1500);
    pthread_join(thread, NULL);
    print_hash("state", state, 256);
    return 0;
}

/* Kernel handles of a library, given as functions, and as functions asked for. */
static int libraries(void)
{
    CUdeviceptr state = zeros(256);
    for (int k = 0; k < 10; k++) {
        CUlibrary library;
        CUkernel kernel;
        CUfunction f;
        OK(cuLibraryLoadData(&library, STEP_PTX("9"), NULL, NULL, 0, NULL, NULL, 0));
        OK(cuLibraryGetKernel(&kernel, library, "step"));
        train((CUfunction)kernel, NULL, state, 20);
        OK(cuKernelGetFunction(&f, kernel));
        train(f, NULL, state, 20);
        OK(cuLibraryUnload(library));
    }
    print_hash("state", state, 256);
    return 0;
}

/* Arguments given as one buffer, as pointers, and in turn; the buffer is overwritten after each call. */
static int argument_buffer(void)
{
    CUmodule module;
    CUfunction f = load(&module, STEP_PTX("5"));
    CUdeviceptr state = zeros(256);
    struct {
        CUdeviceptr state;
        unsigned a;
    } block;
    for (unsigned k = 0; k < 4000; k++) {
        size_t size = 12;
        void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &block, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                         CU_LAUNCH_PARAM_END};
        block.state = state;
        block.a = k % 25;
        if (k % 5 == 3)
            OK(launch(f, NULL, state, k));
        else
            OK(cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, extra));
        memset(&block, 0xee, sizeof block);
    }
    print_hash("state", state, 256);
    return 0;
}

/* Two contexts, each with its own module, stream and memory, current in turn. */
static int two_contexts(void)
{
    CUcontext contexts[2], current;
    CUfunction f[2];
    CUmodule module[2];
    CUstream stream[2];
    CUdeviceptr state[2];
    for (int c = 0; c < 2; c++) {
        contexts[c] = new_context();
        f[c] = load(&module[c], c ? STEP_PTX("5") : STEP_PTX("7"));
        OK(cuStreamCreate(&stream[c], 0));
        state[c] = zeros(256);
    }
    for (int k = 0; k < 200; k++) {
        int c = k % 2;
        OK(cuCtxSetCurrent(contexts[c]));
        train(f[c], k % 4 < 2 ? stream[c] : NULL, state[c], 2);
    }
    CODE(launch(f[0], NULL, state[0], 1)); /* a function of the other context */
    CODE(launch(f[1], stream[0], state[1], 1));
    OK(cuCtxGetCurrent(&current));
    printf("current kept: %s\n", current == contexts[1] ? "yes" : "no");
    for (int c = 0; c < 2; c++) {
        OK(cuCtxPushCurrent(contexts[c]));
        print_hash("state", state[c], 256);
        train(f[c], stream[c], state[c], 5);
        OK(cuCtxPopCurrent(&current));
        OK(cuCtxDestroy(contexts[c])); /* with work pending */
    }
    return 0;
}

static CUcontext home;
static CUfunction home_step;
static CUstream home_stream;
static CUdeviceptr home_state, home_other;

static void *without_context(void *nothing)
{
    CUcontext current = (CUcontext)1;
    CODE(launch(home_step, home_stream, home_other, 1));
    OK(cuCtxGetCurrent(&current));
    printf("no context: %s\n", current ? "no" : "yes");
    OK(cuCtxSetCurrent(home));
    CODE(cuStreamSynchronize(home_stream));
    OK(cuCtxGetCurrent(&current));
    printf("home: %s\n", current == home ? "yes" : "no");
    return nothing;
}

static void *pushes(void *nothing)
{
    CUcontext second = new_context(), popped;
    CUstream stream;
    OK(cuCtxSetCurrent(home));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    int wrong = 0;
    for (int k = 0; k < 500; k++) {
        OK(launch(home_step, stream, home_other, (unsigned)k % 10));
        OK(cuCtxPushCurrent(second));
        OK(cuCtxPopCurrent(&popped));
        wrong += popped != second;
    }
    OK(cuCtxGetCurrent(&popped));
    wrong += popped != home;
    OK(cuStreamSynchronize(stream));
    printf("stack wrong %d\n", wrong);
    OK(cuCtxDestroy(second));
    return nothing;
}

/* Threads without a context, and with contexts pushed and popped between launches. */
static int thread_contexts(void)
{
    CUmodule module;
    pthread_t thread;
    OK(cuCtxGetCurrent(&home));
    home_step = load(&module, STEP_PTX("5"));
    OK(cuStreamCreate(&home_stream, CU_STREAM_NON_BLOCKING));
    home_state = zeros(256);
    home_other = zeros(256);
    train(home_step, home_stream, home_state, 50);
    pthread_create(&thread, NULL, without_context, NULL);
    pthread_join(thread, NULL);
    pthread_create(&thread, NULL, pushes, NULL);
    train(home_step, home_stream, home_state, 300);
    pthread_join(thread, NULL);
    print_hash("state", home_state, 256);
    print_hash("other", home_other, 256);
    return 0;
}

/* The primary context is reset with work pending, and used again. */
static int primary_reset(void)
{
    for (int life = 0; life < 4; life++) {
        CUcontext context;
        CUmodule module;
        OK(cuDevicePrimaryCtxRetain(&context, 0));
        OK(cuCtxSetCurrent(context));
        CUfunction f = load(&module, life % 2 ? STEP_PTX("5") : STEP_PTX("7"));
        CUdeviceptr state = zeros(256);
        train(f, NULL, state, 40);
        print_hash("state", state, 256);
        train(f, NULL, state, 40);
        OK(cuDevicePrimaryCtxReset(0));
        CODE(cuDevicePrimaryCtxRelease(0));
    }
    return 0;
}

static int refused(void)
{
    CUmodule module;
    CUfunction f = load(&module, STEP_PTX("5"));
    CUdeviceptr state = zeros(256);
    unsigned a = 1;
    void *parameters[] = {&state, &a};
    CUstream gone = NULL;
    for (int round = 0; round < 5; round++) {
        train(f, NULL, state, 5);
        CODE(cuLaunchKernel(f, 0, 1, 1, 64, 1, 1, 0, NULL, parameters, NULL));
        CODE(cuLaunchKernel(f, 1, 1, 1, 2048, 1, 1, 0, NULL, parameters, NULL));
        CODE(cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 10 << 20, NULL, parameters, NULL));
        CODE(cuLaunchKernel(f, 1, 70000, 1, 64, 1, 1, 0, NULL, parameters, NULL));
        CODE(cuLaunchKernel(NULL, 1, 1, 1, 64, 1, 1, 0, NULL, parameters, NULL));
        CODE(cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, gone, NULL, NULL));
        CODE(cuMemsetD32Async(state + 1, 1, 4, NULL));
        CODE(cuMemcpyDtoDAsync(state, 16, 64, NULL));
        train(f, NULL, state, 2);
        CODE(cuCtxSynchronize());
    }
    print_hash("state", state, 256);
    return 0;
}

/* Every kind of memset and of device copy between launches. */
static int copies(void)
{
    CUmodule module;
    CUfunction f = load(&module, STEP_PTX("5"));
    CUdeviceptr a = zeros(4096), b = zeros(4096);
    CUstream stream;
    void *pinned;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemHostAlloc(&pinned, 4096, 0));
    memset(pinned, 0x3c, 4096);
    for (unsigned k = 0; k < 500; k++) {
        OK(cuMemsetD8Async(a + 3, (unsigned char)k, 61, stream));
        OK(launch(f, stream, a, k % 10));
        OK(cuMemsetD16Async(b + 2, (unsigned short)(k % 20), 30, stream));
        OK(cuMemsetD32Async(b + 64, k % 30, 20, stream));
        OK(cuMemcpyDtoDAsync(a + 512, b, 256, stream));
        OK(cuMemcpyAsync(a + 768, a + 512, 256 - k % 4, stream));
        OK(cuMemsetD2D8Async(b + 1024, 64, (unsigned char)(k % 7), 32, 4, stream));
        OK(cuMemsetD2D32Async(b + 1536, 64, k % 7, 8, 4, stream));
        OK(cuMemcpyHtoDAsync(b + 2048, (char *)pinned + k % 8, 128, stream));
        OK(launch(f, stream, b, 3));
        OK(cuMemcpyDtoDAsync(b + 3000, a + 100, 700, stream));
        CUDA_MEMCPY2D plane = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                               .srcDevice = a,
                               .srcPitch = 64,
                               .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                               .dstDevice = a + 2048,
                               .dstPitch = 128,
                               .WidthInBytes = 64,
                               .Height = 8};
        OK(cuMemcpy2DAsync(&plane, stream));
        OK(cuMemcpyDtoD(a + 1024, b,
                        512)); /* the NULL stream does not wait for this stream: only ever the same bytes */
        OK(cuStreamSynchronize(stream));
        OK(cuMemsetD8(a + 1024, 0, 512));
    }
    print_hash("a", a, 4096);
    print_hash("b", b, 4096);
    return 0;
}

/* Attributes that make a launch record an event: the event must really stand for the launch. */
static int event_attributes(void)
{
    CUmodule module;
    CUfunction f = load(&module, STEP_PTX("5"));
    CUdeviceptr state = zeros(256);
    CUevent event;
    CUstream stream, other;
    unsigned a;
    void *parameters[] = {&state, &a};
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CUlaunchAttribute attribute;
    memset(&attribute, 0x5a, sizeof attribute);
    CUlaunchConfig config = {.gridDimX = 1,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 64,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .hStream = stream,
                             .attrs = &attribute};
    for (unsigned k = 0; k < 2000; k++) {
        int recording = k % 4 == 3;
        attribute.id = recording ? CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT : CU_LAUNCH_ATTRIBUTE_PRIORITY;
        memset(&attribute.value, (int)k, sizeof attribute.value);
        if (recording) {
            attribute.value.programmaticEvent.event = event;
            attribute.value.programmaticEvent.flags = 0;
            attribute.value.programmaticEvent.triggerAtBlockStart = 0;
        } else {
            attribute.value.priority = 0;
        }
        config.numAttrs = 1;
        config.hStream = k % 8 < 4 ? stream : other;
        a = k % 20;
        OK(cuLaunchKernelEx(&config, f, parameters, NULL));
        if (recording)
            OK(cuStreamWaitEvent(k % 8 < 4 ? other : stream, event, 0));
    }
    OK(cuStreamSynchronize(stream));
    OK(cuStreamSynchronize(other));
    print_hash("state", state, 256);
    return 0;
}

/* The event of a launch that waits in its stream is not complete before the launch is: dropping the attribute shows. */
static int event_pending(void)
{
    static const CUlaunchAttributeID ids[] = {CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT,
                                              CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT};
    CUmodule module;
    CUfunction f = load(&module, STEP_PTX("5"));
    CUdeviceptr state = zeros(256), flag;
    CUevent event;
    CUstream stream;
    volatile unsigned *host;
    unsigned a = 3;
    void *parameters[] = {&state, &a};
    int early = 0, never = 0;
    OK(cuMemHostAlloc((void **)&host, 4, CU_MEMHOSTALLOC_DEVICEMAP));
    OK(cuMemHostGetDevicePointer(&flag, (void *)host, 0));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    for (int k = 0; k < 100; k++) {
        CUlaunchAttribute attribute = {.id = ids[k % 2]};
        CUlaunchConfig config = {.gridDimX = 1,
                                 .gridDimY = 1,
                                 .gridDimZ = 1,
                                 .blockDimX = 64,
                                 .blockDimY = 1,
                                 .blockDimZ = 1,
                                 .hStream = stream,
                                 .attrs = &attribute,
                                 .numAttrs = 1};
        if (k % 2)
            attribute.value.launchCompletionEvent.event = event;
        else
            attribute.value.programmaticEvent.event = event;
        *host = 0;
        train(f, stream, state, 2);
        OK(cuStreamWaitValue32(stream, flag, 1, CU_STREAM_WAIT_VALUE_GEQ));
        train(f, stream, state, 1);
        OK(cuLaunchKernelEx(&config, f, parameters, NULL));
        early += cuEventQuery(event) != CUDA_ERROR_NOT_READY;
        *host = 1;
        OK(cuEventSynchronize(event));
        never += cuEventQuery(event) != CUDA_SUCCESS;
        OK(cuStreamSynchronize(stream));
    }
    printf("early %d, never %d\n", early, never);
    print_hash("state", state, 256);
    return early || never;
}

static const struct test tests[] = {
        {"modules", 0, modules},
        {"unload_race", 0, unload_race},
        {"libraries", 0, libraries},
        {"argument_buffer", 0, argument_buffer},
        {"two_contexts", 1, two_contexts},
        {"thread_contexts", 0, thread_contexts},
        {"primary_reset", 1, primary_reset},
        {"refused", 0, refused},
        {"copies", 0, copies},
        {"event_attributes", 0, event_attributes},
        {"event_pending", 0, event_pending},
};
TESTS_MAIN(tests)
