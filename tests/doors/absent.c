/* Looks for the driver's functions without loading it: by dlsym in the program's own scope, and as weak references.
 * Prints for each function what a call returns, or that there is none; then what dlopen says, and the loaded drivers.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#pragma weak cuInit
#pragma weak cuMemAlloc_v2
#pragma weak cuStreamSynchronize
#pragma weak cuDriverGetVersion

/* What a call of the function returns, where there is one. */
#define SHOW(how, function, ...)                                                                                       \
    do {                                                                                                               \
        if ((function) != NULL)                                                                                        \
            printf(how ": %d\n", (int)(function)(__VA_ARGS__));                                                        \
    } while (0)

static void *in_scope(const char *name)
{
    void *function = dlsym(RTLD_DEFAULT, name);
    if (function == NULL)
        printf("dlsym %s: none\n", name);
    return function;
}

static int count(struct dl_phdr_info *info, size_t size, void *drivers)
{
    const char *base = strrchr(info->dlpi_name, '/');
    (void)size;
    *(int *)drivers += base != NULL && strncmp(base, "/libcuda.so", 11) == 0;
    return 0;
}

int main(void)
{
    CUdeviceptr memory = 0;
    int version = 0, drivers = 0;
    CUresult (*init)(unsigned) = (CUresult(*)(unsigned))in_scope("cuInit");
    CUresult (*alloc)(CUdeviceptr *, size_t) = (CUresult(*)(CUdeviceptr *, size_t))in_scope("cuMemAlloc_v2");
    CUresult (*synchronize)(CUstream) = (CUresult(*)(CUstream))in_scope("cuStreamSynchronize");
    CUresult (*ask)(int *) = (CUresult(*)(int *))in_scope("cuDriverGetVersion");
    SHOW("dlsym cuInit", init, 0);
    SHOW("dlsym cuMemAlloc_v2", alloc, &memory, 64);
    SHOW("dlsym cuStreamSynchronize", synchronize, NULL);
    SHOW("dlsym cuDriverGetVersion", ask, &version);
    SHOW("weak cuInit", cuInit, 0);
    SHOW("weak cuMemAlloc_v2", cuMemAlloc_v2, &memory, 64);
    SHOW("weak cuStreamSynchronize", cuStreamSynchronize, NULL);
    SHOW("weak cuDriverGetVersion", cuDriverGetVersion, &version);
    printf("memory %llu, version %d\n", (unsigned long long)memory, version);
    dl_iterate_phdr(count, &drivers);
    printf("drivers loaded: %d\n", drivers);
    printf("dlopen: %s\n", dlopen("libcuda.so.1", RTLD_NOW) != NULL ? "loaded" : dlerror());
    return 0;
}
