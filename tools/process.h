/* Runs one program to its end and says what it cost and what it printed.
 *
 * Output is captured in memory files, never through pipes: nobody has to read along, so the measured program never
 * waits for the measuring one. One run at a time, one thread. */
#ifndef AG_PROCESS_H
#define AG_PROCESS_H

#include "tools/launch.h"

#include <stddef.h>

struct ag_process_text {
    char *bytes; /* owned, not terminated */
    size_t length;
};

struct ag_process_run {
    int wait_status; /* as wait4 gave it */
    double wall, user, system;
    double max_rss; /* bytes */
    struct ag_process_text out, err;
};

enum ag_process_output {
    AG_PROCESS_INHERIT, /* the program keeps our standard streams */
    AG_PROCESS_CAPTURE, /* both outputs go to `out` and `err`, input is empty */
};

/* Runs the launch. Returns 0 when the program was started and has ended (however it ended), else an exit status after a
 * line on stderr. Release the run also after a failure. Interrupts typed at the terminal reach the program and not this
 * process while it waits; termination signals are passed on. */
int ag_process_run(const struct ag_launch *launch, enum ag_process_output output, struct ag_process_run *run);

/* The status that a shell would report: the exit status, or 128 plus the signal. */
int ag_process_status(const struct ag_process_run *run);

/* The signal that ended the run, or 0. */
int ag_process_signal(const struct ag_process_run *run);

void ag_process_release(struct ag_process_run *run);

#endif
