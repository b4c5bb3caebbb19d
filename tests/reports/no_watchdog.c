/* No thread can be made for the watchdog, and the program polls memory without a further call. */
#include "tests/reports/reports.h"

#include <dlfcn.h>
#include <errno.h>

/* Takes the C library's place: refuses threads with a stack of half a MiB. */
__attribute__((visibility("default"))) int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                                                          void *(*start)(void *), void *argument)
{
    static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    size_t size = 0;
    if (attributes != NULL && pthread_attr_getstacksize(attributes, &size) == 0 && size == (size_t)512 << 10)
        return EAGAIN;
    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
    return next(thread, attributes, start, argument);
}

int main(void)
{
    volatile unsigned *host;
    CUdeviceptr flag;
    report_open();
    CUfunction set = report_kernel(module, "set_flag");
    unsigned value = 0;
    CHECK(cuMemHostAlloc((void **)&host, 64, CU_MEMHOSTALLOC_DEVICEMAP));
    CHECK(cuMemHostGetDevicePointer(&flag, (void *)host, 0));
    void *args[] = {&flag, &value};
    CHECK(cuLaunchKernel(set, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
    CHECK(cuCtxSynchronize());
    value = 1;
    CHECK(cuLaunchKernel(set, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
    for (unsigned i = 0; i < 3000 && report_peek(host) != 1; i++)
        report_sleep_ms(1);
    printf("%s\n", report_peek(host) == 1 ? "seen" : "STUCK");
    return report_peek(host) == 1 ? 0 : 1;
}
