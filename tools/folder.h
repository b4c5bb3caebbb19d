/* A folder of its own for what the processes of one run write, since the program may start others that write theirs
 * too.
 */
#ifndef AG_FOLDER_H
#define AG_FOLDER_H

#include "tools/launch.h"

#include <limits.h>
#include <stddef.h>

/* Makes the folder, writes its path, and points the launch's AUTOGRAPH_<name> to files %p.<suffix> in it. what: what
 * the files are, for the line when it cannot be made. Returns 0 or an exit status after a line on stderr; the path is
 * "" when there is no folder. */
int ag_folder_make(char path[PATH_MAX], struct ag_launch *launch, const char *name, const char *suffix,
                   const char *what);

/* Hands each file to `take` until that answers an exit status (NULL: to nobody) and removes it, then removes the
 * folder; the path is "" afterwards, but where the folder cannot be read. Returns 0 or an exit status after a line. */
int ag_folder_empty(char path[PATH_MAX], int (*take)(void *context, const char *file), void *context);

/* The whole of a file, to be freed by the caller; NULL with errno set. */
char *ag_folder_load(const char *path, size_t *length);

#endif
