/* autograph trace: what can be done with a recorded trace. */
#include "tools/trace.h"
#include "tools/tool.h"

#include <stdio.h>
#include <string.h>

const char ag_tool_trace_usage[] =
        "usage: autograph trace simulate [options] FILE...\n"
        "       autograph trace simulate --cost\n"
        "\n"
        "simulate runs the shim's own policy over traces, without a driver, and prints what it would have cost. Each\n"
        "trace is played three times, and the last time counts. Files are text, or text packed by xz.\n"
        "\n"
        "  --json              print JSON instead of a table\n"
        "  --details           say as well why launches went out by themselves, and how long graphs were\n"
        "  --cost              print the cost model and end\n"
        "  --plays N           play each trace N times (default 3)\n"
        "  --hold-us N         submit what is held longer than this, by the trace's clock (default: no such limit)\n"
        "  --seed N            hash functions in another way, which makes cuts fall elsewhere (default 0)\n"
        "  --set NAME=VALUE    change the policy: chunk_min, chunk_max, chunk_bits, chunk_ramp, patch_us,\n"
        "                      build_us, saved_us, advance, savings_max, learning_us, later, payback, payback_full, "
        "admission, "
        "build_after; "
        "may be "
        "repeated\n"
        "\n"
        "Exit status: 0, or 2 for wrong usage and for files that are no traces.\n";

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
    return ag_tool_fail(AG_TOOL_USAGE, "trace: unknown command '%s'; see autograph help trace", argv[1]);
}
