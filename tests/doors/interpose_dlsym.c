/* Another preloaded library, with a dlsym of its own that answers for one driver function, as tools that share a GPU
 * among containers do. It says at the end how many launches it saw. */
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

typedef void *dlsym_type(void *handle, const char *name);
typedef CUresult launch_type(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
                             void **, void **);

static launch_type *next_launch;
static atomic_uint launches;

static CUresult launch(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                       unsigned shared, CUstream stream, void **params, void **extra)
{
    atomic_fetch_add(&launches, 1);
    return next_launch(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra);
}

__attribute__((visibility("default"))) void *dlsym(void *handle, const char *name)
{
    static dlsym_type *real;
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};
    for (unsigned i = 0; real == NULL && i < 3; i++)
        *(void **)&real = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    void *found = real(handle, name);
    if (found == NULL || strcmp(name, "cuLaunchKernel") != 0)
        return found;
    *(void **)&next_launch = found;
    return (void *)launch;
}

__attribute__((destructor)) static void end(void)
{
    printf("launches through dlsym: %u\n", atomic_load(&launches));
    fflush(stdout);
}
