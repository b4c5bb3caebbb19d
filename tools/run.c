/* autograph run: becomes the program, so that signals, the terminal and the exit status need no passing on. */
#include "tools/launch.h"
#include "tools/preload.h"
#include "tools/tool.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

const char ag_tool_run_usage[] =
        "usage: autograph run [options] -- PROGRAM [ARG...]\n"
        "\n"
        "Runs PROGRAM with the shim preloaded. The exit status is the program's; 126 or 127 when it cannot be "
        "started.\n"
        "\n"
        "  --mode MODE         replay (default), observe, verify or off\n"
        "  --stats PATH        write statistics at exit; - is standard output, %p in PATH the process id\n"
        "  --trace PATH        write a binary trace of every operation\n"
        "  --log LEVEL         error, warn, info or debug\n"
        "  --set NAME=VALUE    set AUTOGRAPH_NAME; may be repeated\n";

static int ag_run_log(struct ag_launch *launch, const char *level)
{
    static const char *const levels[] = {"error", "warn", "info", "debug"};
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++)
        if (!strcmp(levels[i], level))
            return ag_launch_set(launch, "LOG", level);
    return ag_tool_fail(AG_TOOL_USAGE, "unknown log level '%s': one of error, warn, info, debug", level);
}

static int ag_run_parse(int argc, char **argv, struct ag_launch *launch)
{
    static const struct option longs[] = {
            {"mode", required_argument, NULL, 'm'},  {"stats", required_argument, NULL, 's'},
            {"trace", required_argument, NULL, 't'}, {"log", required_argument, NULL, 'l'},
            {"set", required_argument, NULL, 'S'},   {NULL, 0, NULL, 0},
    };
    int status = 0, option;
    while (!status && (option = ag_tool_getopt(argc, argv, "", longs)) != -1) {
        switch (option) {
        case 'm':
            status = ag_launch_set_mode(launch, optarg);
            break;
        case 's':
            status = ag_launch_set(launch, "STATS", optarg);
            break;
        case 't':
            status = ag_launch_set(launch, "TRACE", optarg);
            break;
        case 'l':
            status = ag_run_log(launch, optarg);
            break;
        case 'S':
            status = ag_launch_set_word(launch, optarg);
            break;
        default:
            return AG_TOOL_USAGE;
        }
    }
    return status ? status : ag_launch_set_program(launch, argc, argv, optind);
}

int ag_tool_run(int argc, char **argv)
{
    struct ag_launch launch = {0};
    char shim[PATH_MAX];
    int status = ag_run_parse(argc, argv, &launch);
    if (!status)
        status = ag_preload_require(shim);
    if (!status) {
        launch.shim = shim;
        if (ag_launch_apply(&launch))
            return ag_tool_fail(AG_TOOL_FAILED, "out of memory");
        execvp(launch.argv[0], launch.argv);
        return ag_tool_not_started(launch.argv[0], errno);
    }
    ag_launch_release(&launch);
    return status;
}
