/* Statistics files: reading them, and collecting those of every process of one run.
 *
 * Knows the keys only as far as summing needs them; what they mean is the report's business. */
#ifndef AG_STATS_FILES_H
#define AG_STATS_FILES_H

#include "tools/json.h"
#include "tools/launch.h"

#include <limits.h>

struct ag_stats_files {
    struct ag_json_object *objects; /* one a process, in the order read; owned */
    size_t count;
};

/* Adds every object of the file. Returns 0 or an exit status after a line on stderr that names the file. */
int ag_stats_files_read(struct ag_stats_files *files, const char *path);

void ag_stats_files_release(struct ag_stats_files *files);

/* A folder of its own for the statistics of one run, since the program may start others that write theirs too. */
struct ag_stats_folder {
    char path[PATH_MAX];
};

/* Makes the folder and points the launch's AUTOGRAPH_STATS into it. Returns 0 or an exit status after a line. */
int ag_stats_folder_make(struct ag_stats_folder *folder, struct ag_launch *launch);

/* Reads what the run left, then removes the folder. Processes that issued no launch are left out. */
int ag_stats_folder_take(struct ag_stats_folder *folder, struct ag_stats_files *files);

#endif
