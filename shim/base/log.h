/* The log: lines on standard error, when asked for (AUTOGRAPH_LOG). Never allocates, keeps errno.
 * Thread rule: any thread; each line is one write. */
#ifndef AG_SHIM_BASE_LOG_H
#define AG_SHIM_BASE_LOG_H

#include "shim/base/options.h"

enum ag_log_level { AG_LOG_NONE, AG_LOG_ERROR, AG_LOG_WARN, AG_LOG_INFO, AG_LOG_DEBUG };

#define ag_log(level, ...)                                                                                             \
    do {                                                                                                               \
        if (__builtin_expect(ag_options.log >= (level), 0))                                                            \
            ag_log_write(level, __VA_ARGS__);                                                                          \
    } while (0)

void ag_log_write(enum ag_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
