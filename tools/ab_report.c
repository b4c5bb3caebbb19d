/* The table and the JSON of `autograph ab`. */
#include "tools/ab.h"
#include "tools/json.h"
#include "tools/sample.h"
#include "tools/tool.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *label, *key;
} ag_ab_names[AG_AB_QUANTITIES] = {
        [AG_AB_LAUNCH] = {"us a launch", "us_per_launch"},
        [AG_AB_METRIC] = {"metric", "metric"},
        [AG_AB_WALL] = {"wall s", "wall_s"},
        [AG_AB_USER] = {"user s", "user_s"},
        [AG_AB_SYSTEM] = {"system s", "system_s"},
        [AG_AB_RSS] = {"max RSS MiB", "max_rss_mib"},
};

static enum ag_ab_quantity ag_ab_main_quantity(const struct ag_ab *ab)
{
    return ab->within ? AG_AB_LAUNCH : ab->metric >= 0 ? AG_AB_METRIC : AG_AB_WALL;
}

/* What is measured: the main quantity, and the others after it where whole runs are compared. */
static enum ag_ab_quantity ag_ab_end_quantity(const struct ag_ab *ab)
{
    return ab->within ? AG_AB_LAUNCH + 1 : AG_AB_QUANTITIES;
}

struct ag_ab_ratios {
    double of_medians;
    struct ag_sample of_pairs;
};

/* Above 1 means that the shimmed side needed less. */
static struct ag_ab_ratios ag_ab_ratios(const struct ag_ab *ab, enum ag_ab_quantity quantity)
{
    double ratios[AG_AB_PAIRS];
    const double *plain = ab->values[quantity][AG_AB_PLAIN], *shim = ab->values[quantity][AG_AB_SHIM];
    for (long i = 0; i < ab->pairs; i++)
        ratios[i] = ag_sample_ratio(plain[i], shim[i]);
    size_t count = (size_t)ab->pairs;
    return (struct ag_ab_ratios){
            ag_sample_ratio(ag_sample_of(plain, count).median, ag_sample_of(shim, count).median),
            ag_sample_of(ratios, count),
    };
}

static void ag_ab_table(const struct ag_ab *ab)
{
    printf("%ld pairs of %s%s, median (least - most)\n", ab->pairs, ab->within ? "spans of one run of " : "",
           ab->launch.argv[0]);
    printf("  %-12s %-32s %-32s %s\n", "", ab->within ? "passed" : "without shim", ab->within ? "held" : "with shim",
           "ratio");
    for (enum ag_ab_quantity q = ag_ab_main_quantity(ab); q < ag_ab_end_quantity(ab); q++) {
        printf("  %-12s", ag_ab_names[q].label);
        for (int side = 0; side < AG_AB_SIDES; side++) {
            char cell[96];
            struct ag_sample sample = ag_sample_of(ab->values[q][side], (size_t)ab->pairs);
            snprintf(cell, sizeof cell, "%.4g (%.4g - %.4g)", sample.median, sample.least, sample.most);
            printf(" %-32s", cell);
        }
        double ratio = ag_ab_ratios(ab, q).of_medians;
        if (ratio > 0)
            printf(" %.3f\n", ratio);
        else
            puts(" -");
    }
    struct ag_ab_ratios ratios = ag_ab_ratios(ab, ag_ab_main_quantity(ab));
    printf("ratio of medians %.3f, median ratio of pairs %.3f (%.3f - %.3f); above 1: faster %s\n", ratios.of_medians,
           ratios.of_pairs.median, ratios.of_pairs.least, ratios.of_pairs.most,
           ab->within ? "when held" : "with the shim");
}

static void ag_ab_print_verdict(const struct ag_ab *ab)
{
    int status = ag_process_status(&ab->reference);
    if (ab->verdict[AG_AB_PLAIN] != AG_AB_SAME)
        printf("results: differ between runs without the shim%s\n",
               ab->verdict[AG_AB_PLAIN] == AG_AB_OUTPUT_DIFFERS ? "; --filter leaves out lines that may differ" : "");
    switch (ab->verdict[AG_AB_SHIM]) {
    case AG_AB_SAME:
        printf("results: identical output, exit status %d\n", status);
        break;
    case AG_AB_OUTPUT_DIFFERS:
        puts("results: the output with the shim differs");
        break;
    case AG_AB_STATUS_DIFFERS:
        printf("results: the exit status differs: %d without, %d with the shim\n", status, ab->different_status);
        break;
    }
}

static void ag_ab_json_values(FILE *out, const double *values, long count)
{
    for (long i = 0; i < count; i++)
        fprintf(out, "%s%.9g", i ? "," : "[", values[i]);
    fputc(']', out);
}

static void ag_ab_json(const struct ag_ab *ab, FILE *out)
{
    fputs("{\"program\":[", out);
    for (int i = 0; ab->launch.argv[i]; i++) {
        if (i)
            fputc(',', out);
        ag_json_print_string(out, ab->launch.argv[i]);
    }
    fprintf(out, "],\"pairs\":%ld,\"compared_by\":", ab->pairs);
    ag_json_print_string(out, ab->metric >= 0 ? ab->metric_text : ag_ab_names[ag_ab_main_quantity(ab)].key);
    for (enum ag_ab_quantity q = ag_ab_main_quantity(ab); q < ag_ab_end_quantity(ab); q++) {
        struct ag_ab_ratios ratios = ag_ab_ratios(ab, q);
        fprintf(out, ",\n \"%s\":{", ag_ab_names[q].key);
        for (int side = 0; side < AG_AB_SIDES; side++) {
            struct ag_sample sample = ag_sample_of(ab->values[q][side], (size_t)ab->pairs);
            fprintf(out, "\"%s\":{\"median\":%.9g,\"least\":%.9g,\"most\":%.9g,\"values\":",
                    side == AG_AB_PLAIN ? "plain" : "shim", sample.median, sample.least, sample.most);
            ag_ab_json_values(out, ab->values[q][side], ab->pairs);
            fputs("},", out);
        }
        fprintf(out, "\"ratio_of_medians\":%.6g,\"median_ratio\":%.6g}", ratios.of_medians, ratios.of_pairs.median);
    }
    fprintf(out, ",\n \"exit_status\":%d,\"plain_runs_agree\":%s,\"same_results\":%s}\n",
            ag_process_status(&ab->reference), ab->verdict[AG_AB_PLAIN] == AG_AB_SAME ? "true" : "false",
            ab->verdict[AG_AB_SHIM] == AG_AB_SAME ? "true" : "false");
}

int ag_ab_report(const struct ag_ab *ab)
{
    bool to_stdout = ab->json && !strcmp(ab->json, "-");
    if (to_stdout) {
        ag_ab_json(ab, stdout);
        return 0;
    }
    ag_ab_table(ab);
    ag_ab_print_verdict(ab);
    if (!ab->json)
        return 0;
    FILE *out = fopen(ab->json, "we");
    if (!out)
        return ag_tool_fail(AG_TOOL_FAILED, "cannot write %s: %s", ab->json, strerror(errno));
    ag_ab_json(ab, out);
    return fclose(out) ? ag_tool_fail(AG_TOOL_FAILED, "cannot write %s: %s", ab->json, strerror(errno)) : 0;
}
