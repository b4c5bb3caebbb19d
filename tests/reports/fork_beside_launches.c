/* A child of fork makes the calls that a destructor makes, while a thread of the parent was launching: each returns. */
#include "tests/reports/reports.h"

#include <signal.h>
#include <sys/wait.h>

static CUstream stream;
static CUfunction step;
static CUdeviceptr data;
static atomic_bool ended;
static unsigned expected;

static void *launch(void *unused)
{
    (void)unused;
    CHECK(cuCtxSetCurrent(context));
    for (unsigned i = 0; !atomic_load(&ended); i++) {
        CHECK(report_step(step, stream, data, i));
        expected = expected * 3 + i;
    }
    return NULL;
}

static void child(void)
{
    alarm(4); /* a hang ends by a signal */
    CUresult codes[] = {cuStreamDestroy(stream), cuModuleUnload(module),
                        cuFuncSetAttribute(step, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 10),
                        report_step(step, stream, data, 1), cuCtxSynchronize()};
    for (unsigned i = 0; i < 5; i++)
        if (codes[i] == CUDA_SUCCESS)
            _exit(1);
    exit(0);
}

int main(void)
{
    pthread_t thread;
    unsigned bad = 0;
    report_open();
    step = report_kernel(module, "step");
    data = report_memory(4);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    if (pthread_create(&thread, NULL, launch, NULL) != 0)
        return 98;
    for (unsigned i = 0; i < 20; i++) {
        int status = 0;
        report_sleep_ms(3);
        pid_t pid = fork();
        if (pid == 0)
            child();
        if (waitpid(pid, &status, 0) != pid || status != 0)
            bad++;
        if (bad > 0 && i > 2)
            break;
    }
    atomic_store(&ended, true);
    pthread_join(thread, NULL);
    CHECK(cuCtxSynchronize());
    bool same = report_word(data) == expected;
    printf("%s, %s\n", bad == 0 ? "every child ended" : "a child HUNG or got through",
           same ? "sum right" : "sum WRONG");
    return bad == 0 && same ? 0 : 1;
}
