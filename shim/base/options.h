/* Options: the AUTOGRAPH_ variables, read once.
 *
 * Knows the table in options.def. A wrong value or an unknown name gives one line on standard error, and the default.
 * Thread rule: ag_options_load() runs once, before any thread can read; afterwards everything is constant.
 */
#ifndef AG_SHIM_BASE_OPTIONS_H
#define AG_SHIM_BASE_OPTIONS_H

enum ag_mode { AG_MODE_REPLAY, AG_MODE_OBSERVE, AG_MODE_VERIFY, AG_MODE_OFF };
enum ag_submit { AG_SUBMIT_CALLER, AG_SUBMIT_THREAD, AG_SUBMIT_AUTO };
enum ag_costs { AG_COSTS_MEASURED, AG_COSTS_FIXED, AG_COSTS_LOW };

struct ag_options {
#define AG_OPTION_FIELD_CHOICE(name) int name;
#define AG_OPTION_FIELD_STRING(name) const char *name;
#define AG_OPTION_FIELD_NUMBER(name) long name;
#define AG_OPTION(name, type, preset, values, help) AG_OPTION_FIELD_##type(name)
#include "shim/base/options.def"
#undef AG_OPTION
#undef AG_OPTION_FIELD_CHOICE
#undef AG_OPTION_FIELD_STRING
#undef AG_OPTION_FIELD_NUMBER
};

extern struct ag_options ag_options;

/* Reads the environment. Callable more than once; only the first call does anything. */
void ag_options_load(void);

/* Writes pattern into path, with %p replaced by the process id. Returns 0, or -1 when it does not fit. */
int ag_options_expand(const char *pattern, char *path, unsigned long size);

#endif
