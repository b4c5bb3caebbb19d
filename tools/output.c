#include "tools/output.h"
#include "tools/tool.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ag_output_line {
    const char *start;
    size_t length;
    bool ended; /* by a newline */
};

int ag_output_filter_add(struct ag_output_filter *filter, const char *expression, size_t groups)
{
    if (filter->count == AG_OUTPUT_FILTERS)
        return ag_tool_fail(AG_TOOL_USAGE, "more than %d expressions", AG_OUTPUT_FILTERS);
    regex_t *compiled = &filter->expressions[filter->count];
    int error = regcomp(compiled, expression, REG_EXTENDED);
    if (error) {
        char reason[128];
        regerror(error, compiled, reason, sizeof reason);
        return ag_tool_fail(AG_TOOL_USAGE, "bad expression '%s': %s", expression, reason);
    }
    filter->count++;
    if (compiled->re_nsub < groups)
        return ag_tool_fail(AG_TOOL_USAGE, "expression '%s' has no group: put the number in ( )", expression);
    return 0;
}

void ag_output_filter_release(struct ag_output_filter *filter)
{
    while (filter->count)
        regfree(&filter->expressions[--filter->count]);
}

/* Matches a copy that is terminated: REG_STARTEND would spare the copy, but not every libc and not every interposed
 * regexec has it. What follows a zero byte in a line is not looked at. */
static bool ag_output_match(const regex_t *expression, struct ag_output_line line, regmatch_t *matches, size_t count)
{
    char *copy = strndup(line.start, line.length);
    bool matched = copy && !regexec(expression, copy, count, matches, 0);
    free(copy);
    return matched;
}

/* Steps `*at` over one line of the text. */
static bool ag_output_next(const struct ag_process_text *text, size_t *at, struct ag_output_line *line)
{
    if (*at >= text->length)
        return false;
    line->start = text->bytes + *at;
    const char *newline = memchr(line->start, '\n', text->length - *at);
    line->ended = newline;
    line->length = newline ? (size_t)(newline - line->start) : text->length - *at;
    *at += line->length + line->ended;
    return true;
}

/* The same, over the lines that the filter keeps. */
static bool ag_output_next_kept(const struct ag_process_text *text, const struct ag_output_filter *filter, size_t *at,
                                struct ag_output_line *line)
{
    while (ag_output_next(text, at, line)) {
        bool dropped = false;
        for (int i = 0; i < filter->count && !dropped; i++)
            dropped = ag_output_match(&filter->expressions[i], *line, NULL, 0);
        if (!dropped)
            return true;
    }
    *line = (struct ag_output_line){0};
    return false;
}

bool ag_output_same(const struct ag_process_text *left, const struct ag_process_text *right,
                    const struct ag_output_filter *filter, struct ag_output_difference *difference)
{
    size_t left_at = 0, right_at = 0;
    struct ag_output_line a, b;
    for (size_t line = 1;; line++) {
        bool left_more = ag_output_next_kept(left, filter, &left_at, &a);
        bool right_more = ag_output_next_kept(right, filter, &right_at, &b);
        if (!left_more && !right_more)
            return true;
        if (left_more && right_more && a.length == b.length && a.ended == b.ended &&
            !memcmp(a.start, b.start, a.length))
            continue;
        *difference = (struct ag_output_difference){line, a.start, b.start, a.length, b.length};
        return false;
    }
}

static void ag_output_print_side(const char *name, size_t line, const char *text, size_t length)
{
    if (!text) {
        fprintf(stderr, "  %-6s line %zu: (no such line)\n", name, line);
        return;
    }
    size_t shown = length < 100 ? length : 100;
    fprintf(stderr, "  %-6s line %zu: ", name, line);
    for (size_t i = 0; i < shown; i++)
        fputc(isprint((unsigned char)text[i]) ? text[i] : '.', stderr);
    fputs(shown < length ? "...\n" : "\n", stderr);
}

void ag_output_print(const struct ag_output_difference *difference)
{
    ag_output_print_side("plain", difference->line, difference->left, difference->left_length);
    ag_output_print_side("shim", difference->line, difference->right, difference->right_length);
}

bool ag_output_metric(const struct ag_process_text *text, const regex_t *expression, double *value)
{
    size_t at = 0;
    bool found = false;
    struct ag_output_line line;
    while (ag_output_next(text, &at, &line)) {
        regmatch_t matches[2];
        if (!ag_output_match(expression, line, matches, 2) || matches[1].rm_so < 0)
            continue;
        char number[64];
        int length = (int)(matches[1].rm_eo - matches[1].rm_so);
        snprintf(number, sizeof number, "%.*s", length, line.start + matches[1].rm_so);
        char *end;
        double parsed = strtod(number, &end);
        if (end != number && !*end) {
            *value = parsed;
            found = true;
        }
    }
    return found;
}
