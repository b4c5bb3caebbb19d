/* Driver-API tests: two handles of one kernel, counts of the primary context, kernels that stand in for others,
 * captures beside unloading, calls inside host functions.
 */
#include "driver.h"
#include <pthread.h>
#include <unistd.h>

#define SHARED_LIMIT CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES

static CUresult launch_shared(CUfunction f, CUdeviceptr state, unsigned a, unsigned shared)
{
    void *parameters[] = {&state, &a};
    return cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, shared, NULL, parameters, NULL);
}

/* One kernel has three handles: of the library, the function asked from it, and the one of the library's module. Which
 * of them share a limit of shared memory is the driver's to say; what each launch then answers follows from it.
 */
static int one_limit(void)
{
    static const unsigned sizes[] = {64 << 10, 16 << 10, 100 << 10, 4 << 10, 200 << 10, 48 << 10};
    CUdeviceptr state = zeros(256);
    CUlibrary library;
    CUkernel kernel;
    CUmodule module;
    CUfunction handles[3];
    CUdevice device;
    OK(cuCtxGetDevice(&device));
    OK(cuLibraryLoadData(&library, STEP_PTX("9"), NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&kernel, library, "step"));
    OK(cuKernelGetFunction(&handles[1], kernel));
    OK(cuLibraryGetModule(&module, library));
    OK(cuModuleGetFunction(&handles[2], module, "step"));
    handles[0] = (CUfunction)kernel;
    printf("# function and module's function are %s\n", handles[1] == handles[2] ? "one" : "two");
    for (int h = 0; h < 3; h++)
        train(handles[h], NULL, state, 10);
    for (int k = 0; k < 18; k++) {
        int setter = k % 3, is[3] = {-1, -1, -1};
        unsigned size = sizes[k % 6];
        CUresult code = setter == 0 ? cuKernelSetAttribute(SHARED_LIMIT, (int)size, kernel, device)
                                    : cuFuncSetAttribute(handles[setter], SHARED_LIMIT, (int)size);
        CUresult told = cuKernelGetAttribute(&is[0], SHARED_LIMIT, kernel, device);
        OK(cuFuncGetAttribute(&is[1], SHARED_LIMIT, handles[1]));
        OK(cuFuncGetAttribute(&is[2], SHARED_LIMIT, handles[2]));
        printf("handle %d sets %u: %s; %s %d %d %d;", setter, size, code_name(code), code_name(told), is[0], is[1],
               is[2]);
        for (int h = 0; h < 3; h++)
            printf(" %s %s", code_name(launch_shared(handles[h], state, (unsigned)k, 60 << 10)),
                   code_name(launch_shared(handles[h], state, (unsigned)k, 20 << 10)));
        printf("\n");
        train(handles[k % 2], NULL, state, 3);
        CODE(cuCtxSynchronize());
    }
    print_hash("state", state, 256);
    OK(cuLibraryUnload(library));
    return 0;
}

static void primary_state(void)
{
    unsigned flags = 0;
    int active = -1;
    CUresult code = cuDevicePrimaryCtxGetState(0, &flags, &active);
    printf("primary context: %s, active %d\n", code_name(code), active);
}

/* Retained three times, reset, released; how often it may be released is the driver's to say. */
static int primary_counts(void)
{
    CUcontext first = NULL, context, current;
    for (int life = 0; life < 3; life++) {
        CUmodule module;
        for (int k = 0; k < 3; k++)
            OK(cuDevicePrimaryCtxRetain(&context, 0));
        printf("# the same handle: %s\n", context == first ? "yes" : "no");
        first = context;
        OK(cuCtxSetCurrent(context));
        CUfunction f = load(&module, life % 2 ? STEP_PTX("5") : STEP_PTX("7"));
        CUdeviceptr state = zeros(256);
        for (int k = 0; k < 200; k++) { /* as libraries do it around each of their operations */
            OK(cuDevicePrimaryCtxRetain(&context, 0));
            train(f, NULL, state, 1);
            OK(cuDevicePrimaryCtxRelease(0));
        }
        print_hash("state", state, 256);
        train(f, NULL, state, 10);
        primary_state();
        if (life < 2)
            CODE(cuDevicePrimaryCtxReset(0));
        primary_state();
        for (int k = 0; k < 4; k++) {
            CODE(cuDevicePrimaryCtxRelease(0));
            primary_state();
        }
        CODE(cuCtxGetCurrent(&current));
        CODE(cuCtxSetCurrent(NULL));
    }
    return 0;
}

/* At places that have been replayed stand kernels of another module, then of one that was loaded again. */
static int stand_ins(void)
{
    CUmodule modules[2];
    CUfunction f = load(&modules[0], STEP_PTX("5")), g = load(&modules[1], STEP_PTX("7"));
    CUdeviceptr state = zeros(256);
    CUstream stream;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned round = 0; round < 300; round++) {
        for (unsigned k = 0; k < 24; k++)
            OK(launch(round % 5 == 4 && k == round % 24 ? g : f, stream, state, k + round % 3));
        if (round % 50 == 49) {
            CODE(cuModuleUnload(modules[1]));
            g = load(&modules[1], round % 100 == 99 ? STEP_PTX("7") : STEP_PTX("3"));
        }
        if (round % 60 == 59)
            CODE(cuStreamSynchronize(stream));
    }
    print_hash("state", state, 256);
    printf("@ replayed 1000\n");
    return 0;
}

static CUcontext shared_context;
static CUdeviceptr unloader_state;
static volatile int captures_over;

static void *loads_and_unloads(void *nothing)
{
    CUstream stream;
    OK(cuCtxSetCurrent(shared_context));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int k = 0; !captures_over && k < 2000; k++) {
        CUmodule module;
        CUfunction f = load(&module, k % 2 ? STEP_PTX("11") : STEP_PTX("13"));
        train(f, stream, unloader_state, 2);
        OK(cuStreamSynchronize(stream));
        OK(cuModuleUnload(module));
    }
    return nothing;
}

/* The program's captures and graphs go on while another thread loads, uses and unloads other code. */
static int captures_beside_unloading(void)
{
    CUmodule module;
    CUfunction f = load(&module, STEP_PTX("5"));
    CUdeviceptr state = zeros(256);
    CUstream stream;
    CUgraphExec exec = NULL;
    pthread_t thread;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuCtxGetCurrent(&shared_context));
    unloader_state = zeros(256);
    train(f, stream, state, 20);
    pthread_create(&thread, NULL, loads_and_unloads, NULL);
    for (unsigned round = 0; round < 200; round++) {
        CUgraph graph;
        OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
        for (unsigned k = 0; k < 20; k++)
            OK(launch(f, stream, state, k + round % 4));
        OK(cuStreamEndCapture(stream, &graph));
        if (exec && round % 10 == 0) {
            OK(cuGraphExecDestroy(exec));
            exec = NULL;
        }
        if (exec) {
            CUgraphExecUpdateResultInfo info;
            OK(cuGraphExecUpdate(exec, graph, &info));
        } else {
            OK(cuGraphInstantiate(&exec, graph, 0));
        }
        OK(cuGraphLaunch(exec, stream));
        train(f, stream, state, 2);
        OK(cuGraphLaunch(exec, stream));
        OK(cuGraphDestroy(graph));
    }
    captures_over = 1;
    pthread_join(thread, NULL);
    print_hash("state", state, 256);
    OK(cuGraphExecDestroy(exec));
    OK(cuModuleUnload(module));
    return 0;
}

/* A capture that ends without a place for its graph. */
static int no_graph(void)
{
    CUmodule module;
    CUfunction f = load(&module, STEP_PTX("5"));
    CUdeviceptr state = zeros(256);
    CUstream stream;
    CUgraph graph = NULL;
    CUstreamCaptureStatus status;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int way = 0; way < 3; way++) {
        train(f, stream, state, 20);
        OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
        OK(launch(f, stream, state, 1));
        if (way == 1)
            CODE(cuStreamSynchronize(stream)); /* spoils the capture */
        if (way < 2)
            CODE(cuStreamEndCapture(stream, NULL));
        CODE(cuStreamIsCapturing(stream, &status));
        printf("status %d\n", (int)status);
        CODE(cuStreamEndCapture(stream, &graph));
        CODE(cuStreamIsCapturing(stream, &status));
        printf("status %d\n", (int)status);
    }
    train(f, stream, state, 100);
    print_hash("state", state, 256);
    printf("@ replayed 500\n");
    return 0;
}

/* A missing argument at a place that has been replayed. That may end the process, without the shim as well. */
static int null_argument(void)
{
    CUmodule module;
    CUfunction f = load(&module, STEP_PTX("5"));
    CUdeviceptr state = zeros(256);
    void *parameters[] = {&state, NULL};
    train(f, NULL, state, 50);
    CODE(cuCtxSynchronize());
    CODE(cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, NULL, parameters, NULL));
    CODE(cuCtxSynchronize());
    return 0;
}

static struct {
    CUcontext context;
    CUfunction f;
    CUstream idle;
    CUdeviceptr state;
    volatile int done;
} inside;

static void ask(void)
{
    CUcontext current = (CUcontext)1;
    unsigned value;
    CODE(cuCtxGetCurrent(&current));
    CODE(cuCtxSetCurrent(inside.context));
    CODE(cuCtxGetDevice(&(CUdevice){0}));
    CODE(launch(inside.f, inside.idle, inside.state, 3));
    CODE(cuMemsetD32Async(inside.state, 1, 8, inside.idle));
    CODE(cuMemcpyDtoH(&value, inside.state, 4));
    CUresult done = cuStreamQuery(inside.idle); /* the work may be done by now, or not */
    printf("cuStreamQuery(inside.idle) -> %s\n", done == CUDA_ERROR_NOT_READY ? "CUDA_SUCCESS" : code_name(done));
    CODE(cuFuncGetAttribute(&(int){0}, SHARED_LIMIT, inside.f));
    CODE(cuStreamSynchronize(inside.idle));
    inside.done++;
}

static void CUDA_CB as_function(void *nothing)
{
    (void)nothing;
    ask();
}

static void CUDA_CB as_callback(CUstream stream, CUresult status, void *nothing)
{
    (void)stream, (void)nothing;
    printf("status %s\n", code_name(status));
    ask();
}

/* What the driver answers inside a host function, and whether a launch from there is ever done. */
static int inside_host_functions(void)
{
    CUmodule module;
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;
    CUdeviceptr own = zeros(256);
    alarm(30); /* a driver that does not refuse may wait for ever */
    OK(cuCtxGetCurrent(&inside.context));
    inside.f = load(&module, STEP_PTX("5"));
    inside.state = zeros(256);
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&inside.idle, CU_STREAM_NON_BLOCKING));
    train(inside.f, inside.idle, inside.state, 50);
    OK(cuCtxSynchronize());
    for (int way = 0; way < 3; way++) {
        printf("%s\n", way == 0 ? "function" : way == 1 ? "callback" : "graph node");
        train(inside.f, stream, own, 2);
        if (way == 0) {
            OK(cuLaunchHostFunc(stream, as_function, NULL));
        } else if (way == 1) {
            OK(cuStreamAddCallback(stream, as_callback, NULL, 0));
        } else {
            CUDA_HOST_NODE_PARAMS params = {.fn = as_function};
            CUgraphNode node;
            OK(cuGraphCreate(&graph, 0));
            OK(cuGraphAddHostNode(&node, graph, NULL, 0, &params));
            OK(cuGraphInstantiate(&exec, graph, 0));
            OK(cuGraphLaunch(exec, stream));
        }
        while (inside.done <= way) /* no call meanwhile */
            usleep(1000);
        CODE(cuCtxSynchronize());
        print_hash("state", inside.state, 256);
    }
    print_hash("own", own, 256);
    return 0;
}

static const struct test tests[] = {
        {"one_limit", 0, one_limit},
        {"primary_counts", 1, primary_counts},
        {"stand_ins", 0, stand_ins},
        {"captures_beside_unloading", 0, captures_beside_unloading},
        {"no_graph", 0, no_graph},
        {"null_argument", 0, null_argument},
        {"inside_host_functions", 0, inside_host_functions},
};
TESTS_MAIN(tests)
