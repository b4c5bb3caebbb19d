/* Programs that fork, end and stop in unusual ways while work is held. Usage: process WAY. What is printed does not
 * depend on timing, but for lines that say that something did not happen in time. */
#define _GNU_SOURCE
#include "tests/doors/process.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

const struct work_driver process_driver = {
#define WORK_LINKED(symbol, api, params) .symbol = symbol,
        WORK_FUNCTIONS(WORK_LINKED)
#undef WORK_LINKED
};

static void pause_ms(unsigned ms)
{
    nanosleep(&(struct timespec){ms / 1000, (long)(ms % 1000) * 1000000}, NULL);
}

int process_warm(struct work *work)
{
    for (unsigned i = 0; i < 10; i++) {
        if (work_round(work, i) != 0)
            return 1;
        TRY(process_driver.cuStreamSynchronize(work->stream));
    }
    return 0;
}

int process_begin(struct work *work)
{
    return work_open(work, &process_driver) != 0 || process_warm(work) != 0;
}

/* ---- work that is held while nothing more is called ---- */

struct flag {
    CUfunction set;
    CUdeviceptr device;
    unsigned *host;
};

static int make_flag(struct work *work, struct flag *flag)
{
    TRY(process_driver.cuModuleGetFunction(&flag->set, work->module, "set_flag"));
    TRY(cuMemHostAlloc((void **)&flag->host, sizeof *flag->host, CU_MEMHOSTALLOC_DEVICEMAP));
    TRY(cuMemHostGetDevicePointer(&flag->device, flag->host, 0));
    *flag->host = 0;
    return 0;
}

static int raise_flag(struct work *work, struct flag *flag, unsigned value)
{
    void *arguments[] = {&flag->device, &value};
    TRY(process_driver.cuLaunchKernel(flag->set, 1, 1, 1, 1, 1, 1, 0, work->stream, arguments, NULL));
    return 0;
}

/* Waits at most ten seconds, without any call into the driver. */
static bool raised(const struct flag *flag, unsigned value)
{
    for (unsigned i = 0; i < 10000; i++) {
        if (__atomic_load_n(flag->host, __ATOMIC_ACQUIRE) == value)
            return true;
        pause_ms(1);
    }
    printf("the flag is %u, not %u\n", __atomic_load_n(flag->host, __ATOMIC_ACQUIRE), value);
    return false;
}

static int flag_known(struct work *work, struct flag *flag)
{
    if (process_begin(work) != 0 || make_flag(work, flag) != 0)
        return 1;
    for (unsigned i = 1; i < 4; i++)
        if (raise_flag(work, flag, i) != 0)
            return 1;
    TRY(process_driver.cuStreamSynchronize(work->stream));
    return 0;
}

/* Leaves without any handler, but not at once: the driver has had the work. */
static int leave_at_once(void)
{
    struct work work;
    struct flag flag;
    if (flag_known(&work, &flag) != 0 || work_round(&work, 10) != 0 || raise_flag(&work, &flag, 77) != 0)
        return 1;
    if (!raised(&flag, 77))
        return 1;
    printf("raised\n");
    fflush(stdout);
    _exit(5);
}

/* Ends with work held: the simulator counts what it was given before it was shut down. */
static int leave_with_work(void)
{
    struct work work;
    if (process_begin(&work) != 0 || work_round(&work, 10) != 0)
        return 1;
    printf("%u operations\n", work.operations);
    exit(6);
}

/* The thread that launched is gone. */
static void *launch_and_end(void *argument)
{
    void **both = argument;
    CUcontext context;
    if (cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS || cuCtxSetCurrent(context) != CUDA_SUCCESS)
        return (void *)1;
    return (void *)(uintptr_t)(work_round(both[0], 10) != 0 || raise_flag(both[0], both[1], 78) != 0);
}

static int thread_ends(void)
{
    struct work work;
    struct flag flag;
    if (flag_known(&work, &flag) != 0)
        return 1;
    for (unsigned i = 0; i < 20; i++) {
        void *both[] = {&work, &flag}, *result;
        pthread_t thread;
        *flag.host = 0;
        pthread_create(&thread, NULL, launch_and_end, both);
        pthread_join(thread, &result);
        if (result != NULL || !raised(&flag, 78))
            return 1;
    }
    return work_print(&work, "threads ended") != 0 || work_close(&work) != 0;
}

/* Cancelled between calls, at no particular one. */
struct cancelled {
    struct work work;
    bool failed;
};

static void *launch_for_ever(void *argument)
{
    struct cancelled *c = argument;
    CUcontext context;
    c->failed = cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS || cuCtxSetCurrent(context) != CUDA_SUCCESS;
    while (!c->failed) {
        unsigned value = c->work.operations, count = WORK_WORDS;
        void *arguments[] = {&c->work.data, &value, &count};
        c->failed = process_driver.cuLaunchKernel(c->work.step, 1, 1, 1, 64, 1, 1, 0, c->work.stream, arguments,
                                                  NULL) != CUDA_SUCCESS;
        c->work.operations++;
        pthread_testcancel();
    }
    return NULL;
}

static int cancel(void)
{
    for (unsigned i = 0; i < 20; i++) {
        struct cancelled c = {.failed = false};
        unsigned words[WORK_WORDS], expected = 0;
        pthread_t thread;
        if (work_open(&c.work, &process_driver) != 0)
            return 1;
        pthread_create(&thread, NULL, launch_for_ever, &c);
        pause_ms(1 + i % 5);
        pthread_cancel(thread);
        pthread_join(thread, NULL);
        for (unsigned k = 0; k < c.work.operations; k++)
            expected = expected * 3u + k;
        TRY(process_driver.cuStreamSynchronize(c.work.stream));
        TRY(process_driver.cuMemcpyDtoH_v2(words, c.work.data, sizeof words));
        if (c.failed || words[0] != expected) {
            printf("round %u: %x after %u operations, not %x\n", i, words[0], c.work.operations, expected);
            return 1;
        }
        if (work_close(&c.work) != 0)
            return 1;
    }
    printf("cancelled\n");
    return 0;
}

/* ---- signals ---- */

static void leave_now(int signal)
{
    (void)signal;
    exit(3);
}

/* This program's own allocation functions, which libraries reach as well: at the SIGNAL_AT-th allocation of the shim
 * the signal comes, so that its handler runs in the middle of a call. */
static atomic_int allocations_left;

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);

static void allocating(const void *caller)
{
    Dl_info info;
    if (atomic_load(&allocations_left) > 0 && dladdr(caller, &info) != 0 && info.dli_fname != NULL &&
        strstr(info.dli_fname, "libautograph.so") != NULL && atomic_fetch_sub(&allocations_left, 1) == 1)
        raise(SIGUSR1);
}

__attribute__((visibility("default"))) void *malloc(size_t size)
{
    allocating(__builtin_return_address(0));
    return __libc_malloc(size);
}

__attribute__((visibility("default"))) void *calloc(size_t count, size_t size)
{
    allocating(__builtin_return_address(0));
    return __libc_calloc(count, size);
}

__attribute__((visibility("default"))) void *realloc(void *memory, size_t size)
{
    allocating(__builtin_return_address(0));
    return __libc_realloc(memory, size);
}
#endif

static int exit_in_handler(void)
{
    struct work work;
    signal(SIGUSR1, leave_now);
    if (work_open(&work, &process_driver) != 0)
        return 1;
    alarm(20);
    const char *when = getenv("SIGNAL_AT");
    atomic_store(&allocations_left, when != NULL ? (int)strtol(when, NULL, 10) : 0);
    if (process_warm(&work) != 0)
        return 1;
    raise(SIGUSR1);
    return 1;
}

/* Other threads go on launching while one leaves from a handler. */
static int exit_in_handler_busy(void)
{
    pthread_t threads[PROCESS_LAUNCHERS];
    signal(SIGUSR1, leave_now);
    alarm(20);
    /* a thread that the driver refuses meanwhile says so */
    if (cuInit(0) != CUDA_SUCCESS || freopen("/dev/null", "w", stdout) == NULL)
        return 1;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    process_start(threads, process_launch_until_stopped);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    pause_ms(30);
    raise(SIGUSR1);
    return 1;
}

/* ---- the end ---- */

static struct work last;

static void work_late(void)
{
    printf("handler of exit: %d\n", work_round(&last, 11) != 0 || work_print(&last, "late") != 0);
}

static int work_at_exit(void)
{
    atexit(work_late); /* before the driver's own handler, so it runs after that */
    if (process_begin(&last) != 0)
        return 1;
    atexit(work_late);
    return 0;
}

__attribute__((destructor)) static void work_in_destructor(void)
{
    if (last.operations > 0)
        printf("destructor: %d\n", work_round(&last, 12) != 0 || work_print(&last, "later") != 0);
}

static int plain(void)
{
    return work_run(&process_driver, "plain", 30);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } ways[] = {
            {"plain", plain},
            {"fork_launch", process_fork_launch},
            {"fork_busy", process_fork_busy},
            {"fork_exec", process_fork_exec},
            {"fork_first", process_fork_first},
            {"leave_at_once", leave_at_once},
            {"leave_with_work", leave_with_work},
            {"thread_ends", thread_ends},
            {"cancel", cancel},
            {"exit_in_handler", exit_in_handler},
            {"first_together", process_first_together},
            {"exit_in_handler_busy", exit_in_handler_busy},
            {"work_at_exit", work_at_exit},
    };
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (unsigned i = 0; argc > 1 && i < sizeof ways / sizeof ways[0]; i++)
        if (strcmp(argv[1], ways[i].name) == 0)
            return ways[i].run();
    fprintf(stderr, "usage: process WAY\n");
    return 2;
}
