/* Another preloaded library, with a dlopen of its own. It says at the end how often the driver was asked for. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef void *dlopen_type(const char *file, int mode);

static atomic_bool asked;

__attribute__((visibility("default"))) void *dlopen(const char *file, int mode)
{
    static dlopen_type *real;
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "dlopen");
    if (file != NULL && (strstr(file, "libcuda.so") != NULL || strstr(file, "_cuda.so") != NULL))
        atomic_store(&asked, true);
    return real(file, mode);
}

__attribute__((destructor)) static void end(void)
{
    printf("dlopen of the driver: %s\n", atomic_load(&asked) ? "seen" : "not seen");
    fflush(stdout);
}
