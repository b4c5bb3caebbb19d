/* Another preloaded library, which stands in for the driver (the simulated one is linked into it), and whose dlopen
 * answers the driver's name with whoever defines the driver's functions first: Nsight Compute has one. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

typedef void *dlopen_type(const char *file, int mode);

__attribute__((visibility("default"))) void *dlopen(const char *file, int mode)
{
    static dlopen_type *real;
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "dlopen");
    const char *base = file != NULL ? strrchr(file, '/') : NULL;
    void *defined = dlsym(RTLD_DEFAULT, "cuGetProcAddress");
    Dl_info info;
    base = base != NULL ? base + 1 : file;
    if (base != NULL && strcmp(base, "libcuda.so.1") == 0 && defined != NULL && dladdr(defined, &info) != 0)
        return real(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    return real(file, mode);
}
