/* `autograph ab --within`: the spans of one run that hold launches against those that do not. */
#include "tools/ab.h"
#include "tools/json.h"
#include "tools/sample.h"
#include "tools/stats.h"
#include "tools/tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ag_ab_span {
    bool held;
    double us, launches;
};

/* Reads one of the statistics' spans, [held, begin_us, us, launches]; NULL behind the last one. */
static const char *ag_ab_span_read(const char *text, struct ag_ab_span *span)
{
    double field[4];
    text += strcspn(text, "0123456789");
    for (int i = 0; i < 4; i++) {
        char *end;
        field[i] = strtod(text, &end);
        if (end == text)
            return NULL;
        text = end + strspn(end, ",] \t\n");
    }
    *span = (struct ag_ab_span){field[0] > 0, field[2], field[3]};
    return text + strspn(text, "[");
}

/* The process with the most to say. */
static const char *ag_ab_spans(const struct ag_stats_files *files)
{
    const char *longest = "";
    for (size_t i = 0; i < files->count; i++) {
        const char *spans = ag_json_text(&files->objects[i], "spans", "");
        if (strlen(spans) > strlen(longest))
            longest = spans;
    }
    return longest;
}

/* Pairs off neighbouring spans, none of them twice. The first span is left out: the program begins in it. */
static void ag_ab_pair_off(struct ag_ab *ab, const char *text)
{
    struct ag_ab_span span, last = {0};
    bool first = true;
    ab->pairs = 0;
    while (ab->pairs < AG_AB_PAIRS && (text = ag_ab_span_read(text, &span))) {
        bool pair = last.launches > 0 && span.launches > 0 && last.held != span.held;
        if (pair) {
            ab->values[AG_AB_LAUNCH][span.held ? AG_AB_SHIM : AG_AB_PLAIN][ab->pairs] = span.us / span.launches;
            ab->values[AG_AB_LAUNCH][last.held ? AG_AB_SHIM : AG_AB_PLAIN][ab->pairs] = last.us / last.launches;
            ab->pairs++;
        }
        last = span;
        if (pair || first)
            last.launches = 0;
        first = false;
    }
}

int ag_ab_within(struct ag_ab *ab)
{
    char ms[24];
    snprintf(ms, sizeof ms, "%ld", ab->within);
    int status = ag_launch_set(&ab->launch, "ALTERNATE_MS", ms);
    struct ag_stats_folder folder;
    struct ag_stats_files files = {0};
    if (!status)
        status = ag_ab_run(ab, AG_AB_PLAIN, -1);
    if (!status)
        status = ag_stats_folder_make(&folder, &ab->launch);
    if (status)
        return status;
    status = ag_ab_run(ab, AG_AB_SHIM, -1);
    int taken = ag_stats_folder_take(&folder, &files);
    if (!status)
        status = taken;
    if (!status)
        ag_ab_pair_off(ab, ag_ab_spans(&files));
    if (!status && ab->pairs == 0)
        status = ag_tool_fail(
                AG_TOOL_FAILED,
                "ab: no two spans of %ld ms with launches to compare; the program is too short, or nothing was held",
                ab->within);
    ag_stats_files_release(&files);
    return status;
}
