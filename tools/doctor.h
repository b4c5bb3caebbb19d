/* Parts of `autograph doctor`. Each check prints its own line and returns whether preloading can work after it. */
#ifndef AG_DOCTOR_H
#define AG_DOCTOR_H

#include <stdbool.h>

enum ag_doctor_level { AG_DOCTOR_OK, AG_DOCTOR_WARN, AG_DOCTOR_FAIL };

/* Prints one line; returns false for AG_DOCTOR_FAIL only. */
bool ag_doctor_say(enum ag_doctor_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Loads the driver in a child, since a broken one may crash, and asks for its version and devices. */
bool ag_doctor_check_driver(void);

/* Whether the dynamic loader would honour LD_PRELOAD for this program. */
bool ag_doctor_check_program(const char *program);

#endif
