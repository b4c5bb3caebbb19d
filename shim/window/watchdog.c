/* The watchdog: submits windows that stay open while their stream's threads make no further call.
 *
 * Correctness, not comfort: the program may be polling memory, or wait for another process. It looks every half of the
 * longest holding time, at nothing but counters, and sleeps for good while no window is open.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

#include "shim/base/log.h"
#include "shim/base/options.h"
#include "shim/window/window.h"

/* Rounds without any open window before it sleeps. */
#define IDLE_ROUNDS 20

/* Rounds after which a window is submitted even though ops are added to it. */
#define ROUNDS_MAX 8

enum { ABSENT, RUNNING, ASLEEP };

static atomic_int state;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;

struct seen {
    unsigned progress, submissions;
    unsigned rounds;
};

static void look(struct seen *seen)
{
    unsigned count = atomic_load(&ag_window_count);
    for (unsigned i = 0; i < count; i++) {
        struct ag_window *w = ag_windows[i];
        if (!atomic_load_explicit(&w->open, memory_order_relaxed)) {
            seen[i].rounds = 0;
            continue;
        }
        unsigned progress = atomic_load_explicit(&w->progress, memory_order_relaxed);
        unsigned submissions = atomic_load_explicit(&w->submissions, memory_order_relaxed);
        if (submissions != seen[i].submissions)
            seen[i].rounds = 0;
        seen[i].submissions = submissions;
        if (seen[i].rounds++ > 0 && (progress == seen[i].progress || seen[i].rounds > ROUNDS_MAX)) {
            if (ag_window_flush(w, AG_FLUSH_watchdog, false))
                ag_stats_add(AG_STAT_watchdog_flushes, 1);
            seen[i].rounds = 0;
        }
        seen[i].progress = progress;
    }
}

static void *run(void *unused)
{
    static struct seen seen[AG_WINDOWS_MAX];
    struct timespec pause = {.tv_sec = ag_options.hold_us / 2000000, .tv_nsec = ag_options.hold_us % 2000000 * 500};
    unsigned idle = 0;
    (void)unused;
    prctl(PR_SET_TIMERSLACK, 1000L);
    for (;;) {
        nanosleep(&pause, NULL);
        if (atomic_load(&ag_window_open) > 0) {
            idle = 0;
            look(seen);
        } else if (++idle > IDLE_ROUNDS) {
            pthread_mutex_lock(&mutex);
            atomic_store(&state, ASLEEP);
            /* a window may have opened since: its thread either saw ASLEEP or is seen here */
            while (atomic_load(&ag_window_open) == 0)
                pthread_cond_wait(&wake, &mutex);
            atomic_store(&state, RUNNING);
            pthread_mutex_unlock(&mutex);
            idle = 0;
        }
    }
    return NULL;
}

static void start(void)
{
    int expected = ABSENT;
    if (!atomic_compare_exchange_strong(&state, &expected, RUNNING))
        return;
    sigset_t all, before;
    pthread_attr_t attributes;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, (size_t)512 << 10);
    int problem = pthread_create(&thread, &attributes, run, NULL);
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (problem != 0) {
        /* without it nothing may be held */
        atomic_store(&ag_window_bypass, AG_BYPASS_blind);
        ag_log(AG_LOG_WARN, "no thread for the watchdog (%d); nothing is held", problem);
    }
}

void ag_watchdog_wake(void)
{
    int now = atomic_load(&state);
    if (now == RUNNING)
        return;
    if (now == ABSENT) {
        start();
        return;
    }
    pthread_mutex_lock(&mutex);
    pthread_cond_signal(&wake);
    pthread_mutex_unlock(&mutex);
}
