/* autograph verify: one run without the shim, one in verify mode; says whether anything was different. */
#include "tools/output.h"
#include "tools/preload.h"
#include "tools/process.h"
#include "tools/stats.h"
#include "tools/tool.h"

#include <string.h>

const char ag_tool_verify_usage[] =
        "usage: autograph verify [options] -- PROGRAM [ARG...]\n"
        "\n"
        "Runs PROGRAM without the shim and then in verify mode, where every node of a graph is read back before the "
        "graph\n"
        "is launched and compared with what PROGRAM issued. Exit status: 0 same output, same status and no "
        "divergence;\n"
        "1 something was different; 2 usage; 3 a run died of a signal; 4 nothing was different, but nothing was "
        "replayed "
        "either, so\n"
        "nothing was checked.\n"
        "\n"
        "  --filter REGEX      leave matching lines out of the comparison, such as timings; may be repeated\n"
        "  --set NAME=VALUE    set AUTOGRAPH_NAME in the checked run; may be repeated\n";

struct ag_verify {
    struct ag_launch launch;
    struct ag_output_filter filter;
    struct ag_process_run plain, checked;
    struct ag_stats_files files;
};

static int ag_verify_parse(int argc, char **argv, struct ag_verify *verify)
{
    static const struct option longs[] = {
            {"filter", required_argument, NULL, 'f'},
            {"set", required_argument, NULL, 'S'},
            {NULL, 0, NULL, 0},
    };
    int status = ag_launch_set_mode(&verify->launch, "verify"), option;
    while (!status && (option = ag_tool_getopt(argc, argv, "", longs)) != -1) {
        if (option == 'f')
            status = ag_output_filter_add(&verify->filter, optarg, 0);
        else if (option == 'S')
            status = ag_launch_set_word(&verify->launch, optarg);
        else
            return AG_TOOL_USAGE;
    }
    return status ? status : ag_launch_set_program(&verify->launch, argc, argv, optind);
}

static int ag_verify_run(struct ag_launch *launch, const char *shim, struct ag_process_run *run)
{
    launch->shim = shim;
    int status = ag_process_run(launch, AG_PROCESS_CAPTURE, run);
    if (!status && ag_process_signal(run))
        status = ag_tool_fail(AG_TOOL_SIGNAL, "verify: the run %s the shim died of signal %d (%s)",
                              shim ? "with" : "without", ag_process_signal(run), strsignal(ag_process_signal(run)));
    return status;
}

static int ag_verify_both(struct ag_verify *verify, const char *shim)
{
    int status = ag_verify_run(&verify->launch, NULL, &verify->plain);
    if (status)
        return status;
    struct ag_stats_folder folder;
    status = ag_stats_folder_make(&folder, &verify->launch);
    if (status)
        return status;
    status = ag_verify_run(&verify->launch, shim, &verify->checked);
    int taken = ag_stats_folder_take(&folder, &verify->files);
    return status ? status : taken;
}

static int ag_verify_judge(const struct ag_verify *verify)
{
    double launches = 0, replayed = 0, divergences = 0;
    for (size_t i = 0; i < verify->files.count; i++) {
        launches += ag_json_number(&verify->files.objects[i], "launches");
        replayed += ag_json_number(&verify->files.objects[i], "replayed");
        divergences += ag_json_number(&verify->files.objects[i], "divergences");
    }
    bool same = true;
    struct ag_output_difference difference;
    if (verify->plain.wait_status != verify->checked.wait_status) {
        printf("exit status differs: %d without, %d with the shim\n", ag_process_status(&verify->plain),
               ag_process_status(&verify->checked));
        same = false;
    }
    if (!ag_output_same(&verify->plain.out, &verify->checked.out, &verify->filter, &difference)) {
        puts("output differs");
        fflush(stdout);
        ag_output_print(&difference);
        same = false;
    }
    if (divergences > 0) {
        printf("%.0f divergences\n", divergences);
        same = false;
    }
    if (same && replayed <= 0) {
        if (launches > 0)
            printf("nothing was checked: none of %.0f launches was replayed\n", launches);
        else
            puts("nothing was checked: no launch was seen");
        return AG_TOOL_UNCHECKED;
    }
    if (same)
        printf("same output, exit status %d, no divergence in %.0f launches, %.0f of them replayed\n",
               ag_process_status(&verify->plain), launches, replayed);
    return same ? AG_TOOL_OK : AG_TOOL_DIFFERENT;
}

int ag_tool_verify(int argc, char **argv)
{
    struct ag_verify verify = {0};
    char shim[PATH_MAX];
    int status = ag_verify_parse(argc, argv, &verify);
    if (!status)
        status = ag_preload_require(shim);
    if (!status)
        status = ag_verify_both(&verify, shim);
    if (!status)
        status = ag_verify_judge(&verify);
    ag_process_release(&verify.plain);
    ag_process_release(&verify.checked);
    ag_stats_files_release(&verify.files);
    ag_output_filter_release(&verify.filter);
    ag_launch_release(&verify.launch);
    return status;
}
