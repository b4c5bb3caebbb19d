/* never_synchronises [stop]: launches, then only sleeps: when it wakes the work is done. No call of the driver waits or
 * asks. stop: the process stops itself behind the launches and another continues it. */
#include "tests/reports/reports.h"

#include <signal.h>

enum { ROUNDS = 20, LAUNCHES = 7 };

/* A child that continues its parent whenever that has been stopped for a while. */
static void start_continuer(void)
{
    char path[64], line[512];
    pid_t parent = getpid();
    if (fork() != 0)
        return;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)parent);
    while (getppid() == parent) {
        FILE *stat = fopen(path, "r");
        bool stopped = stat != NULL && fgets(line, sizeof line, stat) != NULL && strstr(line, ") T ") != NULL;
        if (stat != NULL)
            fclose(stat);
        report_sleep_ms(stopped ? 20 : 1);
        if (stopped)
            kill(parent, SIGCONT);
    }
    _exit(0);
}

int main(int argc, char **argv)
{
    volatile unsigned *host;
    CUdeviceptr data;
    unsigned expected = 0, done = 0;
    CUstream stream;
    bool stops = argc > 1 && strcmp(argv[1], "stop") == 0;
    if (stops)
        start_continuer();
    report_open();
    CUfunction step = report_kernel(module, "step");
    CHECK(cuMemHostAlloc((void **)&host, 64, CU_MEMHOSTALLOC_DEVICEMAP));
    CHECK(cuMemHostGetDevicePointer(&data, (void *)host, 0));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    report_poke(host, 0);
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < LAUNCHES; i++) {
            CHECK(report_step(step, stream, data, round + i));
            expected = expected * 3 + round + i;
        }
        if (stops)
            raise(SIGSTOP);
        /* usually done after the first sleep; ten seconds tell late from never */
        for (unsigned i = 0; i < 1000 && report_peek(host) != expected; i++)
            report_sleep_ms(10);
        done += report_peek(host) == expected;
        if (report_peek(host) != expected)
            break;
    }
    printf("%u of %u rounds\n", done, (unsigned)ROUNDS);
    return done == ROUNDS ? 0 : 1;
}
