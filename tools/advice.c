/* From numbers to sentences: what a person should do about a run's statistics. */
#include "tools/report.h"

#include <string.h>

struct ag_advice_top {
    const struct ag_json_entry *entry; /* largest of its group, or NULL */
    double sum;
};

static struct ag_advice_top ag_advice_largest(const struct ag_json_object *stats, const char *group)
{
    struct ag_advice_top top = {0};
    for (size_t i = 0; i < stats->count; i++) {
        const struct ag_json_entry *entry = &stats->entries[i];
        if (strcmp(entry->group, group) || entry->type != AG_JSON_NUMBER || entry->number <= 0)
            continue;
        top.sum += entry->number;
        if (!top.entry || entry->number > top.entry->number)
            top.entry = entry;
    }
    return top;
}

/* What can be done about launches that were passed through; reasons that nobody can change have no line. */
static const struct {
    const char *reason, *advice;
} ag_advice_bypass[] = {
        {"mode", "run with AUTOGRAPH_MODE=replay to submit them as graphs"},
        {"blind", "the program reaches the driver by a way that cannot be watched (RTLD_DEEPBIND, dlmopen)"},
        {"tool", "unset CUDA_LAUNCH_BLOCKING and detach profilers, or set AUTOGRAPH_FORCE=yes"},
        {"driver", "install a driver for CUDA 12.4 or newer"},
        {"capture", "the program makes CUDA graphs of its own there; nothing is left to gain"},
        {"stream", "use ordinary streams instead of per-thread default streams"},
        {"first", "normal at the start of a run; a high share means that the program is short or never repeats itself"},
        {"memory", "use device memory and pinned host memory for copies"},
};

static void ag_advice_on_bypass(FILE *out, const struct ag_json_object *stats, double launches)
{
    struct ag_advice_top top = ag_advice_largest(stats, "bypass");
    if (!top.entry || top.entry->number < 0.1 * launches)
        return;
    const char *reason = ag_report_reason("bypass", top.entry->name);
    fprintf(out, "- %.0f %% of the launches were passed through, most because of '%s' (%s)", 100 * top.sum / launches,
            top.entry->name, reason ? reason : "unknown to this version");
    for (size_t i = 0; i < sizeof ag_advice_bypass / sizeof ag_advice_bypass[0]; i++)
        if (!strcmp(ag_advice_bypass[i].reason, top.entry->name))
            fprintf(out, ": %s", ag_advice_bypass[i].advice);
    fputs(".\n", out);
}

static void ag_advice_on_flushes(FILE *out, const struct ag_json_object *stats, double launches)
{
    struct ag_advice_top top = ag_advice_largest(stats, "flushes");
    if (!top.entry || top.sum <= 0)
        return;
    const char *reason = ag_report_reason("flushes", top.entry->name);
    double distance = launches / top.sum;
    if (distance < 5)
        fprintf(out,
                "- Held work is submitted after every %.1f launches, most because of '%s' (%s): the fewer such calls "
                "between launches, the longer the graphs.\n",
                distance, top.entry->name, reason ? reason : "unknown to this version");
    double late = ag_json_number(stats, "watchdog_flushes");
    if (late > 0.5 * top.sum)
        fputs("- Most held work waited for the age limit: the program launches and then makes no CUDA call. A smaller "
              "AUTOGRAPH_HOLD_US makes it start sooner.\n",
              out);
}

static void ag_advice_on_graphs(FILE *out, const struct ag_json_object *stats, double launches)
{
    double builds = ag_json_number(stats, "builds"), evictions = ag_json_number(stats, "evictions");
    if (builds > 100 && evictions > 0.5 * builds)
        fputs("- Half of the graphs that were built were given up again: raise AUTOGRAPH_GRAPH_MB.\n", out);
    if (builds > 0.02 * launches && launches > 10000)
        fputs("- One build for fewer than 50 launches: the work hardly repeats. If it is not faster, "
              "AUTOGRAPH_MODE=off costs nothing.\n",
              out);
    if (ag_json_number(stats, "divergences") > 0)
        fputs("- Verify mode found differences. Use AUTOGRAPH_MODE=off for this program and report it as a bug.\n",
              out);
    if (ag_json_number(stats, "failures") > 0)
        fputs("- Driver calls of the shim's own failed and were stepped aside from; AUTOGRAPH_LOG=warn names them.\n",
              out);
}

/* What observe mode foresees. */
static void ag_advice_on_replaying(FILE *out, const struct ag_json_object *stats, double launches)
{
    double replayable = ag_json_number(stats, "replayable"), graphs = ag_json_number(stats, "replayable_graphs");
    double calls = ag_json_number(stats, "driver_calls"), observed = ag_json_number(stats, "observed");
    if (ag_json_find(stats, "", "replayable"))
        fprintf(out,
                "- Replay mode would submit %.1f %% of the launches inside graphs, %.1f in each: about %.0f driver "
                "calls "
                "instead of %.0f.\n",
                100 * replayable / launches, graphs > 0 ? replayable / graphs : 0, calls - replayable + graphs, calls);
    if (observed > 0 && observed < 0.99 * launches)
        fprintf(out, "- That is foretold from %.0f of the %.0f launches, taken as samples.\n", observed, launches);
    fputs("- Observe mode holds nothing; `autograph ab` measures what replaying gains.\n", out);
}

void ag_advice_print(FILE *out, const struct ag_json_object *stats)
{
    double launches = ag_json_number(stats, "launches"), replayed = ag_json_number(stats, "replayed");
    double calls = ag_json_number(stats, "driver_calls");
    fputs("advice\n", out);
    if (launches <= 0) {
        fputs("- No launch was seen: either the program launched nothing, or it reached the driver unseen. "
              "`autograph doctor PROGRAM` checks whether it can be preloaded.\n",
              out);
        return;
    }
    if (!strcmp(ag_json_text(stats, "mode", ""), "observe"))
        ag_advice_on_replaying(out, stats, launches);
    else
        fprintf(out, "- %.1f %% of the launches went out inside graphs, at %.2f driver calls a launch.\n",
                100 * replayed / launches, calls / launches);
    ag_advice_on_bypass(out, stats, launches);
    ag_advice_on_flushes(out, stats, launches);
    ag_advice_on_graphs(out, stats, launches);
}
