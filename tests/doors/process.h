/* What the sources of the program `process` share. */
#ifndef DOORS_PROCESS_H
#define DOORS_PROCESS_H

#include <pthread.h>

#include "tests/doors/work.h"

extern const struct work_driver process_driver; /* linked */

/* A loop that is known to the shim, so that what follows is held. Returns 0, or 1 when a call failed. */
int process_warm(struct work *work);

/* Opens the work and warms it. Returns 0, or 1. */
int process_begin(struct work *work);

/* Threads that launch, synchronise and set attributes, in the middle of everything; a result other than NULL says that
 * a call failed. */
#define PROCESS_LAUNCHERS 3
void *process_launch_until_stopped(void *unused);
void process_start(pthread_t threads[PROCESS_LAUNCHERS], void *(*run)(void *));

/* Ways: each returns the status to exit with. */
int process_fork_launch(void);
int process_fork_busy(void);
int process_fork_exec(void);
int process_fork_first(void);
int process_first_together(void);

#endif
