/* Running tasks: what the simulated device does. Everything here but copy and drop runs without the lock. */
#include "tests/sim/config.h"
#include "tests/sim/graph.h"
#include "tests/sim/report.h"
#include "samples/kernel_info.h"

static const char *const names[] = {
        [SIM_TASK_EMPTY] = "empty", [SIM_TASK_KERNEL] = "kernel", [SIM_TASK_MEMSET] = "memset",
        [SIM_TASK_COPY] = "copy",   [SIM_TASK_HOST] = "host",     [SIM_TASK_RECORD] = "record",
        [SIM_TASK_WAIT] = "wait",   [SIM_TASK_CHILD] = "child",   [SIM_TASK_FREE] = "free",
        [SIM_TASK_GRAPH] = "graph", [SIM_TASK_WRITE] = "write",   [SIM_TASK_WAITVALUE] = "wait-value",
};

const char *sim_task_name(const struct sim_task *task)
{
    return task->kind == SIM_TASK_KERNEL ? task->u.kernel.func->info->name : names[task->kind];
}

bool sim_task_copy(struct sim_task *to, const struct sim_task *from)
{
    *to = *from;
    switch (from->kind) {
    case SIM_TASK_KERNEL:
        to->u.kernel.args = malloc(from->u.kernel.args_size + 1);
        if (!to->u.kernel.args)
            return false;
        memcpy(to->u.kernel.args, from->u.kernel.args, from->u.kernel.args_size);
        sim_module_hold(to->u.kernel.func->module);
        break;
    case SIM_TASK_RECORD:
    case SIM_TASK_WAIT:
        sim_event_hold(to->u.event.event);
        break;
    case SIM_TASK_CHILD:
        if (to->u.graph.graph)
            to->u.graph.graph = sim_graph_clone(from->u.graph.graph, true);
        if (to->u.graph.plan)
            sim_plan_hold(to->u.graph.plan);
        return to->u.graph.graph || to->u.graph.plan;
    default:
        break;
    }
    return true;
}

void sim_task_drop(struct sim_task *task)
{
    switch (task->kind) {
    case SIM_TASK_KERNEL:
        free(task->u.kernel.args);
        sim_module_release(task->u.kernel.func->module);
        break;
    case SIM_TASK_COPY:
        free(task->u.copy.staged);
        break;
    case SIM_TASK_RECORD:
    case SIM_TASK_WAIT:
        sim_event_release(task->u.event.event);
        break;
    case SIM_TASK_CHILD:
    case SIM_TASK_GRAPH:
        if (task->u.graph.graph)
            sim_graph_destroy(task->u.graph.graph);
        if (task->u.graph.plan)
            sim_plan_release(task->u.graph.plan);
        for (size_t i = 0; i < task->u.graph.n_records; i++)
            sim_op_release(task->u.graph.records[i]);
        free(task->u.graph.records);
        break;
    default:
        break;
    }
    memset(task, 0, sizeof(*task));
}

/* ---- kernels ---- */
static __thread int fault_code; /* requested by the kernel under way on this thread */

static void request_fault(int code)
{
    fault_code = code;
}

static void poison(struct sim_ctx *ctx, int code)
{
    pthread_mutex_lock(&sim_lock);
    sim_ctx_poison(ctx, (CUresult)code);
    sim_unlock();
}

static void run_kernel(const struct sim_task *task, struct sim_ctx *ctx)
{
    const struct sim_func *func = task->u.kernel.func;
    struct sim_grid grid = {.shared_size = task->u.kernel.shared, .fault = request_fault};
    if (__atomic_load_n(&func->dead, __ATOMIC_ACQUIRE)) {
        poison(ctx, CUDA_ERROR_ILLEGAL_ADDRESS); /* its module was unloaded */
        return;
    }
    memcpy(grid.grid, task->u.kernel.grid, sizeof(grid.grid));
    memcpy(grid.block, task->u.kernel.block, sizeof(grid.block));
    /* Most kernels use little or none, and a forked child's leak check cannot see this thread's stack. */
    unsigned char few[256], *many = NULL;
    if (grid.shared_size > sizeof(few) && !(many = malloc(grid.shared_size))) {
        poison(ctx, CUDA_ERROR_LAUNCH_FAILED);
        return;
    }
    grid.shared = many ? many : few;
    memset(grid.shared, 0xa5, many ? grid.shared_size : sizeof(few));
    fault_code = 0;
    func->info->run(&grid, task->u.kernel.args);
    free(many);
    if (fault_code)
        poison(ctx, fault_code);
}

/* ---- memory ---- */
static void run_set(const struct sim_task *task)
{
    for (size_t y = 0; y < task->u.set.height; y++) {
        unsigned char *row = (unsigned char *)(uintptr_t)task->u.set.dst + y * task->u.set.pitch;
        if (task->u.set.element == 1)
            memset(row, (int)task->u.set.value, task->u.set.width);
        else if (task->u.set.element == 2)
            for (size_t x = 0; x < task->u.set.width; x++)
                ((uint16_t *)(void *)row)[x] = (uint16_t)task->u.set.value;
        else
            for (size_t x = 0; x < task->u.set.width; x++)
                ((uint32_t *)(void *)row)[x] = task->u.set.value;
    }
}

/* The pinned memory that a node copies from is no longer the one that it was set for. */
static bool source_lost(const struct sim_task *task)
{
    if (!task->u.copy.resolved)
        return false;
    pthread_mutex_lock(&sim_lock);
    const struct sim_range *range = sim_range_find((uintptr_t)task->u.copy.src);
    bool lost = !range || range->id != task->u.copy.resolved;
    sim_unlock();
    return lost;
}

static void run_copy(const struct sim_task *task, struct sim_ctx *ctx)
{
    if (source_lost(task)) {
        poison(ctx, CUDA_ERROR_LAUNCH_FAILED);
        return;
    }
    const unsigned char *src = task->u.copy.staged ? task->u.copy.staged : task->u.copy.src;
    for (size_t z = 0; z < task->u.copy.depth; z++)
        for (size_t y = 0; y < task->u.copy.height; y++)
            memmove(task->u.copy.dst + z * task->u.copy.dst_slice + y * task->u.copy.dst_pitch,
                    src + z * task->u.copy.src_slice + y * task->u.copy.src_pitch, task->u.copy.width);
}

static void run_host(const struct sim_task *task, struct sim_ctx *ctx)
{
    sim_self.in_callback = true;
    if (task->u.host.callback)
        task->u.host.callback(task->u.host.stream, __atomic_load_n(&ctx->sticky, __ATOMIC_ACQUIRE), task->u.host.data);
    else
        task->u.host.fn(task->u.host.data);
    sim_self.in_callback = false;
}

static void run_value(const struct sim_task *task)
{
    uint64_t *wide = task->u.value.address;
    uint32_t *narrow = task->u.value.address;
    if (task->kind == SIM_TASK_WRITE) {
        if (task->u.value.bytes == 8)
            __atomic_store_n(wide, task->u.value.value, __ATOMIC_RELEASE);
        else
            __atomic_store_n(narrow, (uint32_t)task->u.value.value, __ATOMIC_RELEASE);
        return;
    }
    for (;;) {
        uint64_t now = task->u.value.bytes == 8 ? __atomic_load_n(wide, __ATOMIC_ACQUIRE)
                                                : __atomic_load_n(narrow, __ATOMIC_ACQUIRE);
        uint64_t want = task->u.value.value;
        unsigned int how = task->u.value.flags & 3;
        bool ahead =
                task->u.value.bytes == 8 ? (int64_t)(now - want) >= 0 : (int32_t)((uint32_t)now - (uint32_t)want) >= 0;
        if (how == CU_STREAM_WAIT_VALUE_EQ    ? now == want
            : how == CU_STREAM_WAIT_VALUE_AND ? (now & want) != 0
            : how == CU_STREAM_WAIT_VALUE_NOR ? ~(now | want) != 0
                                              : ahead)
            return;
        struct timespec nap = {.tv_nsec = 20000};
        nanosleep(&nap, NULL);
    }
}

/* ---- graphs ---- */
struct run {
    struct sim_op **records;
    size_t next_record;
    uint64_t number;
};

static void run_record(struct run *run)
{
    pthread_mutex_lock(&sim_lock);
    sim_op_complete(run->records[run->next_record++]);
    sim_unlock();
}

/* Under the random schedule a graph's nodes run in any order that its edges allow, else in plan order. Records come in
 * plan order in `records`, so graphs that hold any are always run in plan order. */
static void run_plan(struct sim_plan *plan, struct sim_ctx *ctx, struct run *run)
{
    bool shuffle = sim_config.schedule == SIM_RANDOM && !run->records;
    bool *done = shuffle ? calloc(plan->n_nodes + 1, 1) : NULL;
    uint64_t dice = sim_config.seed + run->number * 0x9e3779b97f4a7c15u;
    for (size_t step = 0; step < plan->n_nodes; step++) {
        size_t pick = step;
        if (done) {
            dice = dice * 6364136223846793005u + 1442695040888963407u;
            for (pick = (size_t)(dice >> 33) % plan->n_nodes;; pick = (pick + 1) % plan->n_nodes) {
                bool ready = !done[pick];
                for (size_t i = 0; i < plan->nodes[pick].n_deps && ready; i++)
                    ready = done[plan->nodes[pick].deps[i]];
                if (ready)
                    break;
            }
            done[pick] = true;
        }
        struct sim_plan_node *node = &plan->nodes[pick];
        if (node->task.kind == SIM_TASK_RECORD)
            run_record(run);
        else if (node->task.kind == SIM_TASK_CHILD)
            run_plan(node->task.u.graph.plan, ctx, run);
        else if (!node->disabled && !__atomic_load_n(&ctx->sticky, __ATOMIC_ACQUIRE))
            sim_task_run(&node->task, node->ctx ? node->ctx : ctx, run->number);
    }
    free(done);
}

static bool plan_plain(const struct sim_plan *plan)
{
    for (size_t i = 0; i < plan->n_nodes; i++)
        if (!sim_task_plain(&plan->nodes[i].task))
            return false;
    return true;
}

bool sim_task_plain(const struct sim_task *task)
{
    if (task->kind == SIM_TASK_GRAPH || task->kind == SIM_TASK_CHILD)
        return plan_plain(task->u.graph.plan);
    return task->kind != SIM_TASK_HOST && task->kind != SIM_TASK_WAITVALUE;
}

bool sim_task_prompt(const struct sim_task *task)
{
    if (task->kind == SIM_TASK_GRAPH || task->kind == SIM_TASK_CHILD) {
        for (size_t i = 0; i < task->u.graph.plan->n_nodes; i++)
            if (!sim_task_prompt(&task->u.graph.plan->nodes[i].task))
                return false;
        return true;
    }
    return sim_task_plain(task) && (task->kind != SIM_TASK_KERNEL || !task->u.kernel.func->waits);
}

void sim_task_run(struct sim_task *task, struct sim_ctx *ctx, uint64_t number)
{
    switch (task->kind) {
    case SIM_TASK_KERNEL:
        run_kernel(task, ctx);
        break;
    case SIM_TASK_MEMSET:
        run_set(task);
        break;
    case SIM_TASK_COPY:
        run_copy(task, ctx);
        break;
    case SIM_TASK_HOST:
        run_host(task, ctx);
        break;
    case SIM_TASK_FREE:
        sim_scribble(task->u.free.address, task->u.free.size);
        break;
    case SIM_TASK_GRAPH: {
        struct run run = {task->u.graph.records, 0, number};
        run_plan(task->u.graph.plan, ctx, &run);
        break;
    }
    case SIM_TASK_WRITE:
    case SIM_TASK_WAITVALUE:
        run_value(task);
        break;
    case SIM_TASK_EMPTY:
    case SIM_TASK_RECORD:
    case SIM_TASK_WAIT:
    case SIM_TASK_CHILD:
        break;
    }
}
