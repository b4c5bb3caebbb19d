/* Errors, exits and forks: the same codes at the same calls, the same exit status. */
#include "gpu.h"
#include <assert.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>

/* Refused launches: the code comes from the launch itself and nothing of it is left at the synchronise. */
static int refused(void)
{
    unsigned *state = device_zeros<unsigned>(64);
    for (int round = 0; round < 5; round++) {
        train(state, 0, 5);
        OK(cudaGetLastError());
        step<<<0, 64>>>(state, 1);
        CODE(cudaGetLastError());
        step<<<1, 2048>>>(state, 1);
        CODE(cudaGetLastError());
        step<<<1, 64, 10 << 20>>>(state, 1);
        CODE(cudaGetLastError());
        step<<<dim3(1, 70000), 64>>>(state, 1);
        CODE(cudaGetLastError());
        train(state, 0, 2);
        CODE(cudaGetLastError());
        CODE(cudaDeviceSynchronize());
        print_hash("state", state, 256);
    }
    return 0;
}

__global__ static void store_at(unsigned *p, unsigned value)
{
    p[threadIdx.x] = value;
}

__global__ static void store_misaligned(char *p)
{
    *(int *)(p + 1) = 5;
}

__global__ static void trap(int now_)
{
    if (now_)
        __trap();
}

__global__ static void check(int good)
{
    assert(good);
}

/* What the calls after a device error say, each of them. */
static int list_codes(cudaStream_t stream)
{
    void *p;
    cudaEvent_t event;
    unsigned value;
    CODE(cudaStreamSynchronize(stream));
    CODE(cudaGetLastError());
    CODE(cudaPeekAtLastError());
    CODE(cudaDeviceSynchronize());
    CODE(cudaMalloc(&p, 256));
    CODE(cudaEventCreate(&event));
    check<<<1, 1, 0, stream>>>(1);
    CODE(cudaGetLastError());
    CODE(cudaMemcpyFromSymbol(&value, "none", 4));
    CODE(cudaStreamQuery(stream));
    CODE(cudaDeviceSynchronize());
    CODE(cudaGetLastError());
    CODE(cudaStreamDestroy(stream));
    CODE(cudaDeviceReset());
    CODE(cudaMalloc(&p, 256));
    return 0;
}

/* Launch number 77 of the second hundred goes wrong; the sequence around it has been replayed for long. */
template <typename Bad> static int goes_wrong(Bad bad)
{
    unsigned *state = device_zeros<unsigned>(64);
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    for (int round = 0; round < 6; round++) {
        for (int k = 0; k < 100; k++) {
            bad(k == 77 && round == 5, stream, state);
            step<<<1, 64, 0, stream>>>(state, (unsigned)k % 10);
        }
        if (round < 5)
            CODE(cudaStreamSynchronize(stream));
    }
    return list_codes(stream);
}

static int bad_address(void)
{
    return goes_wrong(
            [](bool wrong, cudaStream_t s, unsigned *p) { store_at<<<1, 64, 0, s>>>(wrong ? (unsigned *)64 : p, 3); });
}

static int misaligned(void)
{
    return goes_wrong([](bool wrong, cudaStream_t s, unsigned *p) {
        store_misaligned<<<1, 1, 0, s>>>((char *)p + (wrong ? 0 : 3));
    });
}

static int trapped(void)
{
    return goes_wrong([](bool wrong, cudaStream_t s, unsigned *) { trap<<<1, 1, 0, s>>>(wrong); });
}

static int asserted(void)
{
    return goes_wrong([](bool wrong, cudaStream_t s, unsigned *) { check<<<1, 1, 0, s>>>(!wrong); });
}

/* The last error belongs to the program's own calls. */
static int last_error(void)
{
    unsigned *state = device_zeros<unsigned>(64);
    void *p;
    CODE(cudaMalloc(&p, (size_t)1 << 50));
    CODE(cudaPeekAtLastError());
    train(state, 0, 50);
    CODE(cudaPeekAtLastError());
    CODE(cudaGetLastError());
    CODE(cudaGetLastError());
    train(state, 0, 50);
    CODE(cudaMalloc(&p, (size_t)1 << 50));
    CODE(cudaDeviceSynchronize());
    CODE(cudaGetLastError());
    print_hash("state", state, 256);
    return 0;
}

/* Ends of a process with launches on their way into memory that the host sees. */
static unsigned *exit_state;

static void at_exit(void)
{
    printf("exit handler: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    printf("exit handler frees: %s\n", cudaGetErrorName(cudaFree(exit_state)));
}

struct late {
    bool used = false;
    ~late()
    {
        if (used)
            printf("destructor: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    }
};
static late late_object;

static void prepare_exit(void)
{
    late_object.used = true;
    atexit(at_exit);
    exit_state = device_zeros<unsigned>(64);
    train(exit_state, 0, 100);
    printf("launched\n");
}

static int exit_return(void)
{
    prepare_exit();
    return 0;
}

static int exit_call(void)
{
    prepare_exit();
    exit(5);
}

static int exit_at_once(void)
{
    prepare_exit();
    _exit(6);
}

static int exit_abort(void)
{
    prepare_exit();
    abort();
}

static int exit_signal(void)
{
    prepare_exit();
    raise(SIGTERM);
    return 0;
}

static int exit_thread(void)
{
    prepare_exit();
    std::thread([] { exit(7); }).join();
    return 0;
}

/* How a child ends, within ten seconds. */
static int end_of(pid_t child)
{
    int status = 0;
    double begin = now();
    while (!waitpid(child, &status, WNOHANG)) {
        if (now() - begin > 10) {
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
            printf("the child hung\n");
            break;
        }
        usleep(1000);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* Forks in the middle of a trained loop, with work pending. Another thread launches during fork and exec; not during
 * the other forks, since the driver's own locks could then stay taken in the child.
 */
static int fork_pending(void)
{
    unsigned *state = device_zeros<unsigned>(64), *other = device_zeros<unsigned>(64);
    train(state, 0, 60);
    pid_t child = fork();
    if (!child) {
        printf("child leaves\n");
        exit(3);
    }
    printf("a: %d\n", end_of(child));
    std::thread second([=] {
        cudaStream_t stream;
        OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        train(other, stream, 400);
        OK(cudaStreamSynchronize(stream));
    });
    train(state, 0, 10);
    child = fork();
    if (!child) {
        execl("/proc/self/exe", "errors", "refused", (char *)NULL);
        _exit(1);
    }
    printf("b: %d\n", end_of(child));
    second.join();
    train(state, 0, 10);
    child = fork();
    if (!child) {
        void *p;
        CODE(cudaMalloc(&p, 16));
        CODE(cudaDeviceSynchronize());
        check<<<1, 1>>>(1);
        CODE(cudaGetLastError());
        _exit(0);
    }
    printf("c: %d\n", end_of(child));
    train(state, 0, 30);
    print_hash("state", state, 256);
    print_hash("other", other, 256);
    return 0;
}

/* The process forks before any CUDA call; both use the device afterwards. */
static int fork_first(void)
{
    pid_t child = fork();
    if (child)
        printf("d: %d\n", end_of(child));
    unsigned *state = device_zeros<unsigned>(64);
    train(state, 0, 100);
    print_hash(child ? "parent" : "child", state, 256);
    if (!child)
        _exit(0);
    return 0;
}

static void capture_state(cudaStream_t stream)
{
    cudaStreamCaptureStatus status = (cudaStreamCaptureStatus)99;
    CODE(cudaStreamIsCapturing(stream, &status));
    printf("capturing: %d\n", (int)status);
}

/* Captures that end in other ways than they should: the same codes, and launches afterwards count again. */
static int end_capture(void)
{
    unsigned *state = device_zeros<unsigned>(64);
    cudaStream_t stream, other;
    cudaGraph_t graph = nullptr;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    train(state, stream, 30);

    CODE(cudaStreamEndCapture(stream, &graph)); /* none has begun */
    capture_state(stream);
    train(state, stream, 5);

    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    step<<<1, 64, 0, stream>>>(state, 1);
    CODE(cudaStreamEndCapture(stream, nullptr));
    capture_state(stream);
    CODE(cudaStreamEndCapture(stream, &graph));
    capture_state(stream);
    cudaGetLastError();
    train(state, stream, 5);
    print_hash("no graph asked for", state, 256);

    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CODE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    step<<<1, 64, 0, stream>>>(state, 1);
    std::thread([&] { CODE(cudaStreamEndCapture(stream, &graph)); }).join();
    capture_state(stream);
    CODE(cudaStreamEndCapture(stream, &graph));
    capture_state(stream);
    cudaGetLastError();
    train(state, stream, 5);
    print_hash("from another thread", state, 256);

    OK(cudaStreamBeginCapture(other, cudaStreamCaptureModeRelaxed));
    step<<<1, 64, 0, other>>>(state, 1);
    CODE(cudaStreamDestroy(other)); /* while it captures */
    train(state, stream, 5);
    CODE(cudaStreamSynchronize(stream));
    cudaError_t whole = cudaDeviceSynchronize(); /* which may see a capture that nobody can end */
    printf("device: %s\n", cudaGetErrorName(whole));
    if (whole == cudaSuccess)
        print_hash("destroyed", state, 256);
    cudaGetLastError();

    OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    step<<<1, 64, 0, stream>>>(state, 1);
    trap<<<1, 1, 0, other>>>(1);
    CODE(cudaStreamSynchronize(other)); /* the device is lost, and the capture with it */
    CODE(cudaStreamEndCapture(stream, &graph));
    capture_state(stream);
    cudaGetLastError();
    for (int k = 0; k < 20; k++) {
        step<<<1, 64, 0, stream>>>(state, (unsigned)k);
        CODE(cudaGetLastError());
    }
    return list_codes(stream);
}

__global__ static void count_rows(unsigned long long *rows)
{
    if (threadIdx.x == 0 && blockIdx.x == 0)
        atomicAdd(rows, 1ull);
}

/* Grids at and beyond every limit, at a place that has been replayed: refused at the call or run in full. */
static int too_many_blocks(void)
{
    unsigned long long *rows = device_zeros<unsigned long long>(1), host;
    const dim3 grids[] = {dim3(1u << 20, 2049), dim3(2147483648u), dim3(1, 65536), dim3(1, 1, 65536),
                          dim3(1, 65535, 1)};
    for (unsigned k = 0; k < 2000; k++)
        count_rows<<<dim3(1 + k % 3, 1 + k % 5), 32>>>(rows);
    for (const dim3 &grid : grids) {
        count_rows<<<grid, 32>>>(rows);
        printf("%u %u %u: %s\n", grid.x, grid.y, grid.z, cudaGetErrorName(cudaGetLastError()));
        for (unsigned k = 0; k < 10; k++)
            count_rows<<<dim3(1 + k % 3, 1 + k % 5), 32>>>(rows);
        CODE(cudaDeviceSynchronize());
        OK(cudaMemcpy(&host, rows, sizeof host, cudaMemcpyDeviceToHost));
        printf("rows %llu\n", host);
    }
    return 0;
}

__device__ __noinline__ static unsigned deep(unsigned depth, unsigned x)
{
    volatile unsigned local[8];
    local[depth % 8] = turn(x, depth);
    if (depth > 0)
        x = deep(depth - 1, local[depth % 8]);
    return x + local[depth % 8];
}

__global__ static void recurse(unsigned *state, unsigned depth)
{
    state[threadIdx.x] = deep(depth, state[threadIdx.x]);
}

/* The stack of the device's threads is changed between launches, at last to more than there is. */
static int stack_limit(void)
{
    unsigned *state = device_zeros<unsigned>(64);
    const size_t sizes[] = {0, 4096, 32768, 2048, (size_t)512 << 10, (size_t)1 << 32, 2048};
    cudaStream_t stream;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (size_t size : sizes) {
        size_t is = 0;
        printf("%zu:\n", size);
        if (size > 0)
            CODE(cudaDeviceSetLimit(cudaLimitStackSize, size));
        CODE(cudaDeviceGetLimit(&is, cudaLimitStackSize));
        printf("is %zu\n", is);
        cudaGetLastError();
        unsigned most = is >= 32768 ? 100 : 6;
        int refused = 0;
        cudaError_t code = cudaSuccess;
        for (unsigned k = 0; k < 200; k++) {
            recurse<<<1, 64, 0, stream>>>(state, 1 + k % most);
            step<<<1, 64, 0, stream>>>(state, k % 10);
            cudaError_t now_ = cudaGetLastError();
            refused += now_ != cudaSuccess;
            code = now_ != cudaSuccess ? now_ : code;
        }
        printf("refused %d, %s\n", refused, cudaGetErrorName(code));
        CODE(cudaStreamSynchronize(stream));
        print_hash("state", state, 256);
    }
    return 0;
}

__global__ static void count_up(unsigned *cell)
{
    ++*cell;
    __threadfence_system();
}

/* A process ends without waiting for what it launched; another one sees the memory that it worked on. */
static int exit_shared(void)
{
    volatile unsigned *page =
            (volatile unsigned *)mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bool lost = false;
    for (int way = 0; way < 3; way++) {
        *page = 0;
        pid_t child = fork();
        if (!child) {
            unsigned *cell;
            OK(cudaHostRegister((void *)page, 4096, cudaHostRegisterMapped));
            OK(cudaHostGetDevicePointer((void **)&cell, (void *)page, 0));
            for (int k = 0; k < 400; k++)
                count_up<<<1, 1>>>(cell);
            OK(cudaDeviceSynchronize());
            for (int k = 0; k < 230; k++)
                count_up<<<1, 1>>>(cell);
            if (way == 0)
                exit(3);
            usleep(way == 1 ? 100 : 20000); /* less, and more, than the shim holds anything */
            if (way == 1)
                exit(3);
            _exit(3);
        }
        printf("child ended with %d\n", end_of(child));
        printf("# counted %u\n", *page);
        printf("nothing lost: %s\n", *page == 630 ? "yes" : "no");
        lost = lost || *page != 630;
    }
    return lost;
}

static const struct test tests[] = {
        {"refused", refused},           {"bad_address", bad_address},
        {"misaligned", misaligned},     {"trapped", trapped},
        {"asserted", asserted},         {"last_error", last_error},
        {"exit_return", exit_return},   {"exit_call", exit_call},
        {"exit_at_once", exit_at_once}, {"exit_abort", exit_abort},
        {"exit_signal", exit_signal},   {"exit_thread", exit_thread},
        {"fork_pending", fork_pending}, {"fork_first", fork_first},
        {"end_capture", end_capture},   {"too_many_blocks", too_many_blocks},
        {"stack_limit", stack_limit},   {"exit_shared", exit_shared},
};
TESTS_MAIN(tests)
