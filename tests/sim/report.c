/* See report.h. */
#include "tests/sim/config.h"
#include "tests/sim/graph.h"
#include "tests/sim/report.h"
#include "tests/sim/state.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

struct sim_counts sim_counts;
static uint64_t order; /* atomic */
static int log_fd = -1;
static uint64_t device_end_ns, host_total_ns, main_host_ns;

static int open_output(const char *setting)
{
    char path[600];
    size_t n = 0;
    for (const char *p = setting; *p && n + 24 < sizeof(path); p++) {
        if (p[0] == '%' && p[1] == 'p') {
            n += (size_t)snprintf(path + n, sizeof(path) - n, "%d", (int)getpid());
            p++;
        } else {
            path[n++] = *p;
        }
    }
    path[n] = 0;
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
}

bool sim_log_on(void)
{
    static bool tried;
    if (!tried && sim_config.log[0]) {
        tried = true;
        __atomic_store_n(&log_fd, strcmp(sim_config.log, "-") ? open_output(sim_config.log) : 2, __ATOMIC_RELAXED);
    }
    return log_fd >= 0;
}

uint64_t sim_log_order(void)
{
    return __atomic_add_fetch(&order, 1, __ATOMIC_RELAXED);
}

static void put(const char *text, int length)
{
    ssize_t written = length > 0 ? write(log_fd, text, (size_t)length) : 0;
    (void)written; /* a full disk must not change the program */
}

void sim_log_call(uint64_t number, enum sim_fn fn, CUstream stream, CUresult result)
{
    char line[512], where[40] = "";
    if (stream != AG_NO_STREAM)
        snprintf(where, sizeof(where), " stream=%p", (void *)stream);
    int n = snprintf(line, sizeof(line), "%llu t%d call %s%s%s = %d\n", (unsigned long long)number, sim_self.number,
                     sim_fn_table[fn].symbol, where, sim_self.detail, (int)result);
    put(line, n < (int)sizeof(line) ? n : (int)sizeof(line) - 1);
}

void sim_log_detail(const char *format, ...)
{
    if (!sim_log_on())
        return;
    size_t used = strlen(sim_self.detail);
    va_list args;
    va_start(args, format);
    vsnprintf(sim_self.detail + used, sizeof(sim_self.detail) - used, format, args);
    va_end(args);
}

void sim_log_exec(uint64_t number, const struct sim_stream *stream, const struct sim_task *task)
{
    char line[512];
    if (__atomic_load_n(&log_fd, __ATOMIC_RELAXED) < 0)
        return;
    int n = snprintf(line, sizeof(line), "%llu s%llu exec op=%llu %s\n", (unsigned long long)sim_log_order(),
                     (unsigned long long)stream->id, (unsigned long long)number, sim_task_name(task));
    put(line, n < (int)sizeof(line) ? n : (int)sizeof(line) - 1);
}

/* ---- virtual clock: nanoseconds, measured on an H200 with driver 580 in a virtual machine ---- */
enum {
    COST_GETTER = 100,
    COST_OTHER = 500,
    COST_LAUNCH = 4000,
    COST_MEMSET = 2000,
    COST_COPY = 5300,
    COST_EVENT = 700,
    COST_SYNC = 4000,
    COST_GRAPH_LAUNCH = 2000,
    COST_SET_PARAMS = 400,
    COST_SET_MEMSET = 220,
    COST_SET_COPY = 780,
    COST_ADD_NODE = 1000,
    DEVICE_LATENCY = 2000,
    DEVICE_TINY = 1100,
    DEVICE_EAGER_GAP = 1000,
    DEVICE_GRAPH_GAP = 1300,
};

static const unsigned short costs[SIM_FN_COUNT] = {
        [SIM_FN_cuLaunchKernel] = COST_LAUNCH,
        [SIM_FN_cuLaunchKernel_ptsz] = COST_LAUNCH,
        [SIM_FN_cuLaunchKernelEx] = COST_LAUNCH,
        [SIM_FN_cuLaunchKernelEx_ptsz] = COST_LAUNCH,
        [SIM_FN_cuLaunchCooperativeKernel] = COST_LAUNCH,
        [SIM_FN_cuLaunchCooperativeKernel_ptsz] = COST_LAUNCH,
        [SIM_FN_cuMemsetD8Async] = COST_MEMSET,
        [SIM_FN_cuMemsetD16Async] = COST_MEMSET,
        [SIM_FN_cuMemsetD32Async] = COST_MEMSET,
        [SIM_FN_cuMemsetD8Async_ptsz] = COST_MEMSET,
        [SIM_FN_cuMemsetD16Async_ptsz] = COST_MEMSET,
        [SIM_FN_cuMemsetD32Async_ptsz] = COST_MEMSET,
        [SIM_FN_cuMemsetD8_v2] = COST_MEMSET,
        [SIM_FN_cuMemsetD32_v2] = COST_MEMSET,
        [SIM_FN_cuMemcpyAsync] = COST_COPY,
        [SIM_FN_cuMemcpyAsync_ptsz] = COST_COPY,
        [SIM_FN_cuMemcpyHtoDAsync_v2] = COST_COPY,
        [SIM_FN_cuMemcpyHtoDAsync_v2_ptsz] = COST_COPY,
        [SIM_FN_cuMemcpyDtoHAsync_v2] = COST_COPY,
        [SIM_FN_cuMemcpyDtoHAsync_v2_ptsz] = COST_COPY,
        [SIM_FN_cuMemcpyDtoDAsync_v2] = COST_COPY,
        [SIM_FN_cuMemcpyDtoDAsync_v2_ptsz] = COST_COPY,
        [SIM_FN_cuMemcpyHtoD_v2] = COST_COPY,
        [SIM_FN_cuMemcpyDtoH_v2] = COST_COPY,
        [SIM_FN_cuMemcpyDtoD_v2] = COST_COPY,
        [SIM_FN_cuMemcpy] = COST_COPY,
        [SIM_FN_cuEventRecord] = COST_EVENT,
        [SIM_FN_cuEventRecord_ptsz] = COST_EVENT,
        [SIM_FN_cuStreamWaitEvent] = COST_EVENT,
        [SIM_FN_cuStreamWaitEvent_ptsz] = COST_EVENT,
        [SIM_FN_cuStreamSynchronize] = COST_SYNC,
        [SIM_FN_cuStreamSynchronize_ptsz] = COST_SYNC,
        [SIM_FN_cuCtxSynchronize] = COST_SYNC,
        [SIM_FN_cuEventSynchronize] = COST_SYNC,
        [SIM_FN_cuGraphLaunch] = COST_GRAPH_LAUNCH,
        [SIM_FN_cuGraphLaunch_ptsz] = COST_GRAPH_LAUNCH,
        [SIM_FN_cuGraphExecKernelNodeSetParams] = COST_SET_PARAMS,
        [SIM_FN_cuGraphExecKernelNodeSetParams_v2] = COST_SET_PARAMS,
        [SIM_FN_cuGraphExecMemsetNodeSetParams] = COST_SET_MEMSET,
        [SIM_FN_cuGraphExecMemcpyNodeSetParams] = COST_SET_COPY,
        [SIM_FN_cuGraphAddKernelNode] = COST_ADD_NODE,
        [SIM_FN_cuGraphAddKernelNode_v2] = COST_ADD_NODE,
        [SIM_FN_cuGraphAddNode] = COST_ADD_NODE,
        [SIM_FN_cuGraphAddNode_v2] = COST_ADD_NODE,
        [SIM_FN_cuGraphAddMemsetNode] = COST_ADD_NODE,
        [SIM_FN_cuGraphAddMemcpyNode] = COST_ADD_NODE,
        [SIM_FN_cuCtxGetCurrent] = COST_GETTER,
        [SIM_FN_cuFuncGetAttribute] = COST_GETTER,
        [SIM_FN_cuFuncGetParamInfo] = COST_GETTER,
        [SIM_FN_cuKernelGetParamInfo] = COST_GETTER,
        [SIM_FN_cuStreamIsCapturing] = COST_GETTER,
        [SIM_FN_cuStreamGetCaptureInfo_v2] = COST_GETTER,
        [SIM_FN_cuStreamGetCaptureInfo_v3] = COST_GETTER,
        [SIM_FN_cuThreadExchangeStreamCaptureMode] = COST_GETTER,
        [SIM_FN_cuGetProcAddress] = COST_GETTER,
        [SIM_FN_cuGetProcAddress_v2] = COST_GETTER,
        [SIM_FN_cuPointerGetAttribute] = COST_GETTER,
        [SIM_FN_cuPointerGetAttributes] = COST_GETTER,
};

void sim_cost_host(uint64_t ns)
{
    sim_self.host_ns += ns;
    host_total_ns += ns;
}

void sim_cost_call(enum sim_fn fn)
{
    sim_cost_host(costs[fn] ? costs[fn] : COST_OTHER);
    if (sim_self.number == 1)
        main_host_ns = sim_self.host_ns;
}

void sim_cost_until(uint64_t device_ns)
{
    if (sim_self.host_ns < device_ns)
        sim_self.host_ns = device_ns;
    if (sim_self.number == 1)
        main_host_ns = sim_self.host_ns;
}

static uint64_t task_ns(const struct sim_task *task)
{
    switch (task->kind) {
    case SIM_TASK_KERNEL:
    case SIM_TASK_MEMSET:
        return DEVICE_TINY;
    case SIM_TASK_COPY:
        return DEVICE_TINY + task->u.copy.width * task->u.copy.height * task->u.copy.depth / 50; /* 50 GB/s */
    case SIM_TASK_CHILD: {
        uint64_t sum = 0;
        for (size_t i = 0; i < task->u.graph.plan->n_nodes; i++)
            sum += task_ns(&task->u.graph.plan->nodes[i].task);
        return sum;
    }
    case SIM_TASK_GRAPH: {
        uint64_t sum = DEVICE_GRAPH_GAP;
        for (size_t i = 0; i < task->u.graph.plan->n_nodes; i++)
            sum += task_ns(&task->u.graph.plan->nodes[i].task);
        return sum;
    }
    default:
        return 0;
    }
}

void sim_cost_op(struct sim_op *op)
{
    uint64_t start = op->vend_ns;
    if (!op->bare) {
        if (start < sim_self.host_ns + DEVICE_LATENCY)
            start = sim_self.host_ns + DEVICE_LATENCY;
        uint64_t work = task_ns(&op->task);
        if (op->task.kind != SIM_TASK_GRAPH && work)
            work += DEVICE_EAGER_GAP;
        if (start < op->stream->device_ns)
            start = op->stream->device_ns;
        op->vend_ns = start + work;
        switch (op->task.kind) {
        case SIM_TASK_KERNEL:
            sim_counts.launches++;
            sim_counts.submissions++;
            break;
        case SIM_TASK_MEMSET:
            sim_counts.memsets++;
            sim_counts.submissions++;
            break;
        case SIM_TASK_COPY:
            sim_counts.copies++;
            sim_counts.submissions++;
            break;
        case SIM_TASK_GRAPH:
            sim_counts.submissions++;
            break;
        default:
            break;
        }
    } else {
        op->vend_ns = start > op->stream->device_ns ? start : op->stream->device_ns;
    }
    op->stream->device_ns = op->vend_ns;
    if (device_end_ns < op->vend_ns)
        device_end_ns = op->vend_ns;
}

/* ---- report ---- */
void sim_report_at_exit(void)
{
    if (!sim_config.report[0])
        return;
    int fd = strcmp(sim_config.report, "-") ? open_output(sim_config.report) : 1;
    FILE *out = fd == 1 ? stdout : fd >= 0 ? fdopen(fd, "a") : NULL;
    if (!out)
        return;
    fprintf(out,
            "{\"launches\":%lu,\"graph_launches\":%lu,\"graph_nodes\":%lu,\"memsets\":%lu,\"copies\":%lu,"
            "\"submissions\":%lu,"
            "\"instantiates\":%lu,\"nodes_instantiated\":%lu,\"nodes_added\":%lu,\"uploads\":%lu,\"set_params\":%lu,"
            "\"retargets\":%lu,"
            "\"host_us\":%.1f,\"host_call_us\":%.1f,\"device_us\":%.1f,\"calls\":{",
            sim_counts.launches, sim_counts.graph_launches, sim_counts.graph_nodes, sim_counts.memsets,
            sim_counts.copies, sim_counts.submissions, sim_counts.instantiates, sim_counts.nodes_instantiated,
            sim_counts.nodes_added, sim_counts.uploads, sim_counts.set_params, sim_counts.retargets,
            (double)main_host_ns / 1000, (double)host_total_ns / 1000, (double)device_end_ns / 1000);
    const char *comma = "";
    for (int i = 0; i < SIM_FN_COUNT; i++) {
        if (!sim_calls[i])
            continue;
        fprintf(out, "%s\"%s\":%lu", comma, sim_fn_table[i].symbol, sim_calls[i]);
        comma = ",";
    }
    fprintf(out, "}}\n");
    if (out == stdout)
        fflush(out);
    else
        fclose(out);
}
