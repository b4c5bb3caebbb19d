#include "tools/doctor.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define AG_DOCTOR_DRIVER "libcuda.so.1"
#define AG_DOCTOR_VERSION_LEAST 12040

/* What the child found out; it crosses a pipe. */
struct ag_doctor_driver {
    char error[200]; /* dlerror's text; empty when the library was loaded */
    int version, version_error;
    int devices, init_error;
};

static void ag_doctor_ask_driver(struct ag_doctor_driver *answer)
{
    void *library = dlopen(AG_DOCTOR_DRIVER, RTLD_NOW);
    if (!library) {
        snprintf(answer->error, sizeof answer->error, "%s", dlerror());
        return;
    }
    /* Declared here and not by cuda.h: the command is built and runs without the toolkit. */
    int (*version)(int *), (*init)(unsigned int), (*devices)(int *);
    *(void **)&version = dlsym(library, "cuDriverGetVersion");
    *(void **)&init = dlsym(library, "cuInit");
    *(void **)&devices = dlsym(library, "cuDeviceGetCount");
    if (!version || !init || !devices) {
        snprintf(answer->error, sizeof answer->error, "it lacks cuDriverGetVersion, cuInit or cuDeviceGetCount");
        return;
    }
    answer->version_error = version(&answer->version);
    answer->init_error = init(0);
    if (!answer->init_error)
        answer->init_error = devices(&answer->devices);
}

/* False when the child could not answer; `status` is then how it ended. */
static bool ag_doctor_ask(struct ag_doctor_driver *answer, int *status)
{
    int channel[2];
    if (pipe(channel))
        return false;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        close(channel[0]);
        ag_doctor_ask_driver(answer);
        ssize_t sent = write(channel[1], answer, sizeof *answer);
        _exit(sent == sizeof *answer ? 0 : 1);
    }
    close(channel[1]);
    ssize_t got = read(channel[0], answer, sizeof *answer);
    close(channel[0]);
    if (child < 0 || waitpid(child, status, 0) < 0)
        return false;
    return got == sizeof *answer;
}

bool ag_doctor_check_driver(void)
{
    struct ag_doctor_driver answer = {0};
    int status = 0;
    if (!ag_doctor_ask(&answer, &status)) {
        if (WIFSIGNALED(status))
            return ag_doctor_say(AG_DOCTOR_FAIL, "driver: loading " AG_DOCTOR_DRIVER " crashed (%s)",
                                 strsignal(WTERMSIG(status)));
        return ag_doctor_say(AG_DOCTOR_FAIL, "driver: " AG_DOCTOR_DRIVER " could not be tried");
    }
    if (*answer.error)
        return ag_doctor_say(AG_DOCTOR_FAIL, "driver: %s", answer.error);
    bool fine;
    if (answer.version_error)
        fine = ag_doctor_say(AG_DOCTOR_FAIL, "driver: its version is unknown (CUDA error %d)", answer.version_error);
    else if (answer.version < AG_DOCTOR_VERSION_LEAST)
        fine = ag_doctor_say(AG_DOCTOR_FAIL, "driver: for CUDA %d.%d; before 12.4 every launch is passed through",
                             answer.version / 1000, answer.version % 1000 / 10);
    else
        fine = ag_doctor_say(AG_DOCTOR_OK, "driver: for CUDA %d.%d", answer.version / 1000, answer.version % 1000 / 10);
    if (answer.init_error)
        return ag_doctor_say(AG_DOCTOR_FAIL, "devices: the driver does not start (CUDA error %d)", answer.init_error);
    if (!answer.devices)
        return ag_doctor_say(AG_DOCTOR_FAIL, "devices: none");
    return ag_doctor_say(AG_DOCTOR_OK, "devices: %d", answer.devices) && fine;
}
