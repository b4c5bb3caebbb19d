/* autograph doctor: everything that can keep the shim from working, one line each. */
#include "tools/doctor.h"
#include "tools/preload.h"
#include "tools/tool.h"

#include <errno.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char ag_tool_doctor_usage[] =
        "usage: autograph doctor [PROGRAM]\n"
        "\n"
        "Checks the shim's files, the CUDA driver, the environment and, when one is named, whether PROGRAM can be "
        "preloaded.\n"
        "Prints lines that begin with ok, warn or fail; exit status 1 when any says fail.\n";

bool ag_doctor_say(enum ag_doctor_level level, const char *format, ...)
{
    static const char *const words[] = {"ok  ", "warn", "fail"};
    va_list arguments;
    va_start(arguments, format);
    printf("%s  ", words[level]);
    vprintf(format, arguments);
    putchar('\n');
    va_end(arguments);
    return level != AG_DOCTOR_FAIL;
}

static bool ag_doctor_check_shim(void)
{
    char shim[PATH_MAX], facade[PATH_MAX + 64];
    switch (ag_preload_find(shim)) {
    case 0:
        break;
    case -EINVAL:
        return ag_doctor_say(AG_DOCTOR_FAIL, "shim: LD_PRELOAD cannot hold a path with a space or colon: %s", shim);
    default:
        return ag_doctor_say(AG_DOCTOR_FAIL, "shim: " AG_PRELOAD_SHIM " is not beside this command nor in ../lib");
    }
    ag_doctor_say(AG_DOCTOR_OK, "shim: %s", shim);
    snprintf(facade, sizeof facade, "%s/%s", dirname(shim), AG_PRELOAD_FACADE);
    if (access(facade, R_OK))
        return ag_doctor_say(AG_DOCTOR_FAIL, "facade: %s is missing; both files must stand in one folder", facade);
    return ag_doctor_say(AG_DOCTOR_OK, "facade: %s", facade);
}

static void ag_doctor_check_preload(void)
{
    const char *existing = getenv("LD_PRELOAD");
    char *others = ag_preload_compose(NULL, existing);
    if (others && *others)
        ag_doctor_say(AG_DOCTOR_WARN, "LD_PRELOAD already holds %s; `autograph run` keeps it, behind the shim", others);
    else
        ag_doctor_say(AG_DOCTOR_OK, "LD_PRELOAD: no other library");
    free(others);
}

static void ag_doctor_check_environment(void)
{
    const char *blocking = getenv("CUDA_LAUNCH_BLOCKING"), *injected = getenv("CUDA_INJECTION64_PATH");
    const char *mode = getenv("AUTOGRAPH_MODE"), *pipes = getenv("CUDA_MPS_PIPE_DIRECTORY");
    if (blocking && *blocking && strcmp(blocking, "0"))
        ag_doctor_say(AG_DOCTOR_WARN, "CUDA_LAUNCH_BLOCKING=%s: nothing is held while it is set", blocking);
    else
        ag_doctor_say(AG_DOCTOR_OK, "CUDA_LAUNCH_BLOCKING is not set");
    if (injected && *injected)
        ag_doctor_say(AG_DOCTOR_WARN, "CUDA_INJECTION64_PATH=%s: nothing is held under an attached tool", injected);
    else
        ag_doctor_say(AG_DOCTOR_OK, "CUDA_INJECTION64_PATH is not set");
    if (mode && *mode && strcmp(mode, "replay"))
        ag_doctor_say(AG_DOCTOR_WARN, "AUTOGRAPH_MODE=%s is set in this environment", mode);

    char control[PATH_MAX];
    snprintf(control, sizeof control, "%s/control", pipes && *pipes ? pipes : "/tmp/nvidia-mps");
    if (!access(control, F_OK))
        ag_doctor_say(AG_DOCTOR_WARN,
                      "MPS: %s is there; several processes share the GPU, so measure with `autograph ab`", control);
    else
        ag_doctor_say(AG_DOCTOR_OK, "MPS: not running");
}

int ag_tool_doctor(int argc, char **argv)
{
    static const struct option longs[] = {{NULL, 0, NULL, 0}};
    if (ag_tool_getopt(argc, argv, "", longs) != -1)
        return AG_TOOL_USAGE;
    if (argc - optind > 1)
        return ag_tool_fail(AG_TOOL_USAGE, "doctor: one program at most; see autograph help doctor");
    bool fine = ag_doctor_check_shim();
    fine &= ag_doctor_check_driver();
    ag_doctor_check_preload();
    ag_doctor_check_environment();
    if (optind < argc)
        fine &= ag_doctor_check_program(argv[optind]);
    else
        ag_doctor_say(AG_DOCTOR_OK,
                      "note: set-user-ID and static programs ignore LD_PRELOAD; name one to have it checked");
    return fine ? AG_TOOL_OK : AG_TOOL_DIFFERENT;
}
