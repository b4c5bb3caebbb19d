/* Process-wide state of the simulated driver. Thread rule: sim_lock, except `forked`, which is set before a child has
 * more than one thread. */
#ifndef SIM_STATE_H
#define SIM_STATE_H

#include <stdbool.h>

struct sim_state {
    bool initialized, shut_down;
    bool forked; /* a child of the process that initialised the driver */
};
extern struct sim_state sim_state;

#endif
