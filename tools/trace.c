/* autograph trace: what can be done with a recorded trace. */
#include "tools/trace.h"
#include "tools/tool.h"

#include <stdio.h>
#include <string.h>

const char ag_tool_trace_usage[] =
        "usage: autograph trace simulate [options] FILE...\n"
        "       autograph trace simulate --cost\n"
        "       autograph trace dump FILE\n"
        "\n"
        "simulate runs the shim's own policy over traces, without a driver, and prints what it would have cost. Each\n"
        "trace is played three times, and the last time counts. Files are what\n"
        "AUTOGRAPH_TRACE wrote, lines as dump prints them, or either of them packed by xz.\n"
        "\n"
        "  --json              print JSON instead of a table\n"
        "  --details           say as well why launches went out by themselves, and how long graphs were\n"
        "  --sampled           say as well what observe mode, which sees samples of a long run, would have foretold "
        "of\n"
        "                      all plays together\n"
        "  --cost              print the cost model and end\n"
        "  --plays N           play each trace N times (default 3)\n"
        "  --hold-us N         submit what is held longer than this, by the trace's clock (default: no such limit)\n"
        "  --seed N            hash functions in another way, which makes cuts fall elsewhere (default 0)\n"
        "  --set NAME=VALUE    change the policy: chunk_min, chunk_max, chunk_bits, chunk_ramp, patch_us,\n"
        "                      build_us, saved_us, launch_us, node_us, advance, savings_max, learning_us, later, "
        "payback, payback_full, "
        "admission, "
        "build_after; "
        "may be "
        "repeated\n"
        "\n"
        "dump prints a trace as lines of fields with tabs between:\n"
        "  F id name size,...                                       a function and the bytes of its parameters\n"
        "  K us thread stream function grid block shared attributes argument,...   a launch; arguments in hex\n"
        "  C us thread call argument,...                            a memset, a copy, or a call that may flush\n"
        "    the fifth argument of a memset or copy is 61675f686f6c6431 when it could not be held, ...32 when it "
        "could,\n"
        "    and ...33 when it could and reads pinned host memory\n"
        "  S us thread stream ops reason                            held launches that were submitted early\n"
        "\n"
        "Exit status: 0, or 2 for wrong usage and for files that are no traces.\n";

/* Checked before it is printed, so that nothing is printed of a file that is no trace. */
static int ag_trace_dump(int argc, char **argv)
{
    static const struct option longs[] = {{NULL, 0, NULL, 0}};
    if (ag_tool_getopt(argc, argv, "", longs) != -1)
        return AG_TOOL_USAGE;
    if (optind + 1 != argc)
        return ag_tool_fail(AG_TOOL_USAGE, "trace dump: takes one file; see autograph help trace");
    struct ag_trace_file file;
    int status = ag_trace_file_read(&file, argv[optind]);
    ag_trace_file_release(&file);
    if (!status)
        status = ag_trace_file_load(&file, argv[optind]);
    if (!status)
        fwrite(file.text, 1, file.length, stdout);
    ag_trace_file_release(&file);
    return status;
}

int ag_tool_trace(int argc, char **argv)
{
    if (argc < 2)
        return ag_tool_fail(AG_TOOL_USAGE, "trace: say what to do; see autograph help trace");
    if (!strcmp(argv[1], "simulate"))
        return ag_trace_simulate(argc - 1, argv + 1);
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
        fputs(ag_tool_trace_usage, stdout);
        return AG_TOOL_OK;
    }
    if (!strcmp(argv[1], "dump"))
        return ag_trace_dump(argc - 1, argv + 1);
    return ag_tool_fail(AG_TOOL_USAGE, "trace: unknown command '%s'; see autograph help trace", argv[1]);
}
