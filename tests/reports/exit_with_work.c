/* exit_with_work HOW: the process ends with work that nobody waited for. HOW: return, destructor (a static object's
 * destructor synchronises and frees), thread (exit in a second thread), fast (_exit), abort. */
#include "tests/reports/reports.h"

static CUstream stream;
static CUdeviceptr data;
static CUfunction step;
static const char *how = "return";

__attribute__((destructor)) static void last(void)
{
    if (strcmp(how, "destructor") != 0)
        return;
    CUresult codes[] = {report_step(step, stream, data, 1),
                        cuStreamSynchronize(stream),
                        cuMemFree(data),
                        cuStreamDestroy(stream),
                        cuModuleUnload(module),
                        cuDevicePrimaryCtxRelease(device)};
    for (unsigned i = 0; i < 6; i++)
        printf("%d ", codes[i]);
    printf("in the destructor\n");
    fflush(stdout);
}

static void handler(void)
{
    CUresult launched = report_step(step, stream, data, 1), done = cuStreamSynchronize(stream);
    printf("exit handler: %d %d\n", launched, done);
}

static void *leave(void *unused)
{
    (void)unused;
    exit(7);
}

int main(int argc, char **argv)
{
    how = argc > 1 ? argv[1] : how;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (strcmp(how, "before") == 0)
        atexit(handler);
    report_open();
    step = report_kernel(module, "step");
    data = report_memory(4);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    if (strcmp(how, "after") == 0)
        atexit(handler);
    for (unsigned i = 0; i < 100; i++)
        CHECK(report_step(step, stream, data, i));
    printf("%s\n", how);
    if (strcmp(how, "thread") == 0) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, leave, NULL) != 0)
            return 98;
        for (;;)
            report_step(step, stream, data, 1);
    }
    if (strcmp(how, "fast") == 0)
        _exit(5);
    if (strcmp(how, "abort") == 0)
        abort();
    return 3;
}
