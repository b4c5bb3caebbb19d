/* The command `autograph trace`: traces in memory, and what is done with them.
 *
 * A trace is read whole and checked whole before anything is printed. One thread. */
#ifndef AG_TOOL_TRACE_H
#define AG_TOOL_TRACE_H

#include "analysis/cost.h"
#include "analysis/sampling.h"
#include "analysis/simulate.h"
#include "analysis/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ag_trace_file {
    const char *path;
    char *text; /* what the events point into; owned */
    size_t length;
    size_t left_out;               /* bytes of a binary trace's last record, which is cut off */
    struct ag_trace_event *events; /* owned */
    size_t count;
    uint32_t function_count; /* every function's number is below */
};

/* Reads a trace, unpacking it when it is xz. A binary trace's last record may be cut off, as a process leaves it that
 * is killed while it writes: it is left out, and a line on stderr says so. Returns 0, or AG_TOOL_USAGE after one line
 * on stderr that names the file (and the line). Release the file in every case. */
int ag_trace_file_read(struct ag_trace_file *file, const char *path);
/* The same, up to the text: what is packed or binary is made lines of, and nothing is checked. */
int ag_trace_file_load(struct ag_trace_file *file, const char *path);
void ag_trace_file_release(struct ag_trace_file *file);

/* What a driver call other than a launch does to held work; from the hook table. */
enum ag_trace_effect {
    AG_TRACE_EFFECT_NONE,
    AG_TRACE_EFFECT_STREAM,        /* submits the stream */
    AG_TRACE_EFFECT_ALL,           /* submits everything */
    AG_TRACE_EFFECT_FORGET,        /* submits everything and forgets what was learned */
    AG_TRACE_EFFECT_ONCE,          /* submits everything, but only the first time for its handle */
    AG_TRACE_EFFECT_ATTRIBUTE,     /* sets an attribute of a function */
    AG_TRACE_EFFECT_CAPTURE_BEGIN, /* submits everything; from now on nothing is held */
    AG_TRACE_EFFECT_CAPTURE_END,
    AG_TRACE_EFFECT_MEMSET,
    AG_TRACE_EFFECT_COPY,
};

struct ag_trace_call {
    enum ag_trace_effect effect;
    bool blocking;      /* submits every other stream as well */
    bool per_thread;    /* stream 0 is the thread's own */
    int stream;         /* which argument is the stream; -1 for none */
    int handle;         /* which argument is the function, for ONCE and ATTRIBUTE */
    uint32_t element;   /* MEMSET: bytes of an element */
    bool host_possible; /* COPY: one side may be host memory */
};

/* A function that the table does not know submits everything. */
struct ag_trace_call ag_trace_call_of(const char *name);

/* Plays a trace once; state is kept in `sim` between plays. hold_us: the age at which a window is submitted, 0 for no
 * such limit. seed: other numbers give other cuts. sampling: what is shown, as observe mode does it (the caller's,
 * all zero at first), or NULL for all. Returns 0 or -ENOMEM. */
struct ag_trace_player;
struct ag_trace_player *ag_trace_player_make(const struct ag_sim_params *params, double hold_us, uint64_t seed,
                                             struct ag_sampling *sampling);
int ag_trace_player_play(struct ag_trace_player *player, const struct ag_trace_file *file);
struct ag_sim *ag_trace_player_sim(struct ag_trace_player *player);
void ag_trace_player_free(struct ag_trace_player *player);

/* Whether this is a trace as the shim writes it; and its lines, without a last record that is cut off, whose bytes go
 * to *left_out. *text is the caller's, also after a failure. Returns 0 or an exit status after one line on stderr. */
bool ag_trace_is_binary(const char *text, size_t length);
int ag_trace_binary_to_text(const char *path, const char *binary, size_t length, char **text, size_t *text_length,
                            size_t *left_out);

int ag_trace_simulate(int argc, char **argv);

#endif
