/* fork_ways HOW: exit: a child leaves through exit() in the middle of a known loop; exec: it starts this program anew;
 * early: the process forks before any driver call and the child does the work. */
#include "tests/reports/reports.h"

#include <sys/wait.h>

static int loop(void (*halfway)(void))
{
    report_open();
    CUfunction step = report_kernel(module, "step");
    CUdeviceptr data = report_memory(4);
    CUstream stream;
    unsigned expected = 0;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < 400; i++) {
        CHECK(report_step(step, stream, data, i));
        expected = expected * 3 + i;
        if (i == 200 && halfway != NULL)
            halfway();
    }
    CHECK(cuStreamSynchronize(stream));
    bool same = report_word(data) == expected;
    printf("%s\n", same ? "sum right" : "sum WRONG");
    fflush(stdout);
    return same ? 0 : 1;
}

static void await(pid_t child)
{
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        printf("the child ended with %#x\n", status);
}

static void leave(void)
{
    pid_t child = fork();
    if (child == 0) {
        alarm(10);
        exit(0);
    }
    await(child);
}

static void start(void)
{
    pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "fork_ways", "plain", (char *)NULL);
        _exit(97);
    }
    await(child);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "plain";
    if (strcmp(how, "early") == 0) {
        pid_t child = fork();
        if (child == 0)
            exit(loop(NULL));
        await(child);
        return loop(NULL);
    }
    return loop(strcmp(how, "exit") == 0 ? leave : strcmp(how, "exec") == 0 ? start : NULL);
}
