/* See seat.h. */
#define _GNU_SOURCE /* syscall */
#include "tests/sim/seat.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Threads to wake when the lock is free. */
static int *to_wake[16];
static size_t n_to_wake;

static void wake(int *called)
{
    syscall(SYS_futex, called, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void sim_unlock(void)
{
    int *now[sizeof(to_wake) / sizeof(to_wake[0])];
    size_t n = n_to_wake;
    memcpy(now, to_wake, n * sizeof(now[0]));
    n_to_wake = 0;
    pthread_mutex_unlock(&sim_lock);
    /* A thread that ran on by itself may be gone: its seat is not looked at any more. */
    for (size_t i = 0; i < n; i++)
        wake(now[i]);
}

void sim_seat_call(struct sim_seat *seat)
{
    if (seat->called)
        return;
    __atomic_store_n(&seat->called, 1, __ATOMIC_RELEASE);
    if (n_to_wake == sizeof(to_wake) / sizeof(to_wake[0]))
        wake(&seat->called);
    else
        to_wake[n_to_wake++] = &seat->called;
}

void sim_seat_wait(struct sim_seat *seat)
{
    sim_unlock();
    while (!__atomic_load_n(&seat->called, __ATOMIC_ACQUIRE))
        syscall(SYS_futex, &seat->called, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    pthread_mutex_lock(&sim_lock);
    seat->called = 0;
}

static void queue_up(struct sim_waiter *waiter, struct sim_seat *seat, struct sim_op *op)
{
    *waiter = (struct sim_waiter){seat, op->waiters};
    op->waiters = waiter;
    sim_op_hold(op);
}

static void step_out(struct sim_waiter *waiter, struct sim_op *op)
{
    struct sim_waiter **link = &op->waiters;
    while (*link && *link != waiter)
        link = &(*link)->next;
    if (*link)
        *link = waiter->next;
    sim_op_release(op);
}

void sim_seat_wait_for(struct sim_seat *seat, struct sim_op *op, struct sim_op *other)
{
    struct sim_waiter waiter[2];
    bool two = other && other != op;
    queue_up(&waiter[0], seat, op);
    if (two)
        queue_up(&waiter[1], seat, other);
    sim_seat_wait(seat);
    step_out(&waiter[0], op);
    if (two)
        step_out(&waiter[1], other);
}
