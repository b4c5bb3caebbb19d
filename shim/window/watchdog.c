/* The watchdog: submits windows that stay open while their stream's threads make no further call.
 *
 * Correctness, not comfort: the program may be polling memory, or wait for another process. It looks every half of the
 * longest holding time, at nothing but counters, and sleeps for good while no window is open.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include "shim/base/log.h"
#include "shim/base/options.h"
#include "shim/window/alternate.h"
#include "shim/window/window.h"

/* Rounds without any open window before it sleeps. */
#define IDLE_ROUNDS 20

/* Rounds after which a window is submitted even though ops are added to it. */
#define ROUNDS_MAX 8

enum { ABSENT, RUNNING, ASLEEP };

static atomic_int state;

/* One thread leads: it alone looks. A flush may block inside the driver, behind a queue that only drains once another
 * window is submitted, so before each flush the leader wakes its deputy; the deputy takes the lead when the flush has
 * not ended two rounds later, and the former leader stays as a deputy. `lead` and `flushing` are guarded by mutex. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;   /* the leader sleeps here */
static pthread_cond_t called = PTHREAD_COND_INITIALIZER; /* deputies wait here */
static unsigned lead;                                    /* changes with every leader */
static unsigned flushes;                                 /* odd while the leader is inside a flush */
static unsigned deputies;                                /* threads that wait to take over */

struct seen {
    unsigned progress, submissions;
    unsigned rounds;
};

static struct seen seen[AG_WINDOWS_MAX]; /* the leader's */

static void *deputy(void *unused);

bool ag_window_start_thread(void *(*run)(void *))
{
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
    return problem == 0;
}

static void pause_half(void)
{
    struct timespec half = {.tv_sec = ag_options.hold_us / 2000000, .tv_nsec = ag_options.hold_us % 2000000 * 500};
    nanosleep(&half, NULL);
}

/* Flushes a window; false when another thread has taken the lead meanwhile. */
static bool flush(struct ag_window *w)
{
    pthread_mutex_lock(&mutex);
    unsigned mine = lead;
    flushes++;
    if (deputies == 0 && ag_window_start_thread(deputy))
        deputies++;
    pthread_cond_signal(&called);
    pthread_mutex_unlock(&mutex);
    if (ag_window_flush(w, AG_FLUSH_watchdog, AG_WAIT_NO))
        ag_stats_add(AG_STAT_watchdog_flushes, 1);
    pthread_mutex_lock(&mutex);
    bool leads = mine == lead;
    if (leads)
        flushes++;
    pthread_mutex_unlock(&mutex);
    return leads;
}

/* False when another thread has taken the lead. */
static bool look(void)
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
        bool due = seen[i].rounds++ > 0 && (progress == seen[i].progress || seen[i].rounds > ROUNDS_MAX);
        seen[i].progress = progress;
        seen[i].submissions = submissions;
        if (due) {
            seen[i].rounds = 0;
            if (!flush(w))
                return false;
        }
    }
    return true;
}

/* Looks, round after round, until another thread takes the lead. */
static void watch(void)
{
    unsigned idle = 0;
    for (;;) {
        pause_half();
        if (atomic_load(&ag_window_open) > 0) {
            idle = 0;
            if (!look())
                return;
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
}

static void *deputy(void *unused)
{
    (void)unused;
    prctl(PR_SET_TIMERSLACK, 1000L);
    for (;;) {
        pthread_mutex_lock(&mutex);
        while (flushes % 2 == 0)
            pthread_cond_wait(&called, &mutex);
        unsigned flush = flushes;
        pthread_mutex_unlock(&mutex);
        pause_half();
        pause_half();
        pthread_mutex_lock(&mutex);
        bool stuck = flush == flushes;
        if (stuck) {
            lead++;
            flushes++;
            deputies--;
        }
        pthread_mutex_unlock(&mutex);
        if (stuck) {
            watch();
            /* somebody else leads now */
            pthread_mutex_lock(&mutex);
            deputies++;
            pthread_mutex_unlock(&mutex);
        }
    }
    return NULL;
}

static void *first_leader(void *unused)
{
    (void)unused;
    prctl(PR_SET_TIMERSLACK, 1000L);
    watch();
    pthread_mutex_lock(&mutex);
    deputies++;
    pthread_mutex_unlock(&mutex);
    return deputy(NULL);
}

/* Before the driver's own handlers of exit(), which were registered earlier, when the driver was initialised. */
static void at_exit(void)
{
    for (unsigned i = 0; i < atomic_load(&ag_window_count); i++)
        ag_window_flush(ag_windows[i], AG_FLUSH_exit, AG_WAIT_SOME);
    atomic_store(&ag_window_bypass, AG_BYPASS_ended);
}

static bool start(void)
{
    int expected = ABSENT;
    if (!atomic_compare_exchange_strong(&state, &expected, RUNNING))
        return true;
    if (ag_window_start_thread(first_leader)) {
        atexit(at_exit);
        if (ag_options.alternate_ms > 0 && !ag_window_start_thread(ag_alternate_run))
            ag_log(AG_LOG_WARN, "no thread to alternate with; launches are held all the time");
        return true;
    }
    atomic_store(&ag_window_bypass, AG_BYPASS_blind);
    atomic_store(&state, ABSENT);
    ag_log(AG_LOG_WARN, "no thread for the watchdog; nothing is held");
    return false;
}

bool ag_watchdog_wake(void)
{
    int now = atomic_load(&state);
    if (now == RUNNING)
        return true;
    if (now == ABSENT)
        return start();
    pthread_mutex_lock(&mutex);
    pthread_cond_signal(&wake);
    pthread_mutex_unlock(&mutex);
    return true;
}
