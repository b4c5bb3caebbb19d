/* The ways of `process` that fork, and those with several threads from the start. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/doors/process.h"

/* 0 when the child left with status 0. A child that hangs is killed by its own alarm. */
static int joined(pid_t child, const char *what)
{
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 1;
    if (status != 0)
        printf("%s: child ended with %#x\n", what, (unsigned)status);
    return status != 0;
}

static int exec_self(const char *way)
{
    execl("/proc/self/exe", "process", way, (char *)NULL);
    return 127;
}

static void print_codes(struct work *work)
{
    unsigned value = 1, count = WORK_WORDS;
    void *arguments[] = {&work->data, &value, &count};
    CUdeviceptr other = 0;
    CUfunction function;
    CUstream stream;
    CUcontext context;
    int number;
    printf("launch %d\n",
           (int)process_driver.cuLaunchKernel(work->step, 1, 1, 1, 64, 1, 1, 0, work->stream, arguments, NULL));
    printf("memset %d\n", (int)process_driver.cuMemsetD32Async(work->data, 1, 3, work->stream));
    printf("synchronise %d\n", (int)process_driver.cuStreamSynchronize(work->stream));
    printf("query %d\n", (int)cuStreamQuery(work->stream));
    printf("set %d\n", (int)cuFuncSetAttribute(work->step, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 4096));
    printf("get %d\n", (int)cuFuncGetAttribute(&number, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, work->step));
    printf("function %d\n", (int)process_driver.cuModuleGetFunction(&function, work->module, "mix"));
    printf("allocate %d\n", (int)process_driver.cuMemAlloc_v2(&other, 1000));
    printf("stream %d\n", (int)process_driver.cuStreamCreate(&stream, 0));
    printf("destroy %d\n", (int)process_driver.cuStreamDestroy_v2(work->stream));
    printf("unload %d\n", (int)process_driver.cuModuleUnload(work->module));
    printf("context %d\n", (int)cuCtxDestroy(NULL));
    printf("current %d\n", (int)cuCtxGetCurrent(&context));
    printf("reset %d\n", (int)cuDevicePrimaryCtxReset(0));
    printf("init %d\n", (int)cuInit(0));
}

int process_fork_launch(void)
{
    struct work work;
    if (process_begin(&work) != 0 || work_round(&work, 10) != 0)
        return 1;
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        print_codes(&work);
        exit(0);
    }
    return joined(child, "fork") != 0 || process_warm(&work) != 0 || work_print(&work, "parent") != 0 ||
           work_close(&work) != 0;
}

/* Threads are at work in the middle of everything when the process forks. */
static atomic_bool stop;

void *process_launch_until_stopped(void *argument)
{
    struct work work;
    CUcontext context;
    (void)argument;
    if (cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS || work_open(&work, &process_driver) != 0)
        return (void *)1;
    for (unsigned i = 0; !atomic_load(&stop); i++) {
        if (work_round(&work, i) != 0)
            return (void *)1;
        cuFuncSetAttribute(work.step, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)(i % 4 + 1) * 1024);
        if (i % 8 == 7 && process_driver.cuStreamSynchronize(work.stream) != CUDA_SUCCESS)
            return (void *)1;
    }
    return (void *)(uintptr_t)(process_driver.cuStreamSynchronize(work.stream) != CUDA_SUCCESS);
}

void process_start(pthread_t threads[PROCESS_LAUNCHERS], void *(*run)(void *))
{
    for (unsigned i = 0; i < PROCESS_LAUNCHERS; i++)
        pthread_create(&threads[i], NULL, run, NULL);
}

static int all_joined(const pthread_t threads[PROCESS_LAUNCHERS])
{
    int bad = 0;
    for (unsigned i = 0; i < PROCESS_LAUNCHERS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        bad = bad || result != NULL;
    }
    return bad;
}

int process_fork_busy(void)
{
    pthread_t threads[PROCESS_LAUNCHERS];
    struct work work;
    int bad = process_begin(&work);
    process_start(threads, process_launch_until_stopped);
    for (unsigned i = 0; i < 15 && bad == 0; i++) {
        bad = work_round(&work, i);
        pid_t child = fork();
        if (child == 0) {
            alarm(20);
            if (freopen("/dev/null", "w", stdout) == NULL)
                _exit(1);
            print_codes(&work);
            exit(0);
        }
        bad = bad || joined(child, "busy fork");
    }
    atomic_store(&stop, true);
    bad = all_joined(threads) || bad;
    return bad || work_print(&work, "parent of busy forks") != 0 || work_close(&work) != 0;
}

int process_fork_exec(void)
{
    struct work work;
    if (process_begin(&work) != 0 || work_round(&work, 10) != 0)
        return 1;
    pid_t child = fork();
    if (child == 0)
        _exit(exec_self("plain"));
    int bad = joined(child, "fork and exec");
    child = vfork();
    if (child == 0)
        _exit(exec_self("plain"));
    bad = bad || joined(child, "vfork and exec");
    return bad || work_round(&work, 11) != 0 || work_print(&work, "parent") != 0 || work_close(&work) != 0;
}

/* The parent never touches the driver, so its children may. */
static int in_children(const char *what, unsigned count, int (*run)(void))
{
    for (unsigned i = 0; i < count; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(30);
            exit(run());
        }
        if (joined(child, what) != 0)
            return 1;
    }
    return 0;
}

static int run_child(void)
{
    return work_run(&process_driver, "child", 20);
}

int process_fork_first(void)
{
    return in_children("fork first", 2, run_child);
}

/* The first calls of a process come from several threads at once: the driver is being found by one of them. */
static pthread_barrier_t together;

static void *first_call(void *argument)
{
    CUcontext context;
    struct work work;
    (void)argument;
    pthread_barrier_wait(&together);
    if (cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS || work_open(&work, &process_driver) != 0)
        return (void *)1;
    int bad = 0;
    for (unsigned i = 0; i < 4; i++)
        bad = bad || work_round(&work, i) != 0;
    return (void *)(uintptr_t)(work_close(&work) != 0 || bad);
}

static int first_calls(void)
{
    pthread_t threads[PROCESS_LAUNCHERS];
    int bad = cuInit(0) != CUDA_SUCCESS;
    pthread_barrier_init(&together, NULL, PROCESS_LAUNCHERS);
    process_start(threads, first_call);
    return all_joined(threads) || bad;
}

int process_first_together(void)
{
    return in_children("first together", 8, first_calls);
}
