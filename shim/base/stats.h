/* Statistics: counters and the JSON object at exit (AUTOGRAPH_STATS).
 *
 * Each window has a set of its own, written under its lock; what happens outside of windows goes to the process's set,
 * atomically. ag_stats_write() sums up. Thread rule: ag_stats_add() any thread.
 */
#ifndef AG_SHIM_BASE_STATS_H
#define AG_SHIM_BASE_STATS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum ag_stat {
#define AG_STAT(name, help) AG_STAT_##name,
#define AG_STAT_FLUSH(name, help) AG_FLUSH_##name,
#define AG_STAT_BYPASS(name, help) AG_BYPASS_##name,
#include "shim/base/stats.def"
#undef AG_STAT
#undef AG_STAT_FLUSH
#undef AG_STAT_BYPASS
    AG_STAT_COUNT
};

struct ag_stats {
    uint64_t count[AG_STAT_COUNT];
};

/* The process's own set. */
void ag_stats_add(enum ag_stat stat, uint64_t n);
void ag_stats_max(enum ag_stat stat, uint64_t n);

/* Counts a launch that went past the windows, and why. */
void ag_stats_passed(enum ag_stat why);

/* How many did so until now. */
uint64_t ag_stats_passed_count(void);

/* A driver function, and how many of its calls found held work that had to be submitted first. All zero at first, which
 * costs no process anything that does not use it. Lives for ever; all but flushes belong to ag_stats_caller(). */
struct ag_caller {
    const char *symbol;
    atomic_ulong flushes;
    struct ag_caller *next;
    atomic_flag listed;
};

/* Counts one such call. The symbol is kept. */
void ag_stats_caller(struct ag_caller *caller, const char *symbol);

/* The key of a counter, without its group. */
const char *ag_stats_key(enum ag_stat stat);

/* A span of AUTOGRAPH_ALTERNATE_MS: whether launches were held in it, when the counting began (microseconds of
 * CLOCK_MONOTONIC) and how long it took, and how many launches the program issued meanwhile. */
struct ag_span {
    bool held;
    uint64_t begin_us, us, launches;
};

/* The latest so many are written. */
#define AG_SPANS_SHOWN 1024u

/* Notes a span that is over. One thread. */
void ag_stats_span(const struct ag_span *span);

/* Adds the process's own set to total. */
void ag_stats_collect(struct ag_stats *total);

/* At the process's end, one thread: writes the JSON object to the path (or "-" for standard output). Says one line on
 * standard error when it cannot. */
void ag_stats_write(const struct ag_stats *total, const char *pattern, int driver_version);

/* Seconds since the library was loaded are counted from this call. */
void ag_stats_start(void);

/* The same in the child of a fork, which counts for itself. */
void ag_stats_restart(void);

#endif
