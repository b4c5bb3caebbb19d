#define _GNU_SOURCE
#include "shim/window/alternate.h"

#include <sys/prctl.h>
#include <time.h>

#include "shim/base/clock.h"
#include "shim/base/options.h"
#include "shim/window/order.h"
#include "shim/window/window.h"

static void pause_us(long us)
{
    struct timespec left = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    nanosleep(&left, NULL); /* signals are blocked here */
}

/* The program's launches until now, up to what wraps around; takes no lock. */
static uint32_t launches(void)
{
    uint32_t count = (uint32_t)ag_stats_passed_count();
    for (unsigned i = 0; i < atomic_load(&ag_window_count); i++)
        count += atomic_load_explicit(&ag_windows[i]->progress, memory_order_relaxed);
    return count;
}

void *ag_alternate_run(void *unused)
{
    (void)unused;
    prctl(PR_SET_TIMERSLACK, 1000L);
    long us = ag_options.alternate_ms * 1000;
    struct ag_span span = {.held = true};
    for (;;) {
        pause_us(us / 4);
        uint32_t before = launches();
        span.begin_us = ag_clock_ns() / 1000;
        pause_us(us - us / 4);
        span.us = ag_clock_ns() / 1000 - span.begin_us;
        span.launches = (uint32_t)(launches() - before);
        ag_stats_span(&span);
        int now = span.held ? 0 : AG_BYPASS_alternate;
        span.held = !span.held;
        if (!atomic_compare_exchange_strong(&ag_window_bypass, &now, span.held ? 0 : AG_BYPASS_alternate))
            return NULL;
        if (!span.held)
            ag_order_all(AG_FLUSH_other, AG_WAIT_SOME);
    }
}
