/* Statistics as a table for people. Reads objects, writes text, nothing else. */
#ifndef AG_REPORT_H
#define AG_REPORT_H

#include "tools/json.h"

#include <stdio.h>

/* Prints one process's statistics, then the advice. */
void ag_report_print(FILE *out, const struct ag_json_object *stats);

/* Says in a few lines what the numbers mean for this program and what to do about it. */
void ag_advice_print(FILE *out, const struct ag_json_object *stats);

/* What a reason of the groups "flushes" and "bypass" stands for, or NULL when this build does not know it. */
const char *ag_report_reason(const char *group, const char *name);

#endif
