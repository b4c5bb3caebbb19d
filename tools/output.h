/* Comparing what two runs printed, line by line, without the lines that may differ.
 *
 * Knows lines and regular expressions (POSIX extended); knows nothing of processes' statuses. */
#ifndef AG_OUTPUT_H
#define AG_OUTPUT_H

#include "tools/process.h"

#include <regex.h>
#include <stdbool.h>

#define AG_OUTPUT_FILTERS 16

/* Lines that match any expression are left out of a comparison. */
struct ag_output_filter {
    regex_t expressions[AG_OUTPUT_FILTERS];
    int count;
};

/* Adds an expression with at least `groups` groups. Returns 0 or AG_TOOL_USAGE after a line on stderr. */
int ag_output_filter_add(struct ag_output_filter *filter, const char *expression, size_t groups);

void ag_output_filter_release(struct ag_output_filter *filter);

/* A part of some output that compared unequal; a side that had no more lines has length 0 and NULL bytes. */
struct ag_output_difference {
    size_t line; /* counted from 1 among the lines that were compared */
    const char *left, *right;
    size_t left_length, right_length;
};

/* True when both texts have the same lines; else fills `difference`, which points into the texts. */
bool ag_output_same(const struct ag_process_text *left, const struct ag_process_text *right,
                    const struct ag_output_filter *filter, struct ag_output_difference *difference);

/* Prints the difference on stderr as two lines, cut to a readable width. */
void ag_output_print(const struct ag_output_difference *difference);

/* Takes the number in the first group of `expression` from the last line that matches. False when no line does. */
bool ag_output_metric(const struct ag_process_text *text, const regex_t *expression, double *value);

#endif
