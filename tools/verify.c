/* autograph verify: one run without the shim, one in verify mode; says whether anything was different. With --memory,
 * two further runs without holding say what device memory holds by itself. */
#include "tools/memory.h"
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
        "  --memory            compare what device memory held when it was freed, and at exit. Runs PROGRAM twice "
        "more, "
        "with\n"
        "                      the library but nothing held: what differs between these two is left out; needs time\n"
        "  --filter REGEX      leave matching lines out of the comparison, such as timings; may be repeated\n"
        "  --set NAME=VALUE    set AUTOGRAPH_NAME in the checked run; may be repeated\n";

struct ag_verify {
    struct ag_launch launch;
    struct ag_output_filter filter;
    struct ag_process_run plain, checked;
    struct ag_stats_files files;
    bool memory; /* with these: */
    struct ag_process_run observed[2];
    struct ag_memory_run observations[2], memory_checked;
};

static int ag_verify_parse(int argc, char **argv, struct ag_verify *verify)
{
    static const struct option longs[] = {
            {"filter", required_argument, NULL, 'f'},
            {"memory", no_argument, NULL, 'm'},
            {"set", required_argument, NULL, 'S'},
            {NULL, 0, NULL, 0},
    };
    int status = ag_launch_set_mode(&verify->launch, "verify"), option;
    while (!status && (option = ag_tool_getopt(argc, argv, "", longs)) != -1) {
        if (option == 'f')
            status = ag_output_filter_add(&verify->filter, optarg, 0);
        else if (option == 'm')
            verify->memory = true;
        else if (option == 'S')
            status = ag_launch_set_word(&verify->launch, optarg);
        else
            return AG_TOOL_USAGE;
    }
    return status ? status : ag_launch_set_program(&verify->launch, argc, argv, optind);
}

static int ag_verify_run(struct ag_launch *launch, const char *shim, const char *which, struct ag_process_run *run)
{
    launch->shim = shim;
    int status = ag_process_run(launch, AG_PROCESS_CAPTURE, run);
    if (!status && ag_process_signal(run))
        status = ag_tool_fail(AG_TOOL_SIGNAL, "verify: the run %s died of signal %d (%s)", which,
                              ag_process_signal(run), strsignal(ag_process_signal(run)));
    return status;
}

/* Runs with the library holding nothing, and reads what device memory held. */
static int ag_verify_observe(const struct ag_verify *verify, const char *shim, struct ag_process_run *run,
                             struct ag_memory_run *memory)
{
    struct ag_launch launch = {.argv = verify->launch.argv};
    int status = ag_launch_set_mode(&launch, "off");
    if (!status)
        status = ag_memory_run_begin(memory, &launch);
    if (!status)
        status = ag_verify_run(&launch, shim, "without holding, for its memory,", run);
    if (!status)
        status = ag_memory_run_end(memory);
    ag_launch_release(&launch);
    return status;
}

static int ag_verify_check(struct ag_verify *verify, const char *shim)
{
    struct ag_stats_folder folder;
    int status = ag_stats_folder_make(&folder, &verify->launch);
    if (status)
        return status;
    if (verify->memory)
        status = ag_memory_run_begin(&verify->memory_checked, &verify->launch);
    if (!status)
        status = ag_verify_run(&verify->launch, shim, "with the shim", &verify->checked);
    int taken = ag_stats_folder_take(&folder, &verify->files);
    if (!status && verify->memory)
        status = ag_memory_run_end(&verify->memory_checked);
    return status ? status : taken;
}

static int ag_verify_all(struct ag_verify *verify, const char *shim)
{
    int status = ag_verify_run(&verify->launch, NULL, "without the shim", &verify->plain);
    for (int i = 0; !status && verify->memory && i < 2; i++)
        status = ag_verify_observe(verify, shim, &verify->observed[i], &verify->observations[i]);
    return status ? status : ag_verify_check(verify, shim);
}

/* Compares a run's status and output with the plain one's. how: "with the shim". */
static bool ag_verify_same_run(const struct ag_verify *verify, const struct ag_process_run *run, const char *how)
{
    bool same = true;
    struct ag_output_difference difference;
    if (verify->plain.wait_status != run->wait_status) {
        printf("exit status differs: %d without, %d %s\n", ag_process_status(&verify->plain), ag_process_status(run),
               how);
        same = false;
    }
    if (!ag_output_same(&verify->plain.out, &run->out, &verify->filter, &difference)) {
        puts(run == &verify->checked ? "output differs" : "output differs though nothing was held");
        fflush(stdout);
        ag_output_print(&difference);
        same = false;
    }
    return same;
}

/* Prints what differs in memory, and a line. Returns 0, or AG_TOOL_DIFFERENT, AG_TOOL_UNCHECKED, or another exit status
 * after a line on stderr. */
static int ag_verify_memory(const struct ag_verify *verify)
{
    struct ag_memory_verdict verdict;
    int status =
            ag_memory_compare(&verify->observations[0], &verify->observations[1], &verify->memory_checked, &verdict);
    if (status)
        return status;
    ag_memory_print(&verdict);
    if (verify->observations[0].cut || verify->observations[1].cut || verify->memory_checked.cut)
        puts("memory: some processes ended without a record of what they still had");
    return verdict.different ? AG_TOOL_DIFFERENT : verdict.compared ? 0 : AG_TOOL_UNCHECKED;
}

static int ag_verify_judge(const struct ag_verify *verify)
{
    double launches = 0, replayed = 0, divergences = 0;
    for (size_t i = 0; i < verify->files.count; i++) {
        launches += ag_json_number(&verify->files.objects[i], "launches");
        replayed += ag_json_number(&verify->files.objects[i], "replayed");
        divergences += ag_json_number(&verify->files.objects[i], "divergences");
    }
    bool same = ag_verify_same_run(verify, &verify->checked, "with the shim");
    for (int i = 0; verify->memory && i < 2; i++)
        same = ag_verify_same_run(verify, &verify->observed[i], "with nothing held") && same;
    if (divergences > 0) {
        printf("%.0f divergences\n", divergences);
        same = false;
    }
    int memory = verify->memory ? ag_verify_memory(verify) : 0;
    if (memory != 0 && memory != AG_TOOL_UNCHECKED && memory != AG_TOOL_DIFFERENT)
        return memory;
    if (!same || memory == AG_TOOL_DIFFERENT)
        return AG_TOOL_DIFFERENT;
    if (replayed <= 0) {
        if (launches > 0)
            printf("nothing was checked: none of %.0f launches was replayed\n", launches);
        else
            puts("nothing was checked: no launch was seen");
        return AG_TOOL_UNCHECKED;
    }
    printf("same output, exit status %d, no divergence in %.0f launches, %.0f of them replayed\n",
           ag_process_status(&verify->plain), launches, replayed);
    if (memory)
        puts("memory was not checked: there was none to compare");
    return memory;
}

int ag_tool_verify(int argc, char **argv)
{
    struct ag_verify verify = {0};
    char shim[PATH_MAX];
    int status = ag_verify_parse(argc, argv, &verify);
    if (!status)
        status = ag_preload_require(shim);
    if (!status)
        status = ag_verify_all(&verify, shim);
    if (!status)
        status = ag_verify_judge(&verify);
    ag_process_release(&verify.plain);
    ag_process_release(&verify.checked);
    for (int i = 0; i < 2; i++) {
        ag_process_release(&verify.observed[i]);
        ag_memory_run_release(&verify.observations[i]);
    }
    ag_memory_run_release(&verify.memory_checked);
    ag_stats_files_release(&verify.files);
    ag_output_filter_release(&verify.filter);
    ag_launch_release(&verify.launch);
    return status;
}
