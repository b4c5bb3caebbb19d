/* Traces as the shim writes them: binary, in the byte order of the machine.
 *
 * A file is a header, then records one after the other, each a head and a body. A record is written whole or not at
 * all; a reader that meets the end inside one says so. `autograph trace dump` turns it into lines (analysis/trace.h).
 */
#ifndef AG_ANALYSIS_TRACE_BINARY_H
#define AG_ANALYSIS_TRACE_BINARY_H

#include "analysis/trace.h"

#include <stdint.h>

#define AG_TRACE_MAGIC "AGTRACE"
#define AG_TRACE_VERSION 2u /* 1, which is read as well, has no `hold` */
#define AG_TRACE_BYTE_ORDER 0x01020304u

struct ag_trace_header {
    char magic[8];
    uint32_t version;
    uint32_t byte_order;
};

enum ag_trace_record_kind {
    AG_TRACE_RECORD_FUNCTION = 1,
    AG_TRACE_RECORD_LAUNCH,
    AG_TRACE_RECORD_CALL,
    AG_TRACE_RECORD_FLUSH,
};

struct ag_trace_head {
    uint32_t size; /* bytes of the record with this head, a multiple of 8 */
    uint16_t kind;
    uint16_t unused;
    uint32_t thread;
    uint32_t unused_too;
    uint64_t time_ns; /* since the trace began */
};

/* Followed by the parameters, then the name with its zero byte. */
struct ag_trace_record_function {
    struct ag_trace_head head;
    uint32_t function;
    uint32_t param_count;
};

struct ag_trace_param {
    uint32_t offset, size; /* within the launch's argument bytes */
};

/* Followed by the attributes (each as two 32-bit numbers: id, first four bytes), then the argument bytes. */
struct ag_trace_record_launch {
    struct ag_trace_head head;
    uint64_t stream;
    uint32_t function;
    uint32_t grid[3], block[3], shared;
    uint32_t attribute_count;
    uint32_t argument_bytes;
    uint32_t unused;
};

/* A call that may submit held work. Followed by its name with the zero byte. */
struct ag_trace_record_call {
    struct ag_trace_head head;
    uint64_t stream;    /* the stream argument, when has_stream */
    uint64_t handle;    /* the function that the call is about, when has_handle */
    uint64_t values[4]; /* the first arguments, value_count of them, when they were noted */
    uint16_t has_stream, has_handle, value_count;
    uint16_t hold; /* enum ag_trace_hold; of memsets and copies */
};

/* Held work that was submitted before its chunk was complete. Followed by the reason with its zero byte. */
struct ag_trace_record_flush {
    struct ag_trace_head head;
    uint64_t stream;
    uint32_t ops;
    uint32_t unused;
};

#endif
