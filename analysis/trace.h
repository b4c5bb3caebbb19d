/* Traces as text: one event a line, fields separated by tabs.
 *
 *   I  time_us  n                     the program starts its iteration n (known to the recorder alone)
 *   F  id  name  size,size,...        a function and the size in bytes of each parameter; before its first use
 *   K  time_us  thread  stream  function  gx,gy,gz  bx,by,bz  shared_bytes  attributes  argument,argument,...
 *                                     a kernel launch. attributes: `-` or nothing for none, or id=value,... where value
 *                                     is the first four bytes as a number; arguments: each parameter's bytes in hex
 *   C  time_us  thread  call  a,b,... another driver call and its first arguments, in hex. The fifth one of a memset or
 *                                     copy may say whether it could be held (enum ag_trace_hold)
 *   S  time_us  thread  stream  ops  reason   so many held launches were submitted early
 *
 * Streams and threads are small numbers, 0 the legacy default stream.
 *
 * Knows the form of a line and nothing of what it means. No I/O: lines come from and go to memory. Functions that can
 * fail return 0 or a negative errno value.
 */
#ifndef AG_ANALYSIS_TRACE_H
#define AG_ANALYSIS_TRACE_H

#include <stddef.h>
#include <stdint.h>

#define AG_TRACE_ATTRIBUTES 16
#define AG_TRACE_CALL_ARGUMENTS 5

/* Whether a memset or copy could be held, as the shim that recorded it judged: its stream, and the memory on both
 * sides. Traces of other recorders, and what was recorded before the shim wrote it, do not say. */
enum ag_trace_hold {
    AG_TRACE_HOLD_UNSAID,
    AG_TRACE_HOLD_NO,
    AG_TRACE_HOLD_YES,
    AG_TRACE_HOLD_FROM_HOST, /* yes, and it reads pinned host memory */
    AG_TRACE_HOLD_COUNT
};

/* In a line that is the fifth argument of the call, this number (`ag_hold0` as bytes) plus the above: readers that do
 * not know it take it for the register that it is in traces of other recorders. */
#define AG_TRACE_HOLD_LINE 0x61675f686f6c6430u

enum ag_trace_kind {
    AG_TRACE_ITERATION = 'I',
    AG_TRACE_FUNCTION = 'F',
    AG_TRACE_LAUNCH = 'K',
    AG_TRACE_CALL = 'C',
    AG_TRACE_EARLY = 'S'
};

struct ag_trace_attribute {
    uint32_t id, value;
};

/* One line. Which members are set depends on the kind; pointers point into the line that was parsed. */
struct ag_trace_event {
    enum ag_trace_kind kind;
    double time_us;
    uint32_t thread;
    uint32_t function;                  /* F, K */
    const char *name;                   /* F: of the kernel; C: of the call; K: NULL; S: the reason */
    const char *sizes;                  /* F: the sizes as written */
    uint64_t iteration;                 /* I; S: ops */
    uint64_t stream;                    /* K, S */
    uint32_t grid[3], block[3], shared; /* K */
    struct ag_trace_attribute attributes[AG_TRACE_ATTRIBUTES];
    unsigned attribute_count;               /* K */
    const unsigned char *arguments;         /* K: the bytes of all parameters, one after the other */
    uint32_t argument_bytes;                /* K */
    uint32_t argument_count;                /* F: parameters; K: arguments */
    uint64_t call[AG_TRACE_CALL_ARGUMENTS]; /* C */
    unsigned call_count;                    /* C */
    enum ag_trace_hold hold;                /* C */
};

/* Reads one line, without its newline and terminated by a zero byte. The line is changed: names are terminated in it,
 * and arguments are decoded in place; it must stay while the event is used. Returns -EINVAL for a malformed line, with
 * *problem saying what is wrong. */
int ag_trace_parse(char *line, struct ag_trace_event *event, const char **problem);

/* Whether a launch has the parameters that its function was declared with. */
int ag_trace_fits(const struct ag_trace_event *function, const struct ag_trace_event *launch);

#endif
