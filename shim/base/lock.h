/* Locks with ranks.
 *
 * A thread that holds a lock may only take one of a higher rank, and gives them back in the opposite order. One of the
 * same rank may be tried for. No lock is
 * held when a call of the program's is handed to the driver, so none of ours is in the way of what the driver then
 * waits for or calls back. The shim's own submissions are made under their window's locks (and the registry's, where a
 * window is given up), and under no lock of a higher rank. Builds with -DAG_DEBUG_LOCKS (those with a sanitizer) hold
 * these rules at run time: a violation stops the process, which is why only test builds have it.
 */
#ifndef AG_SHIM_BASE_LOCK_H
#define AG_SHIM_BASE_LOCK_H

#include <pthread.h>
#include <stdbool.h>

enum ag_lock_rank {
    AG_RANK_NONE,
    AG_RANK_REGISTRY, /* the list of windows, contexts and streams (window/registry.c) */
    AG_RANK_WINDOW,   /* one window; two windows are never locked together */
    AG_RANK_SUBMIT,   /* what one window submits (window/window.h) */
    AG_RANK_TABLE,    /* what is known of functions in observe mode (hook/observe.c) */
    AG_RANK_LEAF,     /* tables that call nothing while locked */
};

struct ag_lock {
    pthread_mutex_t mutex;
    enum ag_lock_rank rank;
};

#define AG_LOCK_INIT(r)                                                                                                \
    {                                                                                                                  \
        PTHREAD_MUTEX_INITIALIZER, (r)                                                                                 \
    }

void ag_lock_setup(struct ag_lock *lock, enum ag_lock_rank rank);

#ifdef AG_DEBUG_LOCKS
void ag_lock_entered(const struct ag_lock *lock);
void ag_lock_entered_beside(const struct ag_lock *lock);
void ag_lock_left(const struct ag_lock *lock);
/* The calling thread holds no lock of a rank above this one; AG_RANK_NONE: no lock. */
void ag_lock_expect(enum ag_lock_rank highest);
#else
#define ag_lock_entered(lock) ((void)0)
#define ag_lock_entered_beside(lock) ((void)0)
#define ag_lock_left(lock) ((void)0)
#define ag_lock_expect(highest) ((void)(highest))
#endif

static inline void ag_lock_take(struct ag_lock *lock)
{
    pthread_mutex_lock(&lock->mutex);
    ag_lock_entered(lock);
}

static inline bool ag_lock_try(struct ag_lock *lock)
{
    if (pthread_mutex_trylock(&lock->mutex) != 0)
        return false;
    ag_lock_entered(lock);
    return true;
}

/* The same for a lock of the rank of one that is held, which nobody may wait for. */
static inline bool ag_lock_try_beside(struct ag_lock *lock)
{
    if (pthread_mutex_trylock(&lock->mutex) != 0)
        return false;
    ag_lock_entered_beside(lock);
    return true;
}

/* Waits for at most this long. */
bool ag_lock_try_for(struct ag_lock *lock, long milliseconds);

static inline void ag_lock_release(struct ag_lock *lock)
{
    ag_lock_left(lock);
    pthread_mutex_unlock(&lock->mutex);
}

#endif
