/* Where threads of the simulator wait.
 *
 * A thread is woken for a reason of its own only, and once the lock is free (sim_unlock): with condition variables most
 * woken threads went to sleep again at once, for the lock or since it was another's op that was done.
 * Thread rule: sim_lock.
 */
#ifndef SIM_SEAT_H
#define SIM_SEAT_H

#include "tests/sim/core.h"

/* Of one thread; zero at first. */
struct sim_seat {
    int called; /* atomic; a futex */
};

/* A thread that waits for an op; on its stack. */
struct sim_waiter {
    struct sim_seat *seat;
    struct sim_waiter *next;
};

/* Ends what the seat's thread waits for, now or next; it wakes up once the lock is free. */
void sim_seat_call(struct sim_seat *seat);
/* Until the seat is called. Releases the lock meanwhile, as the next does. */
void sim_seat_wait(struct sim_seat *seat);
/* Until one of the ops is done (other: may be NULL), or the seat is called for something else. */
void sim_seat_wait_for(struct sim_seat *seat, struct sim_op *op, struct sim_op *other);

#endif
