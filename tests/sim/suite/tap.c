/* See tap.h. */
#define _GNU_SOURCE
#include "tests/sim/suite/tap.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ThreadSanitizer would sleep a second at the end of every case. */
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "atexit_sleep_ms=0";
}

static unsigned int failures;
static CUmodule shared_module;

static bool run_case(const struct tap_case *test, const char *setting)
{
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        setenv("AUTOGRAPH_SIM", setting, 1);
        alarm(30);
        test->run();
        fflush(stdout);
        exit(failures ? 1 : 0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return false;
    if (WIFSIGNALED(status))
        printf("# ended by signal %d\n", WTERMSIG(status));
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int tap_run(const struct tap_case *cases, size_t count)
{
    static const char *const schedules[] = {"schedule=eager", "schedule=lazy", "schedule=random,seed=7"};
    unsigned int number = 0, failed = 0;
    for (size_t i = 0; i < count; i++) {
        for (int s = 0; s < 3; s++) {
            if (cases[i].setting && s)
                break;
            const char *setting = cases[i].setting ? cases[i].setting : schedules[s];
            bool ok = run_case(&cases[i], setting);
            failed += !ok;
            printf("%sok %u - %s (%s)\n", ok ? "" : "not ", ++number, cases[i].name, setting);
        }
    }
    printf("1..%u\n", number);
    return failed ? 1 : 0;
}

bool tap_expect(bool condition, const char *text, const char *file, int line)
{
    if (!condition) {
        printf("# %s:%d: not so: %s\n", file, line, text);
        failures++;
    }
    return condition;
}

bool tap_expect_code(CUresult got, CUresult want, const char *text, const char *file, int line)
{
    if (got != want) {
        printf("# %s:%d: %s gave %d, not %d\n", file, line, text, (int)got, (int)want);
        failures++;
    }
    return got == want;
}

CUcontext tap_context(void)
{
    CUcontext ctx = NULL;
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&ctx, 0));
    OK(cuCtxSetCurrent(ctx));
    return ctx;
}

const char *tap_module_path(void)
{
    static char path[PATH_MAX + 64];
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
    if (length <= 0)
        return "";
    path[length] = 0;
    *strrchr(path, '/') = 0;
    strcat(path, "/../../samples/kernels.ptx");
    return path;
}

CUmodule tap_module(void)
{
    CUmodule module = NULL;
    OK(cuModuleLoad(&module, tap_module_path()));
    return module;
}

CUfunction tap_function(const char *name)
{
    CUfunction function = NULL;
    if (!shared_module)
        shared_module = tap_module();
    OK(cuModuleGetFunction(&function, shared_module, name));
    return function;
}

CUdeviceptr tap_words(size_t count)
{
    CUdeviceptr words = 0;
    OK(cuMemAlloc(&words, count * sizeof(unsigned int)));
    OK(cuMemsetD32(words, 0, count));
    OK(cuCtxSynchronize());
    return words;
}

unsigned int tap_word(CUdeviceptr address)
{
    unsigned int word = 0xdeadu;
    OK(cuMemcpyDtoH(&word, address, sizeof(word)));
    return word;
}

unsigned int *tap_mapped(size_t count)
{
    void *words = NULL;
    OK(cuMemHostAlloc(&words, count * sizeof(unsigned int), CU_MEMHOSTALLOC_DEVICEMAP));
    return words;
}

CUresult tap_launch(CUfunction f, CUstream stream, void **args)
{
    return cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL);
}

CUresult tap_step(CUdeviceptr data, unsigned int value, CUstream stream)
{
    unsigned int count = 1;
    void *args[] = {&data, &value, &count};
    return tap_launch(tap_function("step"), stream, args);
}

CUresult tap_wait_for(unsigned int *flag, unsigned int value, CUdeviceptr out, CUstream stream)
{
    unsigned long long limit = 10000000000ull;
    void *args[] = {&flag, &value, &out, &limit};
    return tap_launch(tap_function("wait_for"), stream, args);
}

void tap_raise(unsigned int *flag, unsigned int value)
{
    __atomic_store_n(flag, value, __ATOMIC_RELEASE);
}

unsigned int tap_read(const unsigned int *flag)
{
    return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

void tap_sleep_ms(unsigned int ms)
{
    struct timespec nap = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    nanosleep(&nap, NULL);
}

bool tap_becomes(const unsigned int *flag, unsigned int value, unsigned int ms)
{
    for (unsigned int waited = 0; tap_read(flag) != value; waited++) {
        if (waited >= ms)
            return false;
        tap_sleep_ms(1);
    }
    return true;
}

bool tap_lazy(void)
{
    return strstr(getenv("AUTOGRAPH_SIM"), "lazy") != NULL;
}
