/* autograph ab: the same program without and with the shim, run in turn on one machine, so that whatever else slows the
 * machine down slows both. */
#include "tools/ab.h"
#include "tools/preload.h"
#include "tools/tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char ag_tool_ab_usage[] =
        "usage: autograph ab [options] -- PROGRAM [ARG...]\n"
        "\n"
        "Runs PROGRAM without and with the shim in turn and prints medians, spread and ratios, and whether both "
        "printed\n"
        "the same. Exit status: 0 same results, 1 outputs or exit statuses differ, 2 usage, 3 a run died of a signal.\n"
        "\n"
        "  -n N                pairs of runs (default 5)\n"
        "  --warmup W          pairs to run first and not to count (default 0)\n"
        "  --within MS         one run with the shim, which holds launches in every other span of MS milliseconds; "
        "the\n"
        "                      spans are compared by time a launch. For programs that do the same all the time, on\n"
        "                      machines where two runs differ by more than what is to be seen\n"
        "  --filter REGEX      leave matching lines out of the comparison, such as timings; may be repeated\n"
        "  --metric REGEX      compare the number in the first group (last matching line) instead of wall time;\n"
        "                      such lines are left out of the comparison\n"
        "  --json FILE         write every measurement; - for standard output instead of the table\n"
        "  --mode MODE         mode of the shimmed runs (default replay)\n"
        "  --set NAME=VALUE    set AUTOGRAPH_NAME in the shimmed runs; may be repeated\n";

static int ag_ab_parse(int argc, char **argv, struct ag_ab *ab)
{
    static const struct option longs[] = {
            {"warmup", required_argument, NULL, 'w'}, {"within", required_argument, NULL, 'i'},
            {"filter", required_argument, NULL, 'f'}, {"metric", required_argument, NULL, 'M'},
            {"json", required_argument, NULL, 'j'},   {"mode", required_argument, NULL, 'm'},
            {"set", required_argument, NULL, 'S'},    {NULL, 0, NULL, 0},
    };
    int status = 0, option;
    bool counted = false;
    while (!status && (option = ag_tool_getopt(argc, argv, "n:", longs)) != -1) {
        switch (option) {
        case 'i':
            if (!ag_tool_number(optarg, 10, 60000, &ab->within))
                status = ag_tool_fail(AG_TOOL_USAGE, "ab: --within takes milliseconds from 10 to 60000, not '%s'",
                                      optarg);
            break;
        case 'n':
            counted = true;
            if (!ag_tool_number(optarg, 1, AG_AB_PAIRS, &ab->pairs))
                status = ag_tool_fail(AG_TOOL_USAGE, "ab: -n takes a number from 1 to %d, not '%s'", AG_AB_PAIRS,
                                      optarg);
            break;
        case 'w':
            counted = true;
            if (!ag_tool_number(optarg, 0, AG_AB_PAIRS, &ab->warmup))
                status = ag_tool_fail(AG_TOOL_USAGE, "ab: --warmup takes a number from 0 to %d, not '%s'", AG_AB_PAIRS,
                                      optarg);
            break;
        case 'f':
            status = ag_output_filter_add(&ab->filter, optarg, 0);
            break;
        case 'M':
            ab->metric = ab->filter.count;
            ab->metric_text = optarg;
            status = ag_output_filter_add(&ab->filter, optarg, 1);
            break;
        case 'j':
            ab->json = optarg;
            break;
        case 'm':
            status = ag_launch_set_mode(&ab->launch, optarg);
            break;
        case 'S':
            status = ag_launch_set_word(&ab->launch, optarg);
            break;
        default:
            return AG_TOOL_USAGE;
        }
    }
    if (!status && ab->within && (counted || ab->metric >= 0))
        status = ag_tool_fail(AG_TOOL_USAGE, "ab: --within is one run: it goes without -n, --warmup and --metric");
    return status ? status : ag_launch_set_program(&ab->launch, argc, argv, optind);
}

/* Compares a run with the first plain one and remembers the first way in which it was different. */
static void ag_ab_compare(struct ag_ab *ab, const struct ag_process_run *run, enum ag_ab_side side)
{
    if (!ab->have_reference || ab->verdict[side] != AG_AB_SAME)
        return;
    if (run->wait_status != ab->reference.wait_status) {
        ab->verdict[side] = AG_AB_STATUS_DIFFERS;
        ab->different_status = ag_process_status(run);
        return;
    }
    struct ag_output_difference difference;
    if (ag_output_same(&ab->reference.out, &run->out, &ab->filter, &difference))
        return;
    ab->verdict[side] = AG_AB_OUTPUT_DIFFERS;
    fprintf(stderr, "first different line of %s:\n",
            side == AG_AB_PLAIN ? "two runs without the shim" : "a run with the shim");
    ag_output_print(&difference);
}

static int ag_ab_take_metric(const struct ag_ab *ab, const struct ag_process_run *run, double *value)
{
    const regex_t *expression = &ab->filter.expressions[ab->metric];
    if (ag_output_metric(&run->out, expression, value) || ag_output_metric(&run->err, expression, value))
        return 0;
    return ag_tool_fail(AG_TOOL_FAILED, "ab: no line of the output matches the metric '%s'", ab->metric_text);
}

int ag_ab_run(struct ag_ab *ab, enum ag_ab_side side, long pair)
{
    struct ag_launch launch = ab->launch;
    if (side == AG_AB_PLAIN)
        launch.shim = NULL;
    struct ag_process_run run;
    int status = ag_process_run(&launch, AG_PROCESS_CAPTURE, &run);
    if (!status && ag_process_signal(&run))
        status = ag_tool_fail(AG_TOOL_SIGNAL, "ab: a run %s the shim died of signal %d (%s)",
                              side == AG_AB_PLAIN ? "without" : "with", ag_process_signal(&run),
                              strsignal(ag_process_signal(&run)));
    if (!status && pair >= 0) {
        ab->values[AG_AB_WALL][side][pair] = run.wall;
        ab->values[AG_AB_USER][side][pair] = run.user;
        ab->values[AG_AB_SYSTEM][side][pair] = run.system;
        ab->values[AG_AB_RSS][side][pair] = run.max_rss / (1024 * 1024);
        if (ab->metric >= 0)
            status = ag_ab_take_metric(ab, &run, &ab->values[AG_AB_METRIC][side][pair]);
    }
    if (!status)
        ag_ab_compare(ab, &run, side);
    if (!status && side == AG_AB_PLAIN && !ab->have_reference) {
        ab->reference = run;
        ab->have_reference = true;
    } else {
        ag_process_release(&run);
    }
    return status;
}

static int ag_ab_measure(struct ag_ab *ab)
{
    int status = 0;
    for (long pair = -ab->warmup; pair < ab->pairs && !status; pair++) {
        /* The first of all runs is plain, since it gives the reference; then each pair turns the order round. */
        enum ag_ab_side first = (pair + ab->warmup) % 2 ? AG_AB_SHIM : AG_AB_PLAIN;
        status = ag_ab_run(ab, first, pair);
        if (!status)
            status = ag_ab_run(ab, first == AG_AB_PLAIN ? AG_AB_SHIM : AG_AB_PLAIN, pair);
    }
    return status;
}

int ag_tool_ab(int argc, char **argv)
{
    /* Static: the measurements take some tens of kilobytes. */
    static struct ag_ab ab = {.pairs = 5, .metric = -1};
    char shim[PATH_MAX];
    int status = ag_ab_parse(argc, argv, &ab);
    if (!status)
        status = ag_preload_require(shim);
    if (!status) {
        ab.launch.shim = shim;
        status = ab.within ? ag_ab_within(&ab) : ag_ab_measure(&ab);
    }
    if (!status)
        status = ag_ab_report(&ab);
    if (!status && (ab.verdict[AG_AB_PLAIN] != AG_AB_SAME || ab.verdict[AG_AB_SHIM] != AG_AB_SAME))
        status = AG_TOOL_DIFFERENT;
    ag_process_release(&ab.reference);
    ag_output_filter_release(&ab.filter);
    ag_launch_release(&ab.launch);
    return status;
}
