/* Errors, exits and forks: the same codes at the same calls, the same exit status. */
#include "gpu.h"
#include <assert.h>
#include <signal.h>
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

static const struct test tests[] = {
        {"refused", refused},           {"bad_address", bad_address}, {"misaligned", misaligned},
        {"trapped", trapped},           {"asserted", asserted},       {"last_error", last_error},
        {"exit_return", exit_return},   {"exit_call", exit_call},     {"exit_at_once", exit_at_once},
        {"exit_abort", exit_abort},     {"exit_signal", exit_signal}, {"exit_thread", exit_thread},
        {"fork_pending", fork_pending}, {"fork_first", fork_first},
};
TESTS_MAIN(tests)
