/* autograph report: statistics files as tables. */
#include "tools/report.h"
#include "tools/stats.h"
#include "tools/tool.h"

#include <string.h>

const char ag_tool_report_usage[] =
        "usage: autograph report STATS.json...\n"
        "\n"
        "Prints what AUTOGRAPH_STATS wrote as a table, with advice. A file may hold the objects of several processes.\n"
        "- stands for standard input.\n";

/* Labels, groups and explanations come from the shim's own table, so that a new counter needs no edit here. */
static const struct {
    const char *group, *name, *help;
} ag_report_keys[] = {
#define AG_STAT(name, help) {"", #name, help},
#define AG_STAT_FLUSH(name, help) {"flushes", #name, help},
#define AG_STAT_BYPASS(name, help) {"bypass", #name, help},
#include "shim/base/stats.def"
#undef AG_STAT
#undef AG_STAT_FLUSH
#undef AG_STAT_BYPASS
};

const char *ag_report_reason(const char *group, const char *name)
{
    for (size_t i = 0; i < sizeof ag_report_keys / sizeof ag_report_keys[0]; i++)
        if (!strcmp(ag_report_keys[i].group, group) && !strcmp(ag_report_keys[i].name, name))
            return ag_report_keys[i].help;
    return NULL;
}

static bool ag_report_is_share(const char *name)
{
    return !strcmp(name, "replayed") || !strcmp(name, "patched") || !strcmp(name, "retargeted") ||
           !strcmp(name, "eager") || !strcmp(name, "replayable");
}

static void ag_report_row(FILE *out, const struct ag_json_entry *entry, double launches)
{
    const char *help = ag_report_reason(entry->group, entry->name);
    char share[16] = "";
    bool shared = ag_report_is_share(entry->name) || !strcmp(entry->group, "bypass");
    if (shared && launches > 0 && entry->type == AG_JSON_NUMBER)
        snprintf(share, sizeof share, "%.1f %%", 100 * entry->number / launches);
    fprintf(out, "  %-17s %14s %8s  %s\n", entry->name, entry->text, share, help ? help : "");
}

static void ag_report_group(FILE *out, const struct ag_json_object *stats, const char *group, const char *title)
{
    double launches = ag_json_number(stats, "launches");
    bool any = false;
    for (size_t i = 0; i < stats->count; i++) {
        const struct ag_json_entry *entry = &stats->entries[i];
        if (strcmp(entry->group, group) || entry->type != AG_JSON_NUMBER)
            continue;
        if (!*group && (!strcmp(entry->name, "driver") || !strcmp(entry->name, "seconds")))
            continue; /* in the heading */
        if (!any)
            fprintf(out, "%s\n", title);
        any = true;
        ag_report_row(out, entry, launches);
    }
}

void ag_report_print(FILE *out, const struct ag_json_object *stats)
{
    int driver = (int)ag_json_number(stats, "driver");
    fprintf(out, "autograph %s, mode %s, ", ag_json_text(stats, "version", "(unknown)"),
            ag_json_text(stats, "mode", "(unknown)"));
    if (driver)
        fprintf(out, "driver for CUDA %d.%d, ", driver / 1000, driver % 1000 / 10);
    fprintf(out, "%.1f s\n", ag_json_number(stats, "seconds"));
    ag_report_group(out, stats, "", "counters");
    ag_report_group(out, stats, "flushes", "held work submitted early because of");
    ag_report_group(out, stats, "bypass", "launches passed through because of");
    ag_advice_print(out, stats);
}

int ag_tool_report(int argc, char **argv)
{
    static const struct option longs[] = {{NULL, 0, NULL, 0}};
    if (ag_tool_getopt(argc, argv, "", longs) != -1)
        return AG_TOOL_USAGE;
    if (optind >= argc)
        return ag_tool_fail(AG_TOOL_USAGE, "report: no statistics file given; see autograph help report");
    struct ag_stats_files files = {0};
    int status = 0;
    for (int i = optind; i < argc && !status; i++)
        status = ag_stats_files_read(&files, strcmp(argv[i], "-") ? argv[i] : "/dev/stdin");
    for (size_t i = 0; i < files.count && !status; i++) {
        if (i)
            putchar('\n');
        ag_report_print(stdout, &files.objects[i]);
    }
    ag_stats_files_release(&files);
    return status;
}
