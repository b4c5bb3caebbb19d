/* The driver reached through each of its doors: linked, dlopen and dlsym, the same by absolute path, and the driver's
 * own look-up in its versions and with the flag for per-thread default streams. Conventions as in gpu.h.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include "driver.h"

typedef CUresult launch_type(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
                             void **, void **);
typedef CUresult memset_type(CUdeviceptr, unsigned, size_t, CUstream);

static int run(launch_type *start, memset_type *fill)
{
    CUmodule module;
    CUfunction f;
    CUstream stream;
    OK(cuInit(0));
    new_context();
    OK(cuModuleLoadData(&module, STEP_PTX("5")));
    OK(cuModuleGetFunction(&f, module, "step"));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CUdeviceptr state = zeros(256);
    for (unsigned k = 0; k < 4000; k++) {
        unsigned a = k % 40;
        void *parameters[] = {&state, &a};
        OK(start(f, 1, 1, 1, 64, 1, 1, 0, stream, parameters, NULL));
        if (k % 10 == 7)
            OK(fill(state, k, 3, stream));
    }
    OK(cuStreamSynchronize(stream));
    print_hash("state", state, 256);
    return 0;
}

static int linked(void)
{
    return run(cuLaunchKernel, cuMemsetD32Async);
}

static int by_dlsym(const char *name)
{
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        printf("%s\n", dlerror());
        return 1;
    }
    return run((launch_type *)dlsym(handle, "cuLaunchKernel"), (memset_type *)dlsym(handle, "cuMemsetD32Async"));
}

static int find_path(struct dl_phdr_info *info, size_t size, void *out)
{
    (void)size;
    const char *base = strrchr(info->dlpi_name, '/');
    if (base && !strncmp(base, "/libcuda.so", 11))
        strcpy(out, info->dlpi_name);
    return 0;
}

static int by_path(void)
{
    char path[4096] = "";
    if (!dlopen("libcuda.so.1", RTLD_NOW))
        return 1;
    dl_iterate_phdr(find_path, path);
    return by_dlsym(path);
}

static void *address(const char *name, int version, cuuint64_t flags)
{
    void *p = NULL;
    CUdriverProcAddressQueryResult status = (CUdriverProcAddressQueryResult)99;
    CUresult code = cuGetProcAddress(name, &p, version, flags, &status);
    printf("%s %d: %s, %s, status %d\n", name, version, code_name(code), p ? "found" : "none", (int)status);
    return p;
}

static int by_address(cuuint64_t flags)
{
    address("cuLaunchKernel", 3000, flags);
    address("cuLaunchKernel", 4000, flags);
    address("cuNothingOfThisName", 12000, flags);
    address("cuLaunchKernelEx", 11000, flags);
    address("cuMemcpyDtoDAsync", 3020, flags);
    return run((launch_type *)address("cuLaunchKernel", CUDA_VERSION, flags),
               (memset_type *)address("cuMemsetD32Async", CUDA_VERSION, flags));
}

static int by_first_version(void)
{
    typedef CUresult first(const char *, void **, int, cuuint64_t);
    void *lookup = address("cuGetProcAddress", 11030, 0), *start = NULL, *fill = NULL;
    OK(((first *)lookup)("cuLaunchKernel", &start, 11030, 0));
    OK(((first *)lookup)("cuMemsetD32Async", &fill, 11030, 0));
    printf("unknown name: %s\n", code_name(((first *)lookup)("cuNothingOfThisName", &fill, 11030, 0)));
    OK(((first *)lookup)("cuMemsetD32Async", &fill, 11030, 0));
    return run((launch_type *)start, (memset_type *)fill);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    if (!strcmp(name, "list"))
        return puts("linked\ndlsym\npath\naddress\naddress_per_thread\naddress_v1") < 0;
    OK(cuInit(0));
    if (!strcmp(name, "linked"))
        return linked();
    if (!strcmp(name, "dlsym"))
        return by_dlsym("libcuda.so.1");
    if (!strcmp(name, "path"))
        return by_path();
    if (!strcmp(name, "address"))
        return by_address(CU_GET_PROC_ADDRESS_LEGACY_STREAM);
    if (!strcmp(name, "address_per_thread"))
        return by_address(CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
    if (!strcmp(name, "address_v1"))
        return by_first_version();
    return 2;
}
