/* Settings of the simulated driver, read once from the environment variable AUTOGRAPH_SIM: a comma list of name=value.
 *
 *   schedule=eager|lazy|random   when submitted work runs (default eager)
 *   seed=N                       of the random schedule
 *   idle_ms=N                    lazy, random: work starts after so long without a driver call (default 3)
 *   patience=N                   lazy: the N-th not-ready answer of a query starts the work (default 3)
 *   preempt_us=N                 one call in 1024 takes up to so much longer, before or after its work, as when its
 *                                thread gets no processor (default 0)
 *   delay_us=N                   random: longest nap before an op, which one in 16 takes (default 200)
 *   queue=N                      ops a stream holds before enqueueing waits (default 1024)
 *   devices=N                    default 1
 *   driver=N                     what cuDriverGetVersion answers (default 13000)
 *   memory_mb=N                  device memory (default 4096)
 *   graph_kb=N                   device memory that an executable graph takes for each node (default 0)
 *   fail=FUNCTION:NTH:CODE[;..]  the NTH call of FUNCTION returns CODE and does nothing (NTH+: all from there on).
 *                                After a code that a context does not recover from (700, 719, ...) all its calls
 *                                answer that code until it is reset, except those that do so in a poisoned context
 *   corrupt=FUNCTION:NTH:FIELD[;..]  what a graph's node takes in such a call is off by one. FIELD: the number of
 *                                an argument byte, function, grid, block, shared, target, source, value, element or
 *                                size
 *   drain=FUNCTION[;..]          these calls first wait for the context's work, as set-up calls of a real driver may
 *   slow=FUNCTION:NTH:US[;..]    the NTH call of FUNCTION (NTH+: all from there on) takes so much longer, as when
 *                                its thread gets no processor; calls of other threads do not
 *   log=PATH                     one line a call and one an executed op (- is stderr, %p the process id)
 *   report=PATH                  counters and virtual clock as one JSON line at exit (- is stdout, %p the process id)
 *   deinit=0                     calls in exit handlers still work
 *
 * An unknown name or a bad value is reported on stderr and ignored.
 */
#ifndef SIM_CONFIG_H
#define SIM_CONFIG_H

#include "tests/sim/core.h"

enum sim_schedule { SIM_EAGER, SIM_LAZY, SIM_RANDOM };

/* Some call of a function. */
struct sim_nth {
    char function[64];
    unsigned long nth;
    bool onwards; /* that call and all later ones */
};

struct sim_corruption {
    struct sim_nth call;
    char field[16];
};

#define SIM_FAILURES_MAX 16

/* Calls with a number for each: the code they return, or the microseconds that they take longer. */
struct sim_requests {
    struct {
        struct sim_nth call;
        unsigned long number;
    } items[SIM_FAILURES_MAX];
    size_t n;
};

#define SIM_DRAINS_MAX 16

struct sim_config {
    enum sim_schedule schedule;
    uint64_t seed;
    unsigned long idle_ms, patience, preempt_us, delay_us, queue, devices, driver, memory_mb, graph_kb, deinit;
    struct sim_requests failures, slow;
    struct sim_corruption corruptions[SIM_FAILURES_MAX];
    size_t n_corruptions;
    char drains[SIM_DRAINS_MAX][64];
    size_t n_drains;
    char log[512], report[512];
};
extern struct sim_config sim_config;

void sim_config_load(void); /* reads the environment once; later calls do nothing */

#endif
