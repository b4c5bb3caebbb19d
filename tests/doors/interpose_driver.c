/* Another preloaded library, which stands in for the driver (the simulated one is linked into it), and whose dlopen
 * answers the driver's name with whoever defines the driver's functions first: Nsight Compute has one. What it does for
 * others it does with such functions itself, in its dlopen and in its answer to cuDriverGetVersion. It gets the driver
 * itself, since its dlopen knows it by the caller, and says so when it does not. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef void *dlopen_type(const char *file, int mode);

/* Calls a driver function of whoever defines it first, where that is not under way already. */
static void call_first(bool *inside)
{
    int (*synchronize)(void) = NULL;
    if (*inside)
        return;
    *inside = true;
    *(void **)&synchronize = dlsym(RTLD_DEFAULT, "cuCtxSynchronize");
    synchronize();
    *inside = false;
}

int sim_cuDriverGetVersion(int *version);

/* In place of the simulated driver's own: the first of several definitions counts. */
__attribute__((visibility("default"))) int cuDriverGetVersion(int *version);
int cuDriverGetVersion(int *version)
{
    static _Thread_local bool inside;
    call_first(&inside);
    return sim_cuDriverGetVersion(version);
}

static bool is_own(const void *code)
{
    Dl_info info, own;
    return dladdr(code, &info) != 0 && dladdr((void *)is_own, &own) != 0 && info.dli_fbase == own.dli_fbase;
}

__attribute__((constructor)) static void find_driver(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (driver == NULL || is_own(dlsym(driver, "cuInit")))
        puts("what stands in for the driver did not get the driver");
}

__attribute__((visibility("default"))) void *dlopen(const char *file, int mode)
{
    static dlopen_type *real;
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "dlopen");
    const char *base = file != NULL ? strrchr(file, '/') : NULL;
    Dl_info info;
    base = base != NULL ? base + 1 : file;
    if (base == NULL || strcmp(base, "libcuda.so.1") != 0 || is_own(__builtin_return_address(0)))
        return real(file, mode);
    static _Thread_local bool inside;
    call_first(&inside);
    void *defined = dlsym(RTLD_DEFAULT, "cuGetProcAddress");
    if (defined != NULL && dladdr(defined, &info) != 0)
        return real(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    return real(file, mode);
}
