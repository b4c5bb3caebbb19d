/* Where the shim library is, and the LD_PRELOAD value that loads it.
 *
 * Knows the names of the built files and the syntax of LD_PRELOAD; changes no environment itself. */
#ifndef AG_PRELOAD_H
#define AG_PRELOAD_H

#include <limits.h>

#define AG_PRELOAD_SHIM "libautograph.so"
#define AG_PRELOAD_FACADE "libautograph_cuda.so"

/* Writes the shim's absolute path: beside this executable, in ../lib or in ../lib/autograph. AUTOGRAPH_LIBRARY is not
 * consulted: the command and the shim of one build belong together. Returns 0, -ENOENT when there is none, or -EINVAL
 * when its path holds a character that LD_PRELOAD takes for a separator. */
int ag_preload_find(char path[PATH_MAX]);

/* The same with the line on stderr that says what to do; returns 0 or an exit status. */
int ag_preload_require(char path[PATH_MAX]);

/* `existing` (may be NULL) with `shim` in front; entries that are some libautograph.so already are left out, so that
 * the shim is never loaded twice. With a NULL shim only those entries are removed. The caller frees it; NULL when out
 * of memory. */
char *ag_preload_compose(const char *shim, const char *existing);

#endif
