/* Ops as objects: making, holding and dropping them, and what they come after. sched.c runs them. */
#include "tests/sim/config.h"

static uint64_t next_op = 1;
static struct sim_op *spare_ops; /* many threads make and drop them, which malloc does not like */

struct sim_op *sim_op_new(struct sim_stream *stream)
{
    struct sim_op *op = spare_ops;
    if (op)
        spare_ops = op->next;
    else if (!(op = malloc(sizeof(*op))))
        return NULL;
    memset(op, 0, sizeof(*op));
    op->number = next_op++;
    op->refs = 1;
    op->bare = true;
    op->stream = stream;
    sim_stream_hold(stream);
    op->demanded = sim_config.schedule != SIM_LAZY;
    return op;
}

struct sim_op *sim_op_hold(struct sim_op *op)
{
    op->refs++;
    return op;
}

void sim_op_forget_deps(struct sim_op *op)
{
    for (size_t i = 0; i < op->n_deps; i++)
        sim_op_release(op->deps[i]);
    free(op->deps);
    op->deps = NULL;
    op->n_deps = op->cap_deps = 0;
}

void sim_op_release(struct sim_op *op)
{
    if (!op || --op->refs)
        return;
    sim_op_forget_deps(op);
    sim_op_release(op->parent);
    if (!op->bare)
        sim_task_drop(&op->task);
    sim_stream_release(op->stream);
#ifdef __SANITIZE_ADDRESS__
    free(op);
#else
    op->next = spare_ops;
    spare_ops = op;
#endif
}

bool sim_op_after(struct sim_op *op, struct sim_op *earlier)
{
    if (!earlier || earlier == op)
        return true;
    if (op->vend_ns < earlier->vend_ns)
        op->vend_ns = earlier->vend_ns; /* holds the start until sim_cost_op */
    if (earlier->done)
        return true;
    if (op->n_deps == op->cap_deps) {
        size_t cap = op->cap_deps ? 2 * op->cap_deps : 2;
        struct sim_op **deps = realloc(op->deps, cap * sizeof(struct sim_op *));
        if (!deps)
            return false;
        op->deps = deps;
        op->cap_deps = cap;
    }
    op->deps[op->n_deps++] = sim_op_hold(earlier);
    return true;
}
