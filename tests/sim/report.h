/* Log, counters and virtual clock.
 *
 * Knows: what a call costs (measured on an H200, driver 580; see cost table in report.c) and how often each was made.
 * The virtual host clock is per thread: a call adds its cost, a wait moves it to the end of the awaited work. The
 * virtual device clock is per stream. Both depend only on the sequence of calls, so a single-threaded program's
 * report is the same in every run and under every schedule.
 * Thread rule: sim_lock held, except sim_log_exec.
 */
#ifndef SIM_REPORT_H
#define SIM_REPORT_H

#include "tests/sim/core.h"

extern unsigned long sim_calls[SIM_FN_COUNT];

void sim_report_at_exit(void);

uint64_t sim_log_order(void); /* next number in the common order of calls and executions; atomic */
void sim_log_call(uint64_t order, enum sim_fn fn, CUstream stream, CUresult result);
void sim_log_exec(uint64_t number, const struct sim_stream *stream, const struct sim_task *task);
/* Adds text to the line of the call under way; cheap when there is no log. */
void sim_log_detail(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool sim_log_on(void);

void sim_cost_call(enum sim_fn fn); /* charges the fixed cost of a call */
void sim_cost_host(uint64_t ns);    /* charges extra */
/* Virtual start and end of an op about to be queued; op->vend_ns holds the end of what it waits for. */
void sim_cost_op(struct sim_op *op);
void sim_cost_until(uint64_t device_ns); /* the host waits for that moment */

/* Work that reached the device, for the report. */
struct sim_counts {
    unsigned long launches, graph_launches, graph_nodes, instantiates, nodes_instantiated, set_params, retargets,
            memsets, copies, submissions, nodes_added, uploads;
};
extern struct sim_counts sim_counts;

#endif
