/* Streams, graphs, threads, memory and contexts that come and go around launches that may be held. */
#include "gpu.h"
#include <atomic>
#include <fcntl.h>
#include <thread>

/* The device is reset and everything starts again; work is pending at the reset. */
static int reset(void)
{
    for (int life = 0; life < 4; life++) {
        unsigned *state = device_zeros<unsigned>(64);
        cudaStream_t stream;
        OK(cudaStreamCreate(&stream));
        train(state, stream, 50 + life);
        print_hash("state", state, 256);
        train(state, stream, 30);
        train(state, 0, 30);
        OK(cudaDeviceReset());
    }
    return 0;
}

/* The program's own graphs, captured in the middle of trained loops and launched between them. */
static int own_graphs(void)
{
    unsigned *state = device_zeros<unsigned>(64);
    cudaStream_t stream, other;
    cudaGraph_t graph;
    cudaGraphExec_t exec = nullptr;
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    const cudaStreamCaptureMode modes[] = {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal,
                                           cudaStreamCaptureModeRelaxed};
    for (int round = 0; round < 60; round++) {
        train(state, stream, 3);
        OK(cudaStreamBeginCapture(stream, modes[round % 3]));
        for (unsigned k = 0; k < 20; k++) /* the same launches that are replayed outside */
            step<<<1, 64, 0, stream>>>(state, k + (unsigned)(round % 4));
        OK(cudaStreamEndCapture(stream, &graph));
        if (exec) {
            cudaGraphExecUpdateResultInfo result;
            OK(cudaGraphExecUpdate(exec, graph, &result));
        } else {
            OK(cudaGraphInstantiate(&exec, graph, 0));
        }
        size_t nodes;
        OK(cudaGraphGetNodes(graph, nullptr, &nodes));
        if (nodes != 20)
            printf("round %d: %zu nodes\n", round, nodes);
        OK(cudaGraphLaunch(exec, stream));
        train(state, stream, 2);
        OK(cudaGraphLaunch(exec, stream));
        OK(cudaGraphDestroy(graph));
    }
    print_hash("state", state, 256);

    /* Another stream has launches held while this one captures, and joins the capture by an event. */
    unsigned *side = device_zeros<unsigned>(64);
    cudaEvent_t fork, join;
    OK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    OK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    for (int round = 0; round < 20; round++) {
        train(side, other, 2);
        OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
        step<<<1, 64, 0, stream>>>(state, 1);
        OK(cudaEventRecord(fork, stream));
        OK(cudaStreamWaitEvent(other, fork, 0));
        step<<<1, 64, 0, other>>>(side, 2);
        OK(cudaEventRecord(join, other));
        OK(cudaStreamWaitEvent(stream, join, 0));
        OK(cudaStreamEndCapture(stream, &graph));
        cudaGraphExec_t once;
        OK(cudaGraphInstantiate(&once, graph, 0));
        OK(cudaStreamSynchronize(other));
        OK(cudaGraphLaunch(once, stream));
        OK(cudaStreamSynchronize(stream));
        OK(cudaGraphExecDestroy(once));
        OK(cudaGraphDestroy(graph));
    }
    print_hash("both", state, 256);
    print_hash("side", side, 256);

    /* A capture that is spoilt reports what it always reports. */
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    step<<<1, 64, 0, stream>>>(state, 1);
    CODE(cudaStreamSynchronize(stream));
    step<<<1, 64, 0, stream>>>(state, 2);
    CODE(cudaGetLastError());
    CODE(cudaStreamEndCapture(stream, &graph));
    cudaGetLastError();
    train(state, stream, 5);
    print_hash("after", state, 256);
    return 0;
}

static int two_threads(void)
{
    std::thread threads[4];
    unsigned *states[4];
    for (int t = 0; t < 4; t++)
        states[t] = device_zeros<unsigned>(64);
    for (int t = 0; t < 4; t++)
        threads[t] = std::thread([=] {
            cudaStream_t stream;
            OK(cudaStreamCreateWithFlags(&stream, t % 2 ? cudaStreamNonBlocking : cudaStreamDefault));
            for (int k = 0; k < 300; k++) {
                train(states[t], stream, 1 + t);
                if (k % 50 == 0)
                    OK(cudaStreamSynchronize(stream));
            }
            if (t % 2)
                OK(cudaStreamSynchronize(stream)); /* the others end with work on its way */
        });
    for (std::thread &t : threads)
        t.join();
    for (unsigned *state : states)
        print_hash("state", state, 256);
    return 0;
}

__global__ static void add(unsigned *cell, unsigned value)
{
    *cell += value;
}

/* Several threads launch on one stream; the order between them is free, the sum is not. */
static int one_stream(void)
{
    unsigned *cell = device_zeros<unsigned>(1), host;
    cudaStream_t stream;
    std::thread threads[4];
    OK(cudaStreamCreate(&stream));
    for (unsigned t = 0; t < 4; t++)
        threads[t] = std::thread([=] {
            for (unsigned k = 0; k < 3000; k++)
                add<<<1, 1, 0, stream>>>(cell, t * 1000 + k % 10);
        });
    for (std::thread &t : threads)
        t.join();
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy(&host, cell, 4, cudaMemcpyDeviceToHost));
    printf("sum %u\n", host);
    return 0;
}

/* A new stream may have the handle of a destroyed one: nothing known of the old one may be used. */
static int stream_reuse(void)
{
    unsigned *a = device_zeros<unsigned>(64), *b = device_zeros<unsigned>(64);
    cudaStream_t seen[64];
    int repeated = 0;
    for (int round = 0; round < 64; round++) {
        cudaStream_t stream;
        OK(cudaStreamCreateWithFlags(&stream, round % 3 ? cudaStreamNonBlocking : cudaStreamDefault));
        for (int k = 0; k < round; k++)
            repeated += seen[k] == stream;
        seen[round] = stream;
        train(round % 2 ? b : a, stream, 3);
        OK(cudaStreamDestroy(stream)); /* with work pending */
        OK(cudaDeviceSynchronize());
    }
    printf("# handles repeated %d times\n", repeated);
    print_hash("a", a, 256);
    print_hash("b", b, 256);
    return 0;
}

__global__ static void gather(unsigned *to, const unsigned *from)
{
    to[threadIdx.x] = turn(to[threadIdx.x], from[threadIdx.x]);
}

/* Memory is freed and given out again at the same address, with launches that use it on their way. */
static int free_reuse(void)
{
    unsigned *result = device_zeros<unsigned>(64);
    cudaStream_t stream;
    int same = 0;
    void *last = nullptr;
    OK(cudaStreamCreate(&stream));
    for (int k = 0; k < 500; k++) {
        unsigned *p;
        OK(cudaMalloc(&p, 4096));
        same += p == last;
        last = p;
        OK(cudaMemset(p, k & 0xff, 4096));
        gather<<<1, 64>>>(result, p);
        gather<<<1, 64, 0, stream>>>(result, p);
        OK(cudaFree(p));
    }
    printf("# same address %d times\n", same);
    print_hash("result", result, 256);
    return 0;
}

/* The device's memory is all but full when the loop is learnt; the program's last allocation still succeeds. */
static int memory_full(void)
{
    unsigned *state = device_zeros<unsigned>(64);
    size_t free_bytes, total;
    void *fill, *last = nullptr;
    train(state, 0, 1);
    OK(cudaDeviceSynchronize());
    OK(cudaMemGetInfo(&free_bytes, &total));
    size_t take = free_bytes - ((size_t)50 << 20);
    while (cudaMalloc(&fill, take) != cudaSuccess)
        take -= (size_t)8 << 20;
    cudaGetLastError();
    for (int k = 0; k < 40; k++)
        for (int j = 0; j < 30; j++) /* many different sequences, so that many graphs are worth having */
            for (unsigned i = 0; i < 20; i++)
                step<<<1, 64>>>(state, i * (unsigned)(j + 1));
    OK(cudaDeviceSynchronize());
    OK(cudaMemGetInfo(&free_bytes, &total));
    printf("# free now %zu MiB\n", free_bytes >> 20);
    CODE(cudaMalloc(&last, (size_t)16 << 20));
    print_hash("state", state, 256);
    OK(cudaFree(fill));
    return last == nullptr;
}

__global__ static void say(int k)
{
    printf("device %d\n", k);
}

__global__ static void say_much(int lines)
{
    for (int k = 0; k < lines; k++)
        printf("line %d of many, long enough to run over the end of the buffer\n", k);
}

static int device_printf(void)
{
    unsigned *state = device_zeros<unsigned>(64);
    CODE(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 1 << 20));
    for (int k = 0; k < 50; k++) {
        say<<<1, 1>>>(k);
        train(state, 0, 1);
        if (k % 10 == 9) {
            OK(cudaDeviceSynchronize());
            printf("host %d\n", k);
        }
    }
    for (int k = 50; k < 100; k++)
        say<<<1, 1>>>(k);
    OK(cudaDeviceSynchronize());
    printf("host end\n");
    int kept = dup(1), nothing = open("/dev/null", O_WRONLY); /* what is lost of an overflow is not promised */
    dup2(nothing, 1);
    for (int k = 0; k < 5; k++)
        say_much<<<1, 1>>>(40000);
    cudaError_t code = cudaDeviceSynchronize();
    dup2(kept, 1);
    printf("overflow %s\n", cudaGetErrorName(code));
    print_hash("state", state, 256);
    return 0;
}

/* Text is out when a call that waits has returned, whichever it is. */
static int printf_points(void)
{
    unsigned *state = device_zeros<unsigned>(64);
    unsigned value;
    cudaStream_t stream;
    cudaEvent_t event;
    OK(cudaStreamCreate(&stream));
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    for (int k = 0; k < 60; k++) {
        train(state, stream, 1);
        say<<<1, 1, 0, stream>>>(k);
        train(state, stream, 1);
        switch (k % 4) {
        case 0:
            OK(cudaStreamSynchronize(stream));
            break;
        case 1:
            OK(cudaEventRecord(event, stream));
            OK(cudaEventSynchronize(event));
            break;
        case 2:
            OK(cudaMemcpy(&value, state, sizeof value, cudaMemcpyDeviceToHost));
            break;
        default:
            OK(cudaDeviceSynchronize());
        }
        printf("host %d\n", k);
    }
    print_hash("state", state, 256);
    return 0;
}

/* One launch says more than the buffer holds. How many lines are left depends on when the host empties the buffer, and
 * is for people to read; what comes later is whole again. */
static int printf_overflow(void)
{
    unsigned *state = device_zeros<unsigned>(64);
    size_t size = 0;
    CODE(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 64 << 10));
    CODE(cudaDeviceGetLimit(&size, cudaLimitPrintfFifoSize));
    printf("size %zu\n", size);
    for (int round = 0; round < 6; round++) {
        char name[] = "/tmp/printf.XXXXXX", line[256];
        int kept = dup(1), file = mkstemp(name), lines = 0, first = -1, last = -1;
        train(state, 0, 10);
        OK(cudaDeviceSynchronize());
        dup2(file, 1);
        if (round % 2)
            say_much<<<1, 1>>>(20000);
        else
            for (int k = 0; k < 50; k++)
                say_much<<<1, 1>>>(3);
        cudaError_t code = cudaDeviceSynchronize();
        dup2(kept, 1);
        FILE *text = fopen(name, "r");
        while (text && fgets(line, sizeof line, text)) {
            lines += strstr(line, "end of the buffer") != nullptr;
            sscanf(line, "line %d", &last);
            first = first < 0 ? last : first;
        }
        bool more = round % 2; /* than the buffer holds */
        printf("%s%s: %d lines, from %d to %d\n", more ? "# " : "", cudaGetErrorName(code), lines, first, last);
        if (more)
            printf("%s: some lines: %s\n", cudaGetErrorName(code), lines > 0 && lines <= 20000 ? "yes" : "no");
        if (text)
            fclose(text);
        unlink(name);
        close(file);
        close(kept);
    }
    CODE(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 1 << 20)); /* the buffer is in use */
    CODE(cudaGetLastError());
    print_hash("state", state, 256);
    return 0;
}

/* Work goes round four streams, each waiting for the one before by an event that is recorded again and again. */
static int event_ring(void)
{
    unsigned *state = device_zeros<unsigned>(64);
    cudaStream_t streams[4];
    cudaEvent_t event;
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    for (cudaStream_t &s : streams)
        OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    for (unsigned k = 0; k < 4000; k++) {
        cudaStream_t here = streams[k % 4], next = streams[(k + 1) % 4];
        for (unsigned j = 0; j < 1 + k % 7; j++)
            step<<<1, 64, 0, here>>>(state, j);
        OK(cudaEventRecord(event, here));
        OK(cudaStreamWaitEvent(next, event, 0));
    }
    print_hash("state", state, 256);
    return 0;
}

/* Long enough for everything to be learnt, and for something to happen to it meanwhile. */
static int many(void)
{
    unsigned *state = device_zeros<unsigned>(64);
    for (int round = 0; round < 20; round++) {
        train(state, 0, 700);
        OK(cudaDeviceSynchronize());
        printf("# round %d\n", round);
    }
    print_hash("state", state, 256);
    must_replay(100000);
    return 0;
}

static const struct test tests[] = {
        {"reset", reset},
        {"own_graphs", own_graphs},
        {"two_threads", two_threads},
        {"one_stream", one_stream},
        {"stream_reuse", stream_reuse},
        {"free_reuse", free_reuse},
        {"memory_full", memory_full},
        {"device_printf", device_printf},
        {"printf_points", printf_points},
        {"printf_overflow", printf_overflow},
        {"event_ring", event_ring},
        {"many", many},
};
TESTS_MAIN(tests)
