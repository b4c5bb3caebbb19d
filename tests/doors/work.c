#define _GNU_SOURCE
#include "tests/doors/work.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

bool work_find(struct work_driver *driver, bool api, void *(*find)(const char *name, void *data), void *data)
{
    bool complete = true;
#define WORK_LOOK(symbol, api_name, params)                                                                            \
    *(void **)&driver->symbol = find(api ? #api_name : #symbol, data);                                                 \
    if (driver->symbol == NULL) {                                                                                      \
        printf("%s is missing\n", #symbol);                                                                            \
        complete = false;                                                                                              \
    }
    WORK_FUNCTIONS(WORK_LOOK)
    return complete;
}

void *work_dlsym(const char *name, void *handle)
{
    return dlsym(handle, name);
}

int work_open(struct work *work, const struct work_driver *driver)
{
    CUcontext context;
    CUdevice device;
    const char *kernels = getenv("KERNELS");
    *work = (struct work){.driver = driver};
    TRY(driver->cuInit(0));
    TRY(driver->cuDeviceGet(&device, 0));
    TRY(driver->cuDevicePrimaryCtxRetain(&context, device));
    TRY(driver->cuCtxSetCurrent(context));
    TRY(driver->cuModuleLoad(&work->module, kernels != NULL ? kernels : "kernels.ptx"));
    TRY(driver->cuModuleGetFunction(&work->step, work->module, "step"));
    TRY(driver->cuStreamCreate(&work->stream, CU_STREAM_NON_BLOCKING));
    TRY(driver->cuMemAlloc_v2(&work->data, WORK_WORDS * sizeof(unsigned)));
    TRY(driver->cuMemsetD8_v2(work->data, 0, WORK_WORDS * sizeof(unsigned)));
    TRY(driver->cuCtxSynchronize()); /* the stream does not wait for the memset */
    return 0;
}

int work_round(struct work *work, unsigned round)
{
    unsigned count = WORK_WORDS;
    for (unsigned k = 0; k < 9; k++) {
        unsigned value = round * 16 + k;
        void *arguments[] = {&work->data, &value, &count};
        TRY(work->driver->cuLaunchKernel(work->step, 1, 1, 1, WORK_WORDS, 1, 1, 0, work->stream, arguments, NULL));
        work->operations++;
    }
    TRY(work->driver->cuMemsetD32Async(work->data, round, 3, work->stream));
    work->operations++;
    return 0;
}

int work_print(struct work *work, const char *name)
{
    unsigned words[WORK_WORDS], hash = 2166136261u;
    TRY(work->driver->cuStreamSynchronize(work->stream));
    TRY(work->driver->cuMemcpyDtoH_v2(words, work->data, sizeof(words)));
    for (unsigned i = 0; i < WORK_WORDS; i++)
        hash = (hash ^ words[i]) * 16777619u;
    printf("%s: %u operations, %08x\n", name, work->operations, hash);
    return 0;
}

int work_close(struct work *work)
{
    TRY(work->driver->cuStreamDestroy_v2(work->stream));
    TRY(work->driver->cuMemFree_v2(work->data));
    TRY(work->driver->cuModuleUnload(work->module));
    return 0;
}

int work_run(const struct work_driver *driver, const char *name, unsigned rounds)
{
    struct work work;
    if (work_open(&work, driver) != 0)
        return 1;
    for (unsigned i = 0; i < rounds; i++) {
        if (work_round(&work, i) != 0)
            return 1;
        TRY(driver->cuStreamSynchronize(work.stream));
    }
    return work_print(&work, name) != 0 || work_close(&work) != 0;
}
