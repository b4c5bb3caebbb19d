/* Process-wide state of the simulated driver. Thread rule: sim_lock, except pid (atomic). */
#ifndef SIM_STATE_H
#define SIM_STATE_H

#include <stdbool.h>
#include <sys/types.h>

struct sim_state {
    pid_t pid; /* of the process that initialised the driver */
    bool initialized, shut_down;
};
extern struct sim_state sim_state;

#endif
