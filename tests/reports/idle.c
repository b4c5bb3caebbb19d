/* idle COUNT: so many processes that each launch once, wait, and then do nothing. Prints how often their threads woke
 * up in two seconds: those of the simulated driver as well, so the caller compares. The parent makes no driver call. */
#include "tests/reports/reports.h"

#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static void idle(int ready)
{
    CUstream stream;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    report_open();
    CUfunction step = report_kernel(module, "step");
    CUdeviceptr data = report_memory(4);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < 40; i++)
        CHECK(report_step(step, stream, data, i));
    CHECK(cuStreamSynchronize(stream));
    if (write(ready, "", 1) != 1)
        _exit(96);
    for (;;)
        pause();
}

/* Voluntary context switches of all threads of a process so far. */
static unsigned long switches(pid_t process)
{
    char path[64 + NAME_MAX], line[128];
    unsigned long sum = 0, number;
    snprintf(path, sizeof path, "/proc/%d/task", (int)process);
    DIR *tasks = opendir(path);
    for (struct dirent *task; tasks != NULL && (task = readdir(tasks)) != NULL;) {
        snprintf(path, sizeof path, "/proc/%d/task/%s/status", (int)process, task->d_name);
        FILE *status = task->d_name[0] != '.' ? fopen(path, "r") : NULL;
        while (status != NULL && fgets(line, sizeof line, status) != NULL)
            if (sscanf(line, "voluntary_ctxt_switches: %lu", &number) == 1)
                sum += number;
        if (status != NULL)
            fclose(status);
    }
    if (tasks != NULL)
        closedir(tasks);
    return sum;
}

int main(int argc, char **argv)
{
    unsigned count = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1;
    pid_t *children = calloc(count, sizeof *children);
    unsigned long before = 0, after = 0;
    int ready[2];
    char byte;
    if (children == NULL || pipe(ready) != 0)
        return 97;
    for (unsigned i = 0; i < count; i++) {
        children[i] = fork();
        if (children[i] == 0)
            idle(ready[1]);
    }
    close(ready[1]);
    for (unsigned i = 0; i < count; i++)
        if (read(ready[0], &byte, 1) != 1)
            return 95;
    sleep(2); /* until every watchdog has gone to sleep */
    for (unsigned i = 0; i < count; i++)
        before += switches(children[i]);
    sleep(2);
    for (unsigned i = 0; i < count; i++)
        after += switches(children[i]);
    for (unsigned i = 0; i < count; i++) {
        kill(children[i], SIGKILL);
        waitpid(children[i], NULL, 0);
    }
    printf("%lu wake-ups\n", after - before);
    return before > 0 ? 0 : 1;
}
