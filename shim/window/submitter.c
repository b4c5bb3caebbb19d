#define _GNU_SOURCE
#include "shim/window/submitter.h"

#include <pthread.h>
#include <sched.h>

#include "analysis/price.h"
#include "shim/base/clock.h"
#include "shim/base/log.h"
#include "shim/base/options.h"
#include "shim/base/visit.h"

enum { ABSENT, RUNNING, IMPOSSIBLE };

static atomic_int state;

/* Windows with a chunk that was handed over, in that order, each at most once; under mutex. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t posted = PTHREAD_COND_INITIALIZER;
static struct ag_window *first, *last;

static struct ag_window *next_window(void)
{
    pthread_mutex_lock(&mutex);
    while (first == NULL)
        pthread_cond_wait(&posted, &mutex);
    struct ag_window *w = first;
    first = w->next_posted;
    w->is_posted = false;
    pthread_mutex_unlock(&mutex);
    return w;
}

static void post(struct ag_window *w)
{
    pthread_mutex_lock(&mutex);
    if (!w->is_posted) {
        w->is_posted = true;
        w->next_posted = NULL;
        if (first != NULL)
            last->next_posted = w;
        else
            first = w;
        last = w;
    }
    pthread_mutex_unlock(&mutex);
    pthread_cond_signal(&posted);
}

static void *run(void *unused)
{
    (void)unused;
    for (;;) {
        struct ag_window *w = next_window();
        struct ag_visit visit;
        ag_lock_take(&w->submitting);
        /* else somebody was faster */
        if (w->handed.length > 0 && ag_visit_begin(&visit, w->target.ctx)) {
            uint64_t begin = ag_clock_ns();
            ag_window_submit_handed(w);
            ag_price_draw(&w->handover.submit_us, (double)(ag_clock_ns() - begin) / 1e3);
            ag_visit_end(&visit);
        }
        ag_lock_release(&w->submitting);
    }
    return NULL;
}

/* Whether the thread runs. Where there is one processor it would only take turns with the program. */
static bool start(void)
{
    int expected = ABSENT;
    cpu_set_t usable;
    if (!atomic_compare_exchange_strong(&state, &expected, IMPOSSIBLE))
        return expected == RUNNING;
    if (ag_options.submit == AG_SUBMIT_AUTO && sched_getaffinity(0, sizeof usable, &usable) == 0 &&
        CPU_COUNT(&usable) < 2)
        return false;
    if (!ag_window_start_thread(run)) {
        ag_log(AG_LOG_WARN, "no thread to submit from; the program's threads do it");
        return false;
    }
    atomic_store(&state, RUNNING);
    return true;
}

CUresult ag_submitter_chunk(struct ag_window *w)
{
    int now = atomic_load_explicit(&state, memory_order_relaxed);
    if (!ag_window_lock_more(w, AG_WAIT_YES))
        return CUDA_SUCCESS;                        /* inside a host function: it stays held */
    bool held = w->held.submitted < w->held.length; /* else the driver has all of it */
    bool measured = held && ag_options.submit == AG_SUBMIT_AUTO && ag_options.costs == AG_COSTS_MEASURED;
    bool pays = held && (ag_options.submit == AG_SUBMIT_THREAD || (measured && ag_handover_pays(&w->handover)));
    if (pays && now != IMPOSSIBLE && (now == RUNNING || start()) && ag_window_submit_handed(w)) {
        ag_window_hand_over(w);
        ag_lock_release(&w->submitting);
        uint64_t begin = measured ? ag_clock_ns() : 0;
        post(w);
        if (measured)
            ag_price_draw(&w->handover.post_us, (double)(ag_clock_ns() - begin) / 1e3);
        return CUDA_SUCCESS;
    }
    uint64_t begin = measured ? ag_clock_ns() : 0;
    CUresult result = ag_window_submit(w, AG_STAT_COUNT, true);
    if (measured)
        ag_price_draw(&w->handover.submit_us, (double)(ag_clock_ns() - begin) / 1e3);
    ag_lock_release(&w->submitting);
    return result;
}

void ag_submitter_after_fork(void)
{
    pthread_mutex_init(&mutex, NULL);
    pthread_cond_init(&posted, NULL);
    first = last = NULL;
    if (atomic_load(&state) == RUNNING)
        atomic_store(&state, IMPOSSIBLE);
}
