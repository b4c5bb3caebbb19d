/* The trace (AUTOGRAPH_TRACE): every operation that the program issues, and every early submission, as binary records
 * (analysis/trace_binary.h).
 *
 * Off, each of the calls below is one branch. On, a record is put into a buffer under a lock of its own; the buffer is
 * written when it is full and at exit. The file is opened with the first record, so that processes without CUDA leave
 * none. When it cannot be written, there is one line on standard error and no trace; the program is not affected.
 * Thread rule: any thread, whatever locks it holds.
 */
#ifndef AG_SHIM_TRACE_TRACE_H
#define AG_SHIM_TRACE_TRACE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "analysis/trace.h"
#include "shim/base/cuda.h"
#include "shim/graph/site.h"

extern atomic_bool ag_trace_active;

static inline bool ag_trace_on(void)
{
    return __builtin_expect(atomic_load_explicit(&ag_trace_active, memory_order_relaxed), 0);
}

/* Begins, when the options ask for it. Runs once, before any thread can trace. */
void ag_trace_start(void);

/* Writes what is buffered; with last, ends. */
void ag_trace_write(bool last);

/* In a fork's child: a file that was opened is the parent's. */
void ag_trace_in_child(void);

/* A launch of a known function. record: a struct ag_kernel_record and the argument bytes. */
void ag_trace_launch(CUstream stream, bool ptsz, const struct ag_site *site, const unsigned char *record);

/* A launch whose arguments cannot be read. */
void ag_trace_launch_unread(CUstream stream, bool ptsz, CUfunction function, const unsigned grid[3],
                            const unsigned block[3], unsigned shared, const CUlaunchAttribute *attributes,
                            unsigned attribute_count);

/* A call, without its arguments. */
void ag_trace_call(const char *symbol);
/* A call on a stream. */
void ag_trace_call_stream(const char *symbol, CUstream stream, bool ptsz);
/* A memset or copy, its first three arguments, and whether it could be held. */
void ag_trace_transfer(const char *symbol, CUstream stream, bool ptsz, const uint64_t values[3],
                       enum ag_trace_hold hold);
/* A call about a function; values: its first arguments, count (up to 4) of them. */
void ag_trace_call_handle(const char *symbol, const void *handle, const uint64_t *values, unsigned count);

/* Held ops of a stream were submitted early. */
void ag_trace_flush(CUstream stream, const char *reason, unsigned ops);

#endif
