/* A library that reaches the driver as the CUDA runtime does: dlopen, one dlsym for the look-up function, a probe with
 * an empty name, and then the driver's own look-up of everything else, in both meanings of stream 0. Every copy of it
 * in a process does so for itself. */
#define _GNU_SOURCE
#include "tests/doors/work.h"

#include <dlfcn.h>
#include <stdio.h>

typedef CUresult look_up_type(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);

static look_up_type *look_up;

static void *find(const char *name, void *unused)
{
    CUdriverProcAddressQueryResult status;
    void *function = NULL, *other = NULL;
    (void)unused;
    look_up(name, &other, 12040, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &status);
    if (look_up(name, &function, 12040, CU_GET_PROC_ADDRESS_DEFAULT, &status) != CUDA_SUCCESS)
        return NULL;
    return function;
}

__attribute__((visibility("default"))) int runtime_work(const char *name);

int runtime_work(const char *name)
{
    struct work_driver driver;
    CUdriverProcAddressQueryResult status;
    void *nothing = NULL;
    void *handle = dlopen("libcuda.so.1", RTLD_NOW);
    if (handle == NULL) {
        puts(dlerror());
        return 1;
    }
    *(void **)&look_up = dlsym(handle, "cuGetProcAddress_v2");
    if (look_up == NULL)
        return 1;
    printf("%s: empty name: %d\n", name, (int)look_up("", &nothing, 12040, CU_GET_PROC_ADDRESS_DEFAULT, &status));
    /* the look-up function found by itself */
    void *again = NULL;
    if (look_up("cuGetProcAddress", &again, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &status) == CUDA_SUCCESS)
        *(void **)&look_up = again;
    return !work_find(&driver, true, find, NULL) || work_run(&driver, name, 30);
}
