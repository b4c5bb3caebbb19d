#include "shim/base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

/* Beyond this many lines a process says no more: a fault that repeats must not fill a disk. */
#define LINES_MAX 1000

static atomic_uint lines;

void ag_log_write(enum ag_log_level level, const char *format, ...)
{
    static const char *const names[] = {"", "error", "warn", "info", "debug"};
    int saved = errno;
    char line[512];
    if (level != AG_LOG_DEBUG && atomic_fetch_add_explicit(&lines, 1, memory_order_relaxed) >= LINES_MAX)
        return;
    int used = snprintf(line, sizeof line, "autograph: %s: ", names[level]);
    va_list arguments;
    va_start(arguments, format);
    int more = vsnprintf(line + used, sizeof line - (size_t)used - 1, format, arguments);
    va_end(arguments);
    used = more < 0 ? used : used + more;
    if (used > (int)sizeof line - 2)
        used = (int)sizeof line - 2;
    line[used++] = '\n';
    if (write(STDERR_FILENO, line, (size_t)used) < 0) {
        /* nobody to tell */
    }
    errno = saved;
}
