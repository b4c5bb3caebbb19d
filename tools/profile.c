/* autograph profile: run in observe mode, then say what was seen. */
#include "tools/preload.h"
#include "tools/process.h"
#include "tools/report.h"
#include "tools/stats.h"
#include "tools/tool.h"

#include <errno.h>
#include <string.h>

const char ag_tool_profile_usage[] = "usage: autograph profile [options] -- PROGRAM [ARG...]\n"
                                     "\n"
                                     "Runs PROGRAM in observe mode, which holds nothing, and prints a report on "
                                     "standard error afterwards, with what replay mode would do. The exit\n"
                                     "status is the program's; 128 plus the signal when a signal ended it.\n"
                                     "\n"
                                     "  --out FILE          write the report there; - is standard output\n"
                                     "  --mode MODE         another mode than observe\n"
                                     "  --set NAME=VALUE    set AUTOGRAPH_NAME; may be repeated\n";

static int ag_profile_parse(int argc, char **argv, struct ag_launch *launch, const char **out)
{
    static const struct option longs[] = {
            {"out", required_argument, NULL, 'o'},
            {"mode", required_argument, NULL, 'm'},
            {"set", required_argument, NULL, 'S'},
            {NULL, 0, NULL, 0},
    };
    int status = ag_launch_set_mode(launch, "observe"), option;
    while (!status && (option = ag_tool_getopt(argc, argv, "", longs)) != -1) {
        switch (option) {
        case 'o':
            *out = optarg;
            break;
        case 'm':
            status = ag_launch_set_mode(launch, optarg);
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

static int ag_profile_report(const struct ag_stats_files *files, const char *path)
{
    FILE *out = stderr;
    if (path && !strcmp(path, "-"))
        out = stdout;
    else if (path)
        out = fopen(path, "we");
    if (!out)
        return ag_tool_fail(AG_TOOL_FAILED, "cannot write %s: %s", path, strerror(errno));
    if (!files->count)
        fputs("autograph: no process of this run launched anything that the shim saw; `autograph doctor PROGRAM` "
              "checks "
              "whether it can be preloaded\n",
              out);
    for (size_t i = 0; i < files->count; i++) {
        if (files->count > 1)
            fprintf(out, "%sprocess %zu of %zu\n", i ? "\n" : "", i + 1, files->count);
        ag_report_print(out, &files->objects[i]);
    }
    int failed = ferror(out);
    if (out != stderr && out != stdout)
        failed |= fclose(out);
    return failed ? ag_tool_fail(AG_TOOL_FAILED, "cannot write %s: %s", path ? path : "the report", strerror(errno))
                  : 0;
}

int ag_tool_profile(int argc, char **argv)
{
    struct ag_launch launch = {0};
    const char *out = NULL;
    char shim[PATH_MAX];
    struct ag_stats_folder folder;
    int status = ag_profile_parse(argc, argv, &launch, &out);
    if (!status)
        status = ag_preload_require(shim);
    if (!status)
        status = ag_stats_folder_make(&folder, &launch);
    if (!status) {
        launch.shim = shim;
        struct ag_process_run run;
        struct ag_stats_files files = {0};
        status = ag_process_run(&launch, AG_PROCESS_INHERIT, &run);
        int taken = ag_stats_folder_take(&folder, &files);
        if (!status) {
            status = ag_process_status(&run);
            int reported = taken ? taken : ag_profile_report(&files, out);
            status = status ? status : reported;
        }
        ag_stats_files_release(&files);
        ag_process_release(&run);
    }
    ag_launch_release(&launch);
    return status;
}
