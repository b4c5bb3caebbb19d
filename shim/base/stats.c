#include "shim/base/stats.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shim/base/options.h"

/* Functions that the object names. */
#define CALLERS_SHOWN 24

static _Atomic uint64_t process[AG_STAT_COUNT];
static _Atomic uint64_t passed[AG_STAT_COUNT]; /* by AG_BYPASS_ reason */
static struct timespec started;

enum group { PLAIN, FLUSHES, BYPASS };

static const struct {
    const char *name;
    enum group group;
} keys[AG_STAT_COUNT] = {
#define AG_STAT(name, help) [AG_STAT_##name] = {#name, PLAIN},
#define AG_STAT_FLUSH(name, help) [AG_FLUSH_##name] = {#name, FLUSHES},
#define AG_STAT_BYPASS(name, help) [AG_BYPASS_##name] = {#name, BYPASS},
#include "shim/base/stats.def"
#undef AG_STAT
#undef AG_STAT_FLUSH
#undef AG_STAT_BYPASS
};

static pthread_mutex_t spans_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct ag_span spans[AG_SPANS_SHOWN]; /* under spans_mutex; number n is at n % AG_SPANS_SHOWN */
static uint64_t span_count;

void ag_stats_span(const struct ag_span *span)
{
    pthread_mutex_lock(&spans_mutex);
    spans[span_count++ % AG_SPANS_SHOWN] = *span;
    pthread_mutex_unlock(&spans_mutex);
}

const char *ag_stats_key(enum ag_stat stat)
{
    return keys[stat].name;
}

void ag_stats_start(void)
{
    clock_gettime(CLOCK_MONOTONIC, &started);
}

void ag_stats_restart(void)
{
    for (int i = 0; i < AG_STAT_COUNT; i++)
        atomic_store(&process[i], 0), atomic_store(&passed[i], 0);
    span_count = 0;
    pthread_mutex_init(&spans_mutex, NULL);
    ag_stats_start();
}

void ag_stats_add(enum ag_stat stat, uint64_t n)
{
    atomic_fetch_add_explicit(&process[stat], n, memory_order_relaxed);
}

void ag_stats_passed(enum ag_stat why)
{
    atomic_fetch_add_explicit(&passed[why], 1, memory_order_relaxed);
}

uint64_t ag_stats_passed_count(void)
{
    uint64_t count = 0;
    for (int i = 0; i < AG_STAT_COUNT; i++)
        count += atomic_load_explicit(&passed[i], memory_order_relaxed);
    return count;
}

void ag_stats_max(enum ag_stat stat, uint64_t n)
{
    uint64_t old = atomic_load_explicit(&process[stat], memory_order_relaxed);
    while (old < n && !atomic_compare_exchange_weak(&process[stat], &old, n)) {
    }
}

static struct ag_caller *_Atomic callers;

void ag_stats_caller(struct ag_caller *caller, const char *symbol)
{
    if (atomic_fetch_add_explicit(&caller->flushes, 1, memory_order_relaxed) == 0 &&
        !atomic_flag_test_and_set(&caller->listed)) {
        caller->symbol = symbol;
        caller->next = atomic_load(&callers);
        while (!atomic_compare_exchange_weak(&callers, &caller->next, caller)) {
        }
    }
}

void ag_stats_collect(struct ag_stats *total)
{
    for (int i = 0; i < AG_STAT_COUNT; i++)
        total->count[i] += atomic_load_explicit(&process[i], memory_order_relaxed);
    for (int i = 0; i < AG_STAT_COUNT; i++) {
        uint64_t n = atomic_load_explicit(&passed[i], memory_order_relaxed);
        total->count[i] += n;
        total->count[AG_STAT_launches] += n;
        total->count[AG_STAT_eager] += n;
        total->count[AG_STAT_driver_calls] += n;
    }
}

static size_t write_group(char *text, size_t size, const char *name, enum group group, const struct ag_stats *total)
{
    size_t used = (size_t)snprintf(text, size, ",\"%s\":{", name);
    const char *comma = "";
    for (int i = 0; i < AG_STAT_COUNT; i++)
        if (keys[i].group == group && total->count[i] != 0) {
            used += (size_t)snprintf(text + used, size - used, "%s\"%s\":%llu", comma, keys[i].name,
                                     (unsigned long long)total->count[i]);
            comma = ",";
        }
    return used + (size_t)snprintf(text + used, size - used, "}");
}

/* The callers with the most flushes, largest first. */
static size_t write_callers(char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, ",\"flush_calls\":{");
    unsigned long below = ULONG_MAX;
    const char *comma = "";
    for (int n = 0; n < CALLERS_SHOWN;) {
        unsigned long most = 0;
        for (struct ag_caller *c = atomic_load(&callers); c != NULL; c = c->next) {
            unsigned long flushes = atomic_load_explicit(&c->flushes, memory_order_relaxed);
            if (flushes < below && flushes > most)
                most = flushes;
        }
        if (most == 0)
            break;
        for (struct ag_caller *c = atomic_load(&callers); c != NULL && n < CALLERS_SHOWN; c = c->next)
            if (atomic_load_explicit(&c->flushes, memory_order_relaxed) == most) {
                used += (size_t)snprintf(text + used, size - used, "%s\"%s\":%lu", comma, c->symbol, most);
                comma = ",";
                n++;
            }
        below = most;
    }
    return used + (size_t)snprintf(text + used, size - used, "}");
}

/* [held, begin_us, us, launches] of each span, where there are any. */
static size_t write_spans(char *text, size_t size)
{
    pthread_mutex_lock(&spans_mutex);
    size_t used = 0;
    uint64_t first = span_count > AG_SPANS_SHOWN ? span_count - AG_SPANS_SHOWN : 0;
    for (uint64_t i = first; i < span_count; i++) {
        const struct ag_span *s = &spans[i % AG_SPANS_SHOWN];
        used += (size_t)snprintf(text + used, size - used, "%s[%d,%llu,%llu,%llu]", i > first ? "," : ",\"spans\":[",
                                 s->held, (unsigned long long)s->begin_us, (unsigned long long)s->us,
                                 (unsigned long long)s->launches);
    }
    pthread_mutex_unlock(&spans_mutex);
    return used > 0 ? used + (size_t)snprintf(text + used, size - used, "]") : 0;
}

static size_t write_json(char *text, size_t size, const struct ag_stats *total, int driver_version)
{
    static const char *const modes[] = {"replay", "observe", "verify", "off"};
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double seconds = (double)(now.tv_sec - started.tv_sec) + (double)(now.tv_nsec - started.tv_nsec) / 1e9;
    size_t used = (size_t)snprintf(text, size, "{\"version\":\"%s\",\"mode\":\"%s\",\"driver\":%d,\"seconds\":%.3f",
                                   AG_VERSION, modes[ag_options.mode], driver_version, seconds);
    for (int i = 0; i < AG_STAT_COUNT; i++)
        if (keys[i].group == PLAIN)
            used += (size_t)snprintf(text + used, size - used, ",\"%s\":%llu", keys[i].name,
                                     (unsigned long long)total->count[i]);
    used += write_group(text + used, size - used, "flushes", FLUSHES, total);
    used += write_callers(text + used, size - used);
    used += write_group(text + used, size - used, "bypass", BYPASS, total);
    used += write_spans(text + used, size - used);
    return used + (size_t)snprintf(text + used, size - used, "}\n");
}

void ag_stats_write(const struct ag_stats *total, const char *pattern, int driver_version)
{
    char path[4096];
    /* exit() may be called on a small stack, and in a process with two libcs (dlmopen) the heap had better not grow */
    static char text[8192 + AG_SPANS_SHOWN * 72];
    size_t size = write_json(text, sizeof text, total, driver_version);
    int fd = -1, problem = 0;
    if (strcmp(pattern, "-") == 0)
        fd = STDOUT_FILENO;
    else if (ag_options_expand(pattern, path, sizeof path) != 0)
        problem = ENAMETOOLONG;
    else {
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        problem = fd < 0 ? errno : 0;
    }
    if (fd >= 0) {
        size_t done = 0;
        while (done < size) {
            ssize_t n = write(fd, text + done, size - done);
            if (n < 0 && errno == EINTR)
                continue;
            if (n <= 0) {
                problem = errno;
                break;
            }
            done += (size_t)n;
        }
        if (fd != STDOUT_FILENO && close(fd) != 0)
            problem = errno;
    }
    if (problem != 0) {
        char line[512];
        int length = snprintf(line, sizeof line, "autograph: cannot write statistics to %.300s: %s\n", pattern,
                              strerror(problem));
        if (write(STDERR_FILENO, line, (size_t)length) < 0)
            return;
    }
}
