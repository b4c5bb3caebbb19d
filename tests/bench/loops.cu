/* loops ROW[,ROW...] [--seconds S] [--warm S] [--iterations N] [--graph] [--no-check]: runs launch loops, one line
 * each: row=NAME us_per_launch=X launches=N [p50_us=X p99_us=X] checksum=HEX check=ok|WRONG|skipped `loops list` prints
 * the names. --iterations runs exactly N iterations and no warm-up (a short program).
 */
#include "loops.h"
#include <dlfcn.h>
#include <string.h>
#include <time.h>
#include <algorithm>

static double seconds = 0.4, warm = 0.15;
static long iterations;
static bool graph, unchecked;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Tells the host-floor library, where it is loaded, that the measured part begins (1) or has ended (0). */
static void tell_floor(int skip)
{
    void (*floor_skip)(int) = (void (*)(int))dlsym(RTLD_DEFAULT, "floor_skip");
    if (floor_skip)
        floor_skip(skip);
}

static void reset(struct bench *b)
{
    CHECK(cudaDeviceSynchronize());
    for (int k = 0; k < BUFFERS; k++)
        CHECK(cudaMemset(b->state[k], 0x5a + k, WORDS * sizeof(unsigned)));
    CHECK(cudaDeviceSynchronize());
}

static uint64_t checksum(struct bench *b)
{
    static unsigned host[WORDS];
    uint64_t sum = 1469598103934665603ull;
    CHECK(cudaDeviceSynchronize());
    for (int k = 0; k < BUFFERS; k++) {
        CHECK(cudaMemcpy(host, b->state[k], sizeof host, cudaMemcpyDeviceToHost));
        for (int w = 0; w < WORDS; w++)
            sum = (sum ^ host[w]) * 1099511628211ull;
    }
    return sum;
}

/* The graph that an expert would write for this row: one executable for each iteration of its period. */
static std::vector<cudaGraphExec_t> build(struct bench *b, const struct row *row)
{
    std::vector<cudaGraphExec_t> made;
    for (int k = 0; k < row->period; k++) {
        cudaGraph_t captured;
        b->mode = MODE_CAPTURING;
        b->nodes.clear();
        CHECK(cudaStreamBeginCapture(b->stream[0], cudaStreamCaptureModeThreadLocal));
        row->iterate(b, k);
        CHECK(cudaStreamEndCapture(b->stream[0], &captured));
        cudaGraphExec_t exec;
        CHECK(cudaGraphInstantiate(&exec, captured, 0));
        CHECK(cudaGraphUpload(exec, b->stream[0]));
        made.push_back(exec);
    }
    b->mode = MODE_EAGER;
    return made;
}

static void iterate(struct bench *b, const struct row *row, const std::vector<cudaGraphExec_t> &made, long i)
{
    if (made.empty()) {
        row->iterate(b, i);
        return;
    }
    b->exec = made[(size_t)i % made.size()];
    if (row->hand == HAND_PATCH) {
        b->mode = MODE_PATCHING;
        b->cursor = 0;
        row->iterate(b, i);
        b->mode = MODE_EAGER;
    }
    CHECK(cudaGraphLaunch(b->exec, b->stream[0]));
    if (row->timed)
        CHECK(cudaStreamSynchronize(b->stream[0]));
}

static void run(struct bench *b, const struct row *row)
{
    constexpr int checked = 24;
    uint64_t expected = 0;
    std::vector<cudaGraphExec_t> made;
    b->null_stream = false;
    b->mode = MODE_STEPPING;
    reset(b);
    if (!unchecked) {
        for (long i = 0; i < checked; i++)
            row->iterate(b, i);
        expected = checksum(b);
    }
    b->mode = MODE_EAGER;
    if (graph) {
        if (row->hand == HAND_NONE) {
            printf("row=%s unavailable=1\n", row->name);
            return;
        }
        made = build(b, row);
    }
    long i = 0, from;
    double begin = now();
    if (!iterations)
        while (now() - begin < warm || i < 50)
            iterate(b, row, made, i++);
    CHECK(cudaDeviceSynchronize());
    tell_floor(1);
    std::vector<double> times;
    times.reserve(1 << 20);
    from = i;
    begin = now();
    double last = begin;
    while (iterations ? i - from < iterations : last - begin < seconds) {
        iterate(b, row, made, i++);
        if (row->timed || (i & 7) == 0) {
            double t = now();
            if (row->timed && times.size() < times.capacity())
                times.push_back(t - last);
            last = t;
        }
    }
    CHECK(cudaDeviceSynchronize());
    double taken = now() - begin;
    tell_floor(0);
    printf("row=%s us_per_launch=%.4f launches=%ld", row->name, taken * 1e6 / (double)((i - from) * row->launches),
           (i - from) * row->launches);
    if (row->timed && !times.empty()) {
        std::sort(times.begin(), times.end());
        printf(" p50_us=%.2f p99_us=%.2f", times[times.size() / 2] * 1e6, times[times.size() * 99 / 100] * 1e6);
    }
    if (unchecked) {
        printf(" check=skipped\n");
    } else {
        reset(b);
        for (i = 0; i < checked; i++)
            iterate(b, row, made, i);
        uint64_t sum = checksum(b);
        printf(" checksum=%016llx check=%s\n", (unsigned long long)sum, sum == expected ? "ok" : "WRONG");
    }
    for (cudaGraphExec_t exec : made)
        CHECK(cudaGraphExecDestroy(exec));
}

static void prepare(struct bench *b)
{
    int khz, count;
    CHECK(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0));
    CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
    b->clock_khz = khz;
    b->multiprocessors = count;
    for (int k = 0; k < STREAMS; k++) {
        CHECK(cudaStreamCreateWithFlags(&b->stream[k], k % 2 ? cudaStreamNonBlocking : cudaStreamDefault));
        CHECK(cudaEventCreateWithFlags(&b->event[k], cudaEventDisableTiming));
    }
    for (int k = 0; k < BUFFERS; k++)
        CHECK(cudaMalloc(&b->state[k], WORDS * sizeof(unsigned)));
}

static bool chosen(const char *list, const char *name)
{
    if (!strcmp(list, "all"))
        return true;
    size_t length = strlen(name);
    for (const char *at = strstr(list, name); at; at = strstr(at + length, name))
        if ((at == list || at[-1] == ',') && (at[length] == ',' || !at[length]))
            return true;
    return false;
}

int main(int argc, char **argv)
{
    const char *list = nullptr;
    for (int k = 1; k < argc; k++) {
        if (!strcmp(argv[k], "--graph"))
            graph = true;
        else if (!strcmp(argv[k], "--no-check"))
            unchecked = true;
        else if (!strcmp(argv[k], "--seconds") && k + 1 < argc)
            seconds = atof(argv[++k]);
        else if (!strcmp(argv[k], "--warm") && k + 1 < argc)
            warm = atof(argv[++k]);
        else if (!strcmp(argv[k], "--iterations") && k + 1 < argc)
            iterations = atol(argv[++k]);
        else
            list = argv[k];
    }
    if (!list) {
        fprintf(stderr, "usage: loops ROW[,ROW...]|all|list [--seconds S] [--warm S] [--iterations N] [--graph] "
                        "[--no-check]\n");
        return 2;
    }
    if (!strcmp(list, "list")) {
        for (size_t k = 0; k < rows_count; k++)
            printf("%-18s %s\n", rows[k].name, rows[k].help);
        return 0;
    }
    static struct bench b;
    prepare(&b);
    for (size_t k = 0; k < rows_count; k++) {
        if (chosen(list, rows[k].name)) {
            run(&b, &rows[k]);
            fflush(stdout);
        }
    }
    return 0;
}
