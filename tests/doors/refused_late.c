/* refused_late WAY: operations that the shim holds, each of which writes a word of its own. In the run with the shim
 * one is refused by the driver when the shim submits it (the simulator's `fail` setting), with the code in the
 * environment variable EXPECT; without that none is. Prints what is not as it must be, or "right":
 *
 * - one call has told that code, once, and one word was not written; that call is the operation's own or one that came
 *   after it, up to the next wait for the stream;
 * - its own only if it was not held, being the first of its kind, or where a launch may submit what is held;
 * - with EXPECT=CODE+, a code that the context does not recover from: each call after the first that told it tells it,
 *   and after a reset of the context everything can be done again;
 * - with EXPECT=0: no call has told anything, all words were written.
 *
 * WAY is what comes after each round: sync, event, stream (it is destroyed), module (it is unloaded), sleep (nothing
 * for a while), full (the next round, up to a wait at the end), graphs (rounds that are replayed, then a new mixture
 * with a cuMemsetD16Async, so that the window has graphs when that is submitted).
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS 6u
#define GRAPH_ROUNDS 40u
#define OPS 10u /* of a round */
#define SLOTS (OPS * GRAPH_ROUNDS)

enum way { SYNC, EVENT, STREAM, MODULE, SLEEP, FULL, GRAPHS };
static const char *const ways[] = {"sync", "event", "stream", "module", "sleep", "full", "graphs"};

static enum way way;
static int expect; /* code, 0: none */
static bool stays;

static CUcontext context;
static CUmodule module;
static CUfunction fill;
static CUstream stream;
static CUevent event;
static CUdeviceptr words, sources; /* the latter hold 1000 + number */
static unsigned *pinned;           /* the same */

/* Since the last wait for the stream. */
static unsigned calls, told_at, own; /* own: the operation whose call told it, or SLOTS */
static unsigned waited;              /* operations before that wait */
static unsigned done;                /* operations so far */

static unsigned told, unlike, problems;

static void problem(const char *text, unsigned number)
{
    printf("%s: %u\n", text, number);
    if (++problems > 20)
        exit(1);
}

/* Takes note of a call's answer; op: that of an operation. */
static void note(CUresult code, bool op)
{
    calls++;
    if (told > 0 && stays)
        unlike += code != (CUresult)expect;
    if (code == CUDA_SUCCESS)
        return;
    if (code != (CUresult)expect)
        problem("unexpected code", code);
    if (told++ == 0) {
        told_at = done;
        own = op ? done : SLOTS;
    }
}

static CUresult launch(CUdeviceptr to, unsigned value, bool extended)
{
    unsigned one = 1;
    void *arguments[] = {&to, &value, &one};
    CUlaunchAttribute attribute;
    memset(&attribute, 0, sizeof attribute);
    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmaticStreamSerializationAllowed = 1;
    CUlaunchConfig config = {1, 1, 1, 1, 1, 1, 0, stream, &attribute, 1};
    return extended ? cuLaunchKernelEx(&config, fill, arguments, NULL)
                    : cuLaunchKernel(fill, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL);
}

/* Word `done` becomes 1000 + done. */
static void operation(unsigned kind)
{
    CUdeviceptr to = words + 4 * done;
    unsigned value = 1000 + done;
    CUresult code;
    switch (kind) {
    case 2:
        code = cuMemsetD32Async(to, value, 1, stream);
        break;
    case 5:
        code = cuMemcpyHtoDAsync(to, pinned + done, 4, stream);
        break;
    case 6:
        code = cuMemcpyDtoDAsync(to, sources + 4 * done, 4, stream);
        break;
    case 8:
        code = launch(to, value, true);
        break;
    case 10:
        code = cuMemsetD16Async(to, (unsigned short)value, 1, stream);
        break;
    default:
        code = launch(to, value, false);
        break;
    }
    note(code, true);
    done++;
}

static void after_round(void)
{
    switch (way) {
    case EVENT:
        note(cuEventRecord(event, stream), false);
        break;
    case STREAM:
        note(cuStreamDestroy(stream), false);
        note(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), false);
        break;
    case MODULE:
        note(cuModuleUnload(module), false);
        note(cuModuleLoad(&module, getenv("KERNELS")), false);
        note(cuModuleGetFunction(&fill, module, "fill"), false);
        break;
    case SLEEP:
        nanosleep(&(struct timespec){0, 20000000}, NULL);
        break;
    default:
        break;
    }
    if (way != FULL)
        note(cuStreamSynchronize(stream), false);
}

/* Whether the operation is held, and no launch submits it. */
static bool is_held(unsigned number)
{
    bool launches = number % OPS == 0 || number % OPS == 8;
    bool first = launches || number % OPS == 2 || number % OPS == 5 || number % OPS == 6;
    bool again = (way == MODULE && launches) || (way == STREAM && first);
    return way != FULL && way != SLEEP && way != GRAPHS && number >= OPS && !again;
}

/* Operations that were not done since the last wait for the stream, against what was told. */
static void look(void)
{
    static unsigned lost_before;
    unsigned got[SLOTS], lost = 0, which = 0;
    if (stays && told > 0)
        return;
    if (cuCtxSynchronize() != CUDA_SUCCESS || cuMemcpyDtoH(got, words, sizeof got) != CUDA_SUCCESS)
        problem("what was told must have been told before", 1);
    for (unsigned i = 0; i < done; i++) {
        if (got[i] == 1000 + i)
            continue;
        if (got[i] != 0)
            problem("wrong word", i);
        lost++;
        which = i;
    }
    if (lost != told)
        problem("words not written for one call that told it", lost);
    if (lost > lost_before) {
        if (told_at < which || which < waited)
            problem("told before", which);
        if (own == which && is_held(which))
            problem("told at once, though it was held", which);
    }
    lost_before = lost;
    waited = done;
}

static bool set_up(void)
{
    static unsigned numbers[SLOTS];
    for (unsigned i = 0; i < SLOTS; i++)
        numbers[i] = 1000 + i;
    bool well = cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS && cuCtxSetCurrent(context) == CUDA_SUCCESS &&
                cuModuleLoad(&module, getenv("KERNELS")) == CUDA_SUCCESS &&
                cuModuleGetFunction(&fill, module, "fill") == CUDA_SUCCESS &&
                cuMemAlloc(&words, sizeof numbers) == CUDA_SUCCESS &&
                cuMemAlloc(&sources, sizeof numbers) == CUDA_SUCCESS &&
                cuMemHostAlloc((void **)&pinned, sizeof numbers, 0) == CUDA_SUCCESS &&
                cuMemsetD8(words, 0, sizeof numbers) == CUDA_SUCCESS &&
                cuMemcpyHtoD(sources, numbers, sizeof numbers) == CUDA_SUCCESS &&
                cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS &&
                cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS && cuCtxSynchronize() == CUDA_SUCCESS;
    if (well)
        memcpy(pinned, numbers, sizeof numbers);
    else
        problem("set-up failed", 1);
    return well;
}

static void work(void)
{
    unsigned rounds = way == GRAPHS ? GRAPH_ROUNDS - 2 : ROUNDS;
    done = calls = waited = 0;
    if (way == GRAPHS)
        operation(10); /* passed: it is the first */
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned i = 0; i < OPS; i++)
            operation(i);
        after_round();
        if (way != FULL)
            look();
    }
    for (unsigned i = 0; way == GRAPHS && i < 4; i++)
        operation(i == 2 ? 10 : 2);
    note(cuStreamSynchronize(stream), false);
    look();
}

int main(int argc, char **argv)
{
    const char *wanted = getenv("EXPECT");
    for (unsigned i = 0; argc == 2 && i < sizeof ways / sizeof ways[0]; i++)
        if (strcmp(argv[1], ways[i]) == 0)
            way = (enum way)i;
    if (argc != 2 || strcmp(argv[1], ways[way]) != 0) {
        fprintf(stderr, "usage: refused_late sync|event|stream|module|sleep|full|graphs\n");
        return 2;
    }
    if (wanted != NULL) {
        expect = atoi(wanted);
        stays = strchr(wanted, '+') != NULL;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (cuInit(0) != CUDA_SUCCESS || !set_up())
        return 1;
    work();
    if (unlike > 0)
        problem("calls that say something else after an error that stays", unlike);
    if (stays ? told == 0 : told != (expect != 0))
        problem("calls that told it", told);
    if (stays) {
        if (cuDevicePrimaryCtxReset(0) != CUDA_SUCCESS)
            problem("the context cannot be reset", 1);
        told = expect = 0;
        stays = false;
        if (set_up())
            work();
        if (told > 0)
            problem("calls that fail in the context that was reset", told);
    }
    if (problems == 0)
        puts("right");
    return problems != 0;
}
