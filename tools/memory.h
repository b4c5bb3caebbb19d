/* What device memory held in whole runs (AUTOGRAPH_MEMORY), and what differs between them.
 *
 * An allocation of one run is that of another when it is the same thread's, of the same kind, size and name, and of the
 * same number among those. Threads, of all processes of a run, have no name that stays: those that allocate the same
 * are taken for each other, and among several such those whose contents differ least. One thread.
 */
#ifndef AG_TOOL_MEMORY_H
#define AG_TOOL_MEMORY_H

#include "analysis/memory.h"
#include "tools/launch.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct ag_memory_allocation {
    uint64_t began_ns; /* of its process, which this tells from others */
    struct ag_memory_record record;
    const uint64_t *hashes; /* record.pieces of them */
    const char *name;       /* "" when it has none */
    uint32_t repeat;        /* so many allocations of its thread before it are of its kind, size and name */
};

/* The allocations of a thread stand one after the other, in their order. */
struct ag_memory_thread {
    size_t first, count;
    uint64_t signature; /* equal for threads that allocate the same */
};

struct ag_memory_run {
    char folder[PATH_MAX]; /* "" when there is none */
    char **texts;          /* the files; owned, as is all below */
    size_t text_count;
    struct ag_memory_allocation *allocations;
    size_t count;
    const struct ag_memory_allocation **sorted; /* those of each thread by kind, size and name, then in their order */
    struct ag_memory_thread *threads;
    size_t thread_count;
    size_t processes, cut; /* files read; those that end early, as their process did */
};

/* The thread's allocation that has the kind, size, name and repeat of `like`, or NULL. */
const struct ag_memory_allocation *ag_memory_find(const struct ag_memory_run *run,
                                                  const struct ag_memory_thread *thread,
                                                  const struct ag_memory_allocation *like);

/* Makes a folder and points the launch's AUTOGRAPH_MEMORY into it. Returns 0 or an exit status after a line. */
int ag_memory_run_begin(struct ag_memory_run *run, struct ag_launch *launch);

/* Reads what the run left there and removes the folder. Returns 0 or an exit status after a line. */
int ag_memory_run_end(struct ag_memory_run *run);

/* Also removes a folder that was not read. */
void ag_memory_run_release(struct ag_memory_run *run);

/* Counts of allocations, and of bytes. */
struct ag_memory_verdict {
    size_t compared, different;
    uint64_t bytes; /* compared; in whole pieces */
    uint64_t noise; /* bytes of compared allocations that differ between the plain runs */
    /* not compared: nothing in them is the same in the plain runs; not in each run; only with the shim; and those that
     * some run could not read, by why */
    size_t noisy, missing, more, unread[AG_MEMORY_STATES];
};

/* Compares the checked run with the first plain one, leaving out what differs between the two plain ones, and prints
 * the first differences. Returns 0 or an exit status after a line. */
int ag_memory_compare(const struct ag_memory_run *plain, const struct ag_memory_run *again,
                      const struct ag_memory_run *checked, struct ag_memory_verdict *verdict);

/* Prints the verdict as one line. */
void ag_memory_print(const struct ag_memory_verdict *verdict);

#endif
