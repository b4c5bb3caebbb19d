#define _GNU_SOURCE
#include "shim/trace/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "shim/base/options.h"

static int own(int file)
{
    /* a process that this one started, or the one that started it, may have been given the same path */
    if (flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return EBUSY;
    return ftruncate(file, 0) != 0 && errno != EINVAL ? errno : 0;
}

int ag_file_open(const char *pattern, int *file)
{
    char path[PATH_MAX];
    if (ag_options_expand(pattern, path, sizeof path) != 0)
        return ENAMETOOLONG;
    /* not to wait for a reader of a pipe */
    *file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
    if (*file < 0)
        return errno;
    int error = fcntl(*file, F_SETFL, O_WRONLY) != 0 ? errno : own(*file);
    if (error != 0) {
        close(*file);
        *file = -1;
    }
    return error;
}

void ag_file_complain(const char *what, const char *pattern, int error)
{
    char line[PATH_MAX + 128];
    int length = snprintf(line, sizeof line, "autograph: cannot write %s to %s: %s\n", what, pattern, strerror(error));
    if (length > 0 && write(STDERR_FILENO, line, (size_t)length) < 0)
        return;
}
