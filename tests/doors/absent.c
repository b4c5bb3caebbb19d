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
    if (init != NULL)
        printf("dlsym cuInit: %d\n", (int)init(0));
    if (alloc != NULL)
        printf("dlsym cuMemAlloc_v2: %d\n", (int)alloc(&memory, 64));
    if (synchronize != NULL)
        printf("dlsym cuStreamSynchronize: %d\n", (int)synchronize(NULL));
    if (ask != NULL)
        printf("dlsym cuDriverGetVersion: %d\n", (int)ask(&version));
    if (cuInit != NULL)
        printf("weak cuInit: %d\n", (int)cuInit(0));
    if (cuMemAlloc_v2 != NULL)
        printf("weak cuMemAlloc_v2: %d\n", (int)cuMemAlloc_v2(&memory, 64));
    if (cuStreamSynchronize != NULL)
        printf("weak cuStreamSynchronize: %d\n", (int)cuStreamSynchronize(NULL));
    if (cuDriverGetVersion != NULL)
        printf("weak cuDriverGetVersion: %d\n", (int)cuDriverGetVersion(&version));
    printf("memory %llu, version %d\n", (unsigned long long)memory, version);
    dl_iterate_phdr(count, &drivers);
    printf("drivers loaded: %d\n", drivers);
    printf("dlopen: %s\n", dlopen("libcuda.so.1", RTLD_NOW) != NULL ? "loaded" : dlerror());
    return 0;
}
