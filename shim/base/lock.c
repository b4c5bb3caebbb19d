#include "shim/base/lock.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

bool ag_lock_try_for(struct ag_lock *lock, long milliseconds)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += milliseconds * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    if (pthread_mutex_timedlock(&lock->mutex, &until) != 0)
        return false;
    ag_lock_entered(lock);
    return true;
}

void ag_lock_setup(struct ag_lock *lock, enum ag_lock_rank rank)
{
    pthread_mutex_init(&lock->mutex, NULL);
    lock->rank = rank;
}

#ifdef AG_DEBUG_LOCKS
#define DEPTH_MAX 8

static _Thread_local int depth;
static _Thread_local enum ag_lock_rank held[DEPTH_MAX];

static void stop(const char *what, enum ag_lock_rank rank)
{
    char line[128];
    int length = snprintf(line, sizeof line, "autograph: %s %d while rank %d is held\n", what, (int)rank,
                          depth > 0 ? (int)held[depth - 1] : 0);
    if (length > 0 && write(STDERR_FILENO, line, (size_t)length) < 0)
        __builtin_trap();
    __builtin_trap();
}

static void entered(const struct ag_lock *lock, enum ag_lock_rank highest)
{
    if (depth == DEPTH_MAX || (depth > 0 && held[depth - 1] > highest))
        stop("lock taken of rank", lock->rank);
    held[depth++] = lock->rank;
}

void ag_lock_entered(const struct ag_lock *lock)
{
    entered(lock, lock->rank - 1);
}

void ag_lock_entered_beside(const struct ag_lock *lock)
{
    entered(lock, lock->rank);
}

void ag_lock_left(const struct ag_lock *lock)
{
    if (depth == 0 || held[depth - 1] != lock->rank)
        stop("lock released of rank", lock->rank);
    depth--;
}

void ag_lock_expect(enum ag_lock_rank highest)
{
    if (depth > 0 && held[depth - 1] > highest)
        stop("driver called, which allows locks up to rank", highest);
}
#endif
