/* Order and progress: what a program may see, when, and through which door, while its launches may be held. */
#include "gpu.h"
#include <algorithm>
#include <atomic>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>

__device__ static unsigned long long device_ns(void)
{
    unsigned long long t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}

__global__ static void hand_over(volatile int *cell)
{
    *cell = 1;
    __threadfence_system();
    for (long k = 0; k < 10000000 && *cell == 1; k++)
        __nanosleep(100);
    *cell = *cell == 2 ? 3 : -1;
    __threadfence_system();
}

static bool host_waits(volatile int *cell, int value)
{
    double begin = now();
    while (*cell != value)
        if (now() - begin > 5)
            return false;
    return true;
}

/* Host and kernel take turns with one number in memory that both see; no CUDA call between the turns. */
static int take_turns(volatile int *host, int *device)
{
    std::vector<double> times;
    for (int round = 0; round < 500; round++) {
        double begin = now();
        *host = 0;
        __sync_synchronize();
        hand_over<<<1, 1>>>(device);
        if (!host_waits(host, 1)) {
            printf("round %d: the kernel did not start\n", round);
            return 1;
        }
        *host = 2;
        if (!host_waits(host, 3)) {
            printf("round %d: the kernel did not answer\n", round);
            return 1;
        }
        times.push_back(now() - begin);
    }
    OK(cudaDeviceSynchronize());
    std::sort(times.begin(), times.end());
    printf("~ turn_us %.1f 2.0\n", times[250] * 1e6);
    printf("500 rounds\n");
    return 0;
}

static int mapped_turns(void)
{
    int *device;
    volatile int *host = mapped_zeros<int>(1, &device);
    return take_turns(host, device);
}

static int managed_turns(void)
{
    int *cell, concurrent;
    OK(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, 0));
    if (!concurrent)
        return SKIP;
    OK(cudaMallocManaged(&cell, sizeof *cell));
    return take_turns(cell, cell);
}

__global__ static void count_up(int *cell)
{
    ++*cell;
    __threadfence_system();
}

/* Work that nobody waits for must still run, soon after the last call. */
static int no_synchronise(void)
{
    int *device, late = 0;
    volatile int *host = mapped_zeros<int>(1, &device);
    int expected = 0;
    for (int round = 0; round < 100; round++) {
        for (int k = 0; k < 7; k++)
            count_up<<<1, 1>>>(device);
        expected += 7;
        usleep(5000);
        late += *host != expected;
    }
    printf("last %d\n", *host);
    printf("# late rounds %d\n", late);
    printf("late %s\n", late <= 2 ? "no" : "yes"); /* a busy machine may delay one */
    return late > 2;
}

static int priorities(void)
{
    int least, greatest, early = 0;
    cudaStream_t low, high;
    cudaEvent_t low_done, high_done;
    unsigned *state = device_zeros<unsigned>(64);
    OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    OK(cudaStreamCreateWithPriority(&low, cudaStreamNonBlocking, least));
    OK(cudaStreamCreateWithPriority(&high, cudaStreamNonBlocking, greatest));
    OK(cudaEventCreateWithFlags(&low_done, cudaEventDisableTiming));
    OK(cudaEventCreateWithFlags(&high_done, cudaEventDisableTiming));
    int processors;
    OK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
    long long cycles = cycles_of(100);
    for (int round = 0; round < 30; round++) {
        for (int k = 0; k < 40; k++)
            spin<<<processors * 8, 512, 0, low>>>(cycles);
        OK(cudaEventRecord(low_done, low));
        train(state, high, 1);
        OK(cudaEventRecord(high_done, high));
        OK(cudaEventSynchronize(high_done));
        early += cudaEventQuery(low_done) == cudaErrorNotReady;
        OK(cudaDeviceSynchronize());
    }
    printf("high before low: %s\n", early >= 28 ? "yes" : "no");
    print_hash("state", state, 256);
    return early < 28;
}

/* Short kernels of high priority go between the blocks of long ones of low priority, in graphs as without. */
static int node_priority(void)
{
    int least, greatest, processors;
    cudaStream_t low, high;
    unsigned *state = device_zeros<unsigned>(64);
    std::vector<double> times;
    OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    if (least == greatest)
        return SKIP;
    OK(cudaStreamCreateWithPriority(&low, cudaStreamNonBlocking, least));
    OK(cudaStreamCreateWithPriority(&high, cudaStreamNonBlocking, greatest));
    OK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
    const long long cycles = cycles_of(40);
    for (int round = 0; round < 40; round++) {
        for (int k = 0; k < 20; k++) /* each keeps all processors busy for 16 times as long as one block takes */
            spin<<<processors * 32, 1024, 0, low>>>(cycles);
        usleep(1500);
        double begin = now();
        train(state, high, 1);
        OK(cudaStreamSynchronize(high));
        if (round >= 10)
            times.push_back(now() - begin);
        OK(cudaStreamSynchronize(low));
    }
    std::sort(times.begin(), times.end());
    printf("~ high_us %.0f 2.0\n", times[times.size() / 2] * 1e6);
    print_hash("state", state, 256);
    must_replay(400);
    return 0;
}

/* Takes a while, and notes on the device's own clock when it began or ended. */
__global__ static void timed_spin(long long cycles, unsigned long long *began, unsigned long long *ended)
{
    if (began)
        *began = device_ns();
    long long begin = clock64();
    while (clock64() - begin < cycles)
        ;
    if (ended)
        *ended = device_ns();
}

/* What events say of a repeating sequence is within 5 % of what its kernels read from the device's clock. */
static int timing_truth(void)
{
    unsigned long long *stamps = device_zeros<unsigned long long>(400), host[400];
    cudaEvent_t events[400];
    int off = 0;
    const long long cycles = cycles_of(200);
    for (cudaEvent_t &e : events)
        OK(cudaEventCreate(&e));
    for (int k = 0; k < 500; k++)
        spin<<<1, 32>>>(cycles);
    for (int round = 0; round < 200; round++) { /* no wait in between: the device always has work */
        OK(cudaEventRecord(events[2 * round]));
        for (int k = 0; k < 10; k++)
            timed_spin<<<1, 1>>>(cycles, k == 0 ? stamps + 2 * round : nullptr,
                                 k == 9 ? stamps + 2 * round + 1 : nullptr);
        OK(cudaEventRecord(events[2 * round + 1]));
        spin<<<1, 32>>>(cycles);
    }
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(host, stamps, sizeof host, cudaMemcpyDeviceToHost));
    double worst = 0;
    for (int round = 0; round < 200; round++) {
        float ms;
        OK(cudaEventElapsedTime(&ms, events[2 * round], events[2 * round + 1]));
        double truth = (double)(host[2 * round + 1] - host[2 * round]) * 1e-6;
        double error = (ms - truth) / truth;
        worst = std::max(worst, error < 0 ? -error : error);
        off += error > 0.05 || error < -0.05;
    }
    printf("# farthest from the truth %.2f %%, rounds off %d\n", worst * 100, off);
    printf("within 5 %%: %s\n", off <= 4 ? "yes" : "no"); /* another process may have the device in between */
    must_replay(500);
    return off > 4;
}

/* Events inside a repeating sequence still tell its time. */
static int timing(void)
{
    cudaEvent_t e[3], never, untimed;
    long long cycles = cycles_of(100);
    int wrong = 0, order = 0;
    float a, b, c;
    for (cudaEvent_t &x : e)
        OK(cudaEventCreate(&x));
    OK(cudaEventCreate(&never));
    OK(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
    for (int k = 0; k < 2000; k++)
        spin<<<1, 32>>>(cycles); /* the clock rises */
    std::vector<float> first, second;
    for (int round = 0; round < 200; round++) {
        OK(cudaEventRecord(e[0]));
        for (int k = 0; k < 10; k++)
            spin<<<1, 32>>>(cycles);
        OK(cudaEventRecord(e[1]));
        for (int k = 0; k < 3; k++)
            spin<<<1, 32>>>(cycles);
        OK(cudaEventRecord(e[2]));
        OK(cudaEventSynchronize(e[2]));
        OK(cudaEventElapsedTime(&a, e[0], e[1]));
        OK(cudaEventElapsedTime(&b, e[1], e[2]));
        OK(cudaEventElapsedTime(&c, e[0], e[2]));
        first.push_back(a);
        second.push_back(b);
        wrong += a < 0.9f || b < 0.25f; /* never too short */
        order += c < a || c < b;
    }
    std::sort(first.begin(), first.end());
    std::sort(second.begin(), second.end());
    printf("~ first_ms %.4f 1.05\n~ second_ms %.4f 1.05\n", first[100], second[100]);
    printf("wrong %d, out of order %d\n", wrong, order);
    printf("near the truth: %s\n", first[100] < 1.3f && second[100] < 0.42f ? "yes" : "no");
    OK(cudaEventRecord(untimed));
    OK(cudaDeviceSynchronize());
    CODE(cudaEventElapsedTime(&a, e[0], never));
    CODE(cudaEventElapsedTime(&a, e[0], untimed));
    CODE(cudaEventQuery(never));
    spin<<<1, 32>>>(cycles_of(20000));
    OK(cudaEventRecord(e[1]));
    CODE(cudaEventQuery(e[1]));
    CODE(cudaEventElapsedTime(&a, e[0], e[1]));
    OK(cudaEventRecord(e[1]));
    OK(cudaEventSynchronize(e[1]));
    CODE(cudaEventElapsedTime(&a, e[0], e[1]));
    cudaGetLastError();
    return wrong || order;
}

/* A stream is busy right after a launch of a kernel that takes long. */
static int busy_query(void)
{
    cudaStream_t stream;
    unsigned *state = device_zeros<unsigned>(64);
    int ready = 0;
    OK(cudaStreamCreate(&stream));
    for (int round = 0; round < 50; round++) {
        train(state, stream, 1);
        spin<<<1, 1, 0, stream>>>(cycles_of(3000));
        ready += cudaStreamQuery(stream) != cudaErrorNotReady;
        OK(cudaStreamSynchronize(stream));
        ready += cudaStreamQuery(stream) != cudaSuccess;
    }
    printf("wrong answers %d\n", ready);
    return ready != 0;
}

/* One thread only launches and records, another only asks: it must see every event complete. */
static int poller(void)
{
    cudaEvent_t events[64];
    cudaStream_t stream;
    std::atomic<int> recorded{0}, seen{0};
    unsigned *state = device_zeros<unsigned>(64);
    OK(cudaStreamCreate(&stream));
    for (cudaEvent_t &e : events)
        OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    std::thread asks([&] {
        double begin = now();
        while (seen < 3000 && now() - begin < 20)
            if (seen < recorded && cudaEventQuery(events[seen % 64]) == cudaSuccess)
                seen++;
    });
    for (int k = 0; k < 3000; k++) {
        train(state, stream, 1);
        while (recorded - seen >= 60)
            ;
        OK(cudaEventRecord(events[k % 64], stream));
        recorded++;
    }
    asks.join();
    printf("seen %d\n", seen.load());
    print_hash("state", state, 256);
    return seen != 3000;
}

/* Trained launches behind a kernel that waits for the host. */
static int behind_blocking(void)
{
    int *device;
    volatile int *flag = mapped_zeros<int>(1, &device);
    unsigned *state = device_zeros<unsigned>(64);
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    train(state, stream, 100);
    for (int round = 0; round < 20; round++) {
        OK(cudaStreamSynchronize(stream));
        *flag = 0;
        wait_for<<<1, 1, 0, stream>>>(device);
        for (unsigned k = 0; k < 50; k++)
            step<<<1, 64, 0, stream>>>(state, k % 20 + (unsigned)(round % 3));
        *flag = 1;
    }
    print_hash("state", state, 256);
    return 0;
}

/* More launches than the driver's queue holds, behind a kernel that another thread lets go without a CUDA call. */
static int full_queue(void)
{
    int *device;
    volatile int *flag = mapped_zeros<int>(1, &device);
    unsigned *state = device_zeros<unsigned>(64);
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    train(state, stream, 100);
    OK(cudaStreamSynchronize(stream));
    for (int round = 0; round < 3; round++) {
        *flag = 0;
        wait_for<<<1, 1, 0, stream>>>(device);
        std::thread later([&] {
            usleep(200000);
            *flag = 1;
        });
        train(state, stream, 250);
        later.join();
        OK(cudaStreamSynchronize(stream));
    }
    print_hash("state", state, 256);
    return 0;
}

__global__ static void wait_briefly(volatile int *flag)
{
    unsigned long long begin = device_ns();
    while (!*flag && device_ns() - begin < 1500000000)
        __nanosleep(500);
}

/* A kernel waits for a copy that a helper thread makes on a stream of its own, while many launches queue behind it.
 * Whether the helper gets through before the kernel gives up depends on whether they fill the driver's queue, which
 * graphs do not: that is for people to read. What the work leaves behind is the same. */
static int helper_copy(void)
{
    int *flag = device_zeros<int>(1), *pinned;
    unsigned *state = device_zeros<unsigned>(64);
    cudaStream_t stream, side;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
    OK(cudaHostAlloc(&pinned, sizeof *pinned, 0));
    *pinned = 1;
    OK(cudaMemcpyAsync(flag, pinned, sizeof *flag, cudaMemcpyHostToDevice, side));
    train(state, stream, 100);
    OK(cudaDeviceSynchronize());
    for (int round = 0; round < 3; round++) {
        OK(cudaMemsetAsync(flag, 0, sizeof *flag, stream));
        OK(cudaStreamSynchronize(stream));
        wait_briefly<<<1, 1, 0, stream>>>(flag);
        double released = 0;
        std::thread helper([&] {
            usleep(100000);
            if (round == 0)
                OK(cudaMemcpy(flag, pinned, sizeof *flag, cudaMemcpyHostToDevice));
            else
                OK(cudaMemcpyAsync(flag, pinned, sizeof *flag, cudaMemcpyHostToDevice, side));
            if (round == 2)
                OK(cudaStreamSynchronize(side));
            released = now();
        });
        double begin = now();
        train(state, stream, 250);
        helper.join();
        printf("# helper was let through: %s\n", released - begin < 1 ? "yes" : "no");
        OK(cudaStreamSynchronize(stream));
        OK(cudaStreamSynchronize(side));
        print_hash("flag", flag, sizeof *flag);
    }
    print_hash("state", state, 256);
    return 0;
}

/* What the driver answers inside a host function, each call of it. Nothing but these codes may come of them. */
static unsigned *inside_state, *inside_own; /* one for each stream: nothing orders the two */
static cudaStream_t inside_stream, inside_other;
static cudaEvent_t inside_event;
static std::atomic<int> inside_done;

static void ask_inside(void *)
{
    void *p = nullptr;
    int device = -1;
    CODE(cudaGetDevice(&device));
    step<<<1, 64, 0, inside_other>>>(inside_state, 3);
    CODE(cudaGetLastError());
    step<<<1, 64, 0, inside_stream>>>(inside_own, 3);
    CODE(cudaGetLastError());
    CODE(cudaMemsetAsync(inside_state, 1, 256, inside_other));
    CODE(cudaEventRecord(inside_event, inside_other));
    CODE(cudaEventQuery(inside_event));
    CODE(cudaStreamQuery(inside_other));
    CODE(cudaMalloc(&p, 256));
    cudaGetLastError();
    inside_done++;
}

static int inside_host_functions(void)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    alarm(30); /* a driver that does not refuse may wait for ever */
    inside_state = device_zeros<unsigned>(64);
    inside_own = device_zeros<unsigned>(64);
    OK(cudaStreamCreateWithFlags(&inside_stream, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&inside_other, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&inside_event, cudaEventDisableTiming));
    train(inside_state, inside_other, 30);
    train(inside_own, inside_stream, 30);
    OK(cudaDeviceSynchronize());
    for (int way = 0; way < 3; way++) {
        printf("%s\n", way == 0 ? "function" : way == 1 ? "callback" : "graph node");
        train(inside_own, inside_stream, 2);
        if (way == 0) {
            OK(cudaLaunchHostFunc(inside_stream, ask_inside, nullptr));
        } else if (way == 1) {
            OK(cudaStreamAddCallback(
                    inside_stream, [](cudaStream_t, cudaError_t, void *) { ask_inside(nullptr); }, nullptr, 0));
        } else {
            OK(cudaStreamBeginCapture(inside_stream, cudaStreamCaptureModeRelaxed));
            OK(cudaLaunchHostFunc(inside_stream, ask_inside, nullptr));
            OK(cudaStreamEndCapture(inside_stream, &graph));
            OK(cudaGraphInstantiate(&exec, graph, 0));
            OK(cudaGraphLaunch(exec, inside_stream));
        }
        while (inside_done <= way) /* no call meanwhile */
            usleep(1000);
        CODE(cudaDeviceSynchronize());
        print_hash("state", inside_state, 256);
        train(inside_own, inside_stream, 2);
    }
    print_hash("own", inside_own, 256);
    return 0;
}

/* What the two processes of ranks() share. */
struct shared_page {
    int cell[2], out[2];
    int rounds[2];
};

/* Tells the other process's kernel a number and waits for its own. */
__global__ static void exchange(volatile int *mine, const volatile int *theirs, int value, int *out)
{
    *mine = value;
    __threadfence_system();
    for (long k = 0; k < 20000000 && *theirs != value; k++)
        __nanosleep(500);
    *out = *theirs;
    __threadfence_system();
}

/* One of two processes whose kernels wait for each other, as the ranks of a collective do. Between launch and answer it
 * makes no call, and no process may rely on the other having been synchronised.
 */
static int rank_of_two(volatile shared_page *page, int rank)
{
    shared_page *device;
    int wrong = 0;
    OK(cudaHostRegister((void *)page, sizeof *page, cudaHostRegisterMapped));
    OK(cudaHostGetDevicePointer((void **)&device, (void *)page, 0));
    unsigned *state = device_zeros<unsigned>(64);
    OK(cudaDeviceSynchronize());
    const int rounds = 60;
    for (int round = 1; round <= rounds; round++) {
        for (unsigned k = 0; k < 8; k++)
            step<<<1, 64>>>(state, k);
        exchange<<<1, 1>>>(&device->cell[rank], &device->cell[1 - rank], round, &device->out[rank]);
        double begin = now();
        while (page->out[rank] != round && now() - begin < 5)
            usleep(20);
        wrong += page->out[rank] != round;
        __atomic_store_n(&page->rounds[rank], round, __ATOMIC_SEQ_CST);
        while (__atomic_load_n(&page->rounds[1 - rank], __ATOMIC_SEQ_CST) < round && now() - begin < 10)
            usleep(20);
        if (wrong)
            break;
    }
    printf("rank %d: wrong %d\n", rank, wrong);
    print_hash("state", state, 256);
    return wrong != 0;
}

static int ranks(void)
{
    int status = 0;
    void *page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child[2];
    for (int rank = 0; rank < 2; rank++) {
        char name[64];
        snprintf(name, sizeof name, "/tmp/ranks.%d.%d", (int)getpid(), rank);
        child[rank] = fork();
        if (child[rank] == 0) { /* each writes apart, so that the order of lines is the same in every run */
            if (!freopen(name, "w", stdout))
                _exit(9);
            int failed = rank_of_two((volatile shared_page *)page, rank);
            fflush(stdout);
            exit(failed);
        }
    }
    bool failed = false;
    for (int rank = 0; rank < 2; rank++) {
        char name[64], line[256];
        waitpid(child[rank], &status, 0);
        snprintf(name, sizeof name, "/tmp/ranks.%d.%d", (int)getpid(), rank);
        FILE *file = fopen(name, "r");
        while (file && fgets(line, sizeof line, file))
            fputs(line, stdout);
        if (file)
            fclose(file);
        unlink(name);
        printf("ended with %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status));
        failed = failed || status != 0;
    }
    return failed;
}

__global__ static void copy_cell(int *to, const int *from)
{
    *to = *from + 1;
}

/* Host functions see what was launched before them and are seen by what is launched after. */
static int host_functions(void)
{
    int *device, wrong = 0;
    volatile int *host = mapped_zeros<int>(2, &device);
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    for (int k = 0; k < 500; k++) {
        copy_cell<<<1, 1, 0, stream>>>(device + 1, device);
        OK(cudaLaunchHostFunc(
                stream, [](void *cells) { ((volatile int *)cells)[0] = ((volatile int *)cells)[1] * 3 % 1000; },
                (void *)host));
    }
    OK(cudaStreamSynchronize(stream));
    int expected = 0;
    for (int k = 0; k < 500; k++)
        expected = (expected + 1) * 3 % 1000;
    wrong = host[0] != expected;
    printf("cell %d\n", host[0]);
    return wrong;
}

/* Pageable memory may change as soon as the copy from it has returned. */
static int pageable(void)
{
    unsigned *state = device_zeros<unsigned>(64), *input = device_zeros<unsigned>(64), host[64], back[64], sum = 0;
    for (unsigned k = 0; k < 500; k++) {
        for (unsigned &h : host)
            h = k;
        OK(cudaMemcpyAsync(input, host, sizeof host, cudaMemcpyHostToDevice));
        memset(host, 0xff, sizeof host);
        train(input, 0, 1);
        OK(cudaMemcpyAsync(state, input, 256, cudaMemcpyDeviceToDevice));
        train(state, 0, 1);
        OK(cudaMemcpy(back, state, sizeof back, cudaMemcpyDeviceToHost));
        sum = sum * 31 + back[k % 64];
    }
    printf("sum %u\n", sum);
    return 0;
}

/* The NULL stream waits for blocking streams and they for it, launch by launch. */
static int null_stream(void)
{
    unsigned *state = device_zeros<unsigned>(64);
    cudaStream_t a, b;
    OK(cudaStreamCreate(&a));
    OK(cudaStreamCreate(&b));
    for (unsigned k = 0; k < 6000; k++)
        step<<<1, 64, 0, k % 4 == 1 ? a : k % 4 == 3 ? b : 0>>>(state, k % 24);
    print_hash("state", state, 256);
    return 0;
}

static const struct test tests[] = {
        {"mapped_turns", mapped_turns},
        {"managed_turns", managed_turns},
        {"no_synchronise", no_synchronise},
        {"priorities", priorities},
        {"node_priority", node_priority},
        {"timing", timing},
        {"timing_truth", timing_truth},
        {"busy_query", busy_query},
        {"poller", poller},
        {"behind_blocking", behind_blocking},
        {"full_queue", full_queue},
        {"helper_copy", helper_copy},
        {"inside_host_functions", inside_host_functions},
        {"ranks", ranks},
        {"host_functions", host_functions},
        {"pageable", pageable},
        {"null_stream", null_stream},
};
TESTS_MAIN(tests)
