#include "tools/process.h"
#include "tools/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* How this process stands to signals while the program runs. Those that a terminal sends to both are ignored here. The
 * others are blocked and taken one by one between looks at the program, so that none comes at a bad moment. */
struct ag_process_signals {
    sigset_t waited, old_mask;
    struct sigaction old_interrupt, old_quit, old_child;
};

static void ag_process_signals_take(struct ag_process_signals *signals)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, fallback = {.sa_handler = SIG_DFL};
    sigemptyset(&signals->waited);
    sigaddset(&signals->waited, SIGTERM);
    sigaddset(&signals->waited, SIGHUP);
    sigaddset(&signals->waited, SIGCHLD);
    sigprocmask(SIG_BLOCK, &signals->waited, &signals->old_mask);
    sigaction(SIGINT, &ignore, &signals->old_interrupt);
    sigaction(SIGQUIT, &ignore, &signals->old_quit);
    sigaction(SIGCHLD, &fallback, &signals->old_child); /* where it is ignored, a child leaves no status */
}

static void ag_process_signals_give_back(const struct ag_process_signals *signals)
{
    sigaction(SIGINT, &signals->old_interrupt, NULL);
    sigaction(SIGQUIT, &signals->old_quit, NULL);
    sigaction(SIGCHLD, &signals->old_child, NULL);
    sigprocmask(SIG_SETMASK, &signals->old_mask, NULL);
}

/* Waits for the child and passes termination signals on to it. Returns 0 or -errno. */
static int ag_process_wait(pid_t child, const struct ag_process_signals *signals, int *status, struct rusage *usage)
{
    for (;;) {
        pid_t ended = wait4(child, status, WNOHANG, usage);
        if (ended == child)
            return 0;
        if (ended < 0 && errno != EINTR)
            return -errno;
        int signal = sigwaitinfo(&signals->waited, NULL);
        if (signal == SIGTERM || signal == SIGHUP)
            kill(child, signal);
    }
}

static double ag_process_seconds(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

static double ag_process_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* The child between fork and exec. On failure it sends errno through `report`, which exec would have closed. */
static void __attribute__((noreturn)) ag_process_become(const struct ag_launch *launch, const int streams[2],
                                                        int report, const struct ag_process_signals *signals)
{
    ag_process_signals_give_back(signals);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (streams[0] >= 0) {
        int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
        dup2(null, STDIN_FILENO);
        dup2(streams[0], STDOUT_FILENO);
        dup2(streams[1], STDERR_FILENO);
    }
    int error = -ag_launch_apply(launch);
    if (!error) {
        execvp(launch->argv[0], launch->argv);
        error = errno;
    }
    if (write(report, &error, sizeof error) < 0)
        _exit(AG_TOOL_FAILED);
    _exit(AG_TOOL_NOT_FOUND);
}

static int ag_process_read(int file, struct ag_process_text *text)
{
    struct stat info;
    if (fstat(file, &info))
        return -errno;
    text->bytes = malloc((size_t)info.st_size + 1);
    if (!text->bytes)
        return -ENOMEM;
    while (text->length < (size_t)info.st_size) {
        ssize_t got = pread(file, text->bytes + text->length, (size_t)info.st_size - text->length, (off_t)text->length);
        if (got <= 0)
            break;
        text->length += (size_t)got;
    }
    return 0;
}

/* Forks, waits, measures. Returns 0, or the errno that kept the program from starting, or -errno of our own trouble. */
static int ag_process_measure(const struct ag_launch *launch, const int streams[2], struct ag_process_run *run)
{
    int report[2];
    if (pipe2(report, O_CLOEXEC))
        return -errno;
    struct ag_process_signals signals;
    ag_process_signals_take(&signals);

    double start = ag_process_now();
    pid_t child = fork();
    if (child == 0)
        ag_process_become(launch, streams, report[1], &signals);
    int error = child < 0 ? -errno : 0;
    close(report[1]);
    if (child > 0) {
        struct rusage usage = {0};
        error = ag_process_wait(child, &signals, &run->wait_status, &usage);
        run->wall = ag_process_now() - start;
        run->user = ag_process_seconds(usage.ru_utime);
        run->system = ag_process_seconds(usage.ru_stime);
        run->max_rss = (double)usage.ru_maxrss * 1024;
        int child_error;
        if (read(report[0], &child_error, sizeof child_error) == sizeof child_error)
            error = child_error;
    }
    close(report[0]);
    ag_process_signals_give_back(&signals);
    return error;
}

int ag_process_run(const struct ag_launch *launch, enum ag_process_output output, struct ag_process_run *run)
{
    *run = (struct ag_process_run){0};
    int streams[2] = {-1, -1}, error = 0;
    if (output == AG_PROCESS_CAPTURE) {
        streams[0] = memfd_create("stdout", MFD_CLOEXEC);
        streams[1] = memfd_create("stderr", MFD_CLOEXEC);
        if (streams[0] < 0 || streams[1] < 0)
            error = -errno;
    }
    if (!error)
        error = ag_process_measure(launch, streams, run);
    if (!error && output == AG_PROCESS_CAPTURE) {
        error = ag_process_read(streams[0], &run->out);
        if (!error)
            error = ag_process_read(streams[1], &run->err);
    }
    for (int i = 0; i < 2; i++)
        if (streams[i] >= 0)
            close(streams[i]);
    if (error > 0)
        return ag_tool_not_started(launch->argv[0], error);
    return error ? ag_tool_fail(AG_TOOL_FAILED, "cannot run a process: %s", strerror(-error)) : 0;
}

int ag_process_status(const struct ag_process_run *run)
{
    return WIFSIGNALED(run->wait_status) ? 128 + WTERMSIG(run->wait_status) : WEXITSTATUS(run->wait_status);
}

int ag_process_signal(const struct ag_process_run *run)
{
    return WIFSIGNALED(run->wait_status) ? WTERMSIG(run->wait_status) : 0;
}

void ag_process_release(struct ag_process_run *run)
{
    free(run->out.bytes);
    free(run->err.bytes);
    run->out = run->err = (struct ag_process_text){0};
}
