/* See fuzz.h: runs programs one after another in this process, each from a clean slate. */
#include "tests/fuzz/execute.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct fuzz_state fuzz_state = {.mutex = PTHREAD_MUTEX_INITIALIZER,
                                .opened = PTHREAD_COND_INITIALIZER,
                                .posted_for = {[0 ... FUZZ_THREADS - 1] = PTHREAD_COND_INITIALIZER}};

static struct fuzz_runner runners[FUZZ_THREADS];

static const char *const kernel_names[FUZZ_KERNELS] = {
        [FUZZ_FILL] = "fill",
        [FUZZ_STEP] = "step",
        [FUZZ_MIX] = "mix",
        [FUZZ_GAPS] = "gaps",
        [FUZZ_BY_VALUE] = "by_value",
        [FUZZ_THROUGH_SHARED] = "through_shared",
        [FUZZ_SCALED] = "scaled",
        [FUZZ_LARGE] = "large_argument",
        [FUZZ_THROUGH_ROOM] = "through_room",
};

/* ---- the log ---- */
void fuzz_note(struct fuzz_runner *runner, const char *format, ...)
{
    va_list values;
    if (runner->capacity - runner->length < 256) {
        runner->capacity = runner->capacity ? 2 * runner->capacity : 16384;
        runner->text = realloc(runner->text, runner->capacity);
        if (!runner->text)
            abort();
    }
    va_start(values, format);
    int n = vsnprintf(runner->text + runner->length, 256, format, values);
    va_end(values);
    runner->length += n < 256 ? (size_t)n : 255;
}

uint64_t fuzz_hash(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u;
    return hash;
}

void fuzz_nap(unsigned int us)
{
    struct timespec nap = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    nanosleep(&nap, NULL);
}

void fuzz_wait_more(unsigned int *us)
{
    *us = *us == 0 ? 50 : *us < 800 ? 2 * *us : *us;
    fuzz_nap(*us);
}

void fuzz_open(int gate)
{
    pthread_mutex_lock(&fuzz_state.mutex);
    fuzz_state.gates[gate] = true;
    pthread_mutex_unlock(&fuzz_state.mutex);
    pthread_cond_broadcast(&fuzz_state.opened);
}

/* ---- objects ---- */
struct fuzz_target fuzz_target(const struct fuzz_runner *runner, int stream)
{
    struct fuzz_target to = {NULL, fuzz_state.program->ptsz, runner->stack[runner->depth - 1]};
    if (stream >= 0) {
        to.stream = fuzz_state.streams[stream];
        to.ctx = fuzz_state.stream_ctx[stream];
    } else if (stream == -1 || stream == -3) {
        to.per_thread = stream == -3;
    } else {
        to.stream = stream == -2 ? CU_STREAM_LEGACY : CU_STREAM_PER_THREAD;
    }
    return to;
}

void *fuzz_host(const struct fuzz_buffer *buffer)
{
    return buffer->kind >= FUZZ_PINNED ? (void *)(uintptr_t)buffer->at : NULL;
}

bool fuzz_load(struct fuzz_code *code, bool library, int turn)
{
    bool good;
    memset(code, 0, sizeof(*code));
    code->library = library;
    if (library)
        good = !cu(cuLibraryLoadFromFile)(&code->handle, fuzz_state.kernels_path, NULL, NULL, 0, NULL, NULL, 0);
    else
        good = !cu(cuModuleLoad)(&code->module, fuzz_state.kernels_path);
    for (int i = 0; i <= FUZZ_KERNELS && good; i++) {
        int k = (turn + i) % (FUZZ_KERNELS + 1);
        CUkernel kernel = NULL;
        if (k == FUZZ_KERNELS) {
            good = library || !cu(cuModuleGetFunction)(&code->signal, code->module, "set_flag");
        } else if (library) {
            good = !cu(cuLibraryGetKernel)(&kernel, code->handle, kernel_names[k]);
            code->kernels[k] = (CUfunction)(void *)kernel;
        } else {
            good = !cu(cuModuleGetFunction)(&code->kernels[k], code->module, kernel_names[k]);
        }
    }
    return good;
}

void fuzz_unload(struct fuzz_code *code)
{
    if (code->handle)
        cu(cuLibraryUnload)(code->handle);
    if (code->module)
        cu(cuModuleUnload)(code->module);
    memset(code, 0, sizeof(*code));
}

CUresult fuzz_buffer_make(struct fuzz_buffer *buffer, enum fuzz_memory kind, struct fuzz_target target, int seed)
{
    size_t size = 4 * FUZZ_WORDS;
    void *host = NULL;
    CUresult result = CUDA_SUCCESS;
    buffer->kind = kind;
    switch (kind) {
    case FUZZ_DEVICE:
        result = cu(cuMemAlloc)(&buffer->at, size);
        break;
    case FUZZ_POOL:
        result = cu_pt(cuMemAllocAsync, target.per_thread)(&buffer->at, size, target.stream);
        break;
    case FUZZ_MANAGED:
        result = cu(cuMemAllocManaged)(&buffer->at, size, CU_MEM_ATTACH_GLOBAL);
        host = (void *)(uintptr_t)buffer->at;
        break;
    case FUZZ_PINNED:
        result = cu(cuMemHostAlloc)(&host, size, CU_MEMHOSTALLOC_DEVICEMAP);
        break;
    default:
        host = aligned_alloc(4096, 4096);
        if (!host)
            abort();
        if (kind == FUZZ_REGISTERED)
            result = cu(cuMemHostRegister)(host, 4096, 0);
    }
    if (host)
        buffer->at = (CUdeviceptr)(uintptr_t)host;
    for (unsigned int i = 0; host && !result && i < FUZZ_WORDS; i++)
        ((unsigned int *)host)[i] = i * 2654435761u + (unsigned int)seed;
    buffer->live = !result;
    return result;
}

CUresult fuzz_buffer_free(struct fuzz_buffer *buffer, struct fuzz_target target)
{
    CUresult result = CUDA_SUCCESS;
    switch (buffer->kind) {
    case FUZZ_DEVICE:
    case FUZZ_MANAGED:
        result = cu(cuMemFree)(buffer->at);
        break;
    case FUZZ_POOL:
        result = cu_pt(cuMemFreeAsync, target.per_thread)(buffer->at, target.stream);
        break;
    case FUZZ_PINNED:
        result = cu(cuMemFreeHost)(fuzz_host(buffer));
        break;
    default:
        if (buffer->kind == FUZZ_REGISTERED)
            result = cu(cuMemHostUnregister)(fuzz_host(buffer));
        free(fuzz_host(buffer));
    }
    buffer->live = false;
    return result;
}

/* ---- the end of a program ---- */
static void read_all(struct fuzz_runner *runner, int ctx)
{
    for (int b = 0; b < FUZZ_BUFFERS; b++) {
        const struct fuzz_buffer *buffer = &fuzz_state.buffers[b];
        unsigned int words[FUZZ_WORDS] = {0};
        if (!buffer->live || buffer->ctx != ctx || !(fuzz_state.program->full >> b & 1))
            continue;
        if (fuzz_host(buffer))
            memcpy(words, fuzz_host(buffer), sizeof(words));
        else if (cu(cuMemcpyDtoH)(words, buffer->at, sizeof(words)))
            runner->unexpected++;
        fuzz_note(runner, "end buffer %d %016llx\n", b,
                  (unsigned long long)fuzz_hash(FUZZ_HASH_START, words, sizeof(words)));
    }
}

static void reset_code(void)
{
    static const struct {
        CUfunction_attribute which;
        int value;
    } attributes[] = {{CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, FUZZ_DEFAULT_SHARED},
                      {CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, -1}};
    for (int k = 0; k < FUZZ_KERNELS; k++)
        for (int i = 0; i < 2 && fuzz_limit(k) >= 0; i++) {
            CUkernel kernel = (CUkernel)(void *)fuzz_state.codes[1].kernels[k];
            cu(cuFuncSetAttribute)(fuzz_state.own[0].kernels[k], attributes[i].which, attributes[i].value);
            cu(cuKernelSetAttribute)(attributes[i].which, attributes[i].value, kernel, 0);
        }
}

static void drop_ctx(struct fuzz_runner *runner, int ctx)
{
    struct fuzz_state *s = &fuzz_state;
    struct fuzz_target legacy = {NULL, false, ctx};
    for (int k = 2; k < FUZZ_CODES; k++)
        if (s->codes[k].module || s->codes[k].handle)
            fuzz_unload(&s->codes[k]);
    for (int e = 0; e < FUZZ_EVENTS; e++) {
        if (s->events[e] && s->event_ctx[e] == ctx && cu(cuEventDestroy)(s->events[e]))
            runner->unexpected++;
        if (s->event_ctx[e] == ctx)
            s->events[e] = NULL;
    }
    for (int b = 0; b < FUZZ_BUFFERS; b++)
        if (s->buffers[b].live && s->buffers[b].ctx == ctx && fuzz_buffer_free(&s->buffers[b], legacy))
            runner->unexpected++;
    for (int i = 0; i < FUZZ_STREAMS; i++) {
        if (s->streams[i] && s->stream_ctx[i] == ctx && cu(cuStreamDestroy)(s->streams[i]))
            runner->unexpected++;
        if (s->stream_ctx[i] == ctx)
            s->streams[i] = NULL;
    }
}

static void finish(struct fuzz_runner *runner)
{
    struct fuzz_state *s = &fuzz_state;
    CUcontext ctx;
    for (int g = 0; g < FUZZ_GATES; g++)
        fuzz_open(g);
    for (int c = FUZZ_CTXS - 1; c >= 0; c--) {
        if (!s->ctxs[c])
            continue;
        cu(cuCtxPushCurrent)(s->ctxs[c]);
        CUresult result = cu(cuCtxSynchronize)();
        fuzz_note(runner, "end ctx %d = %d\n", c, result);
        runner->unexpected += result != CUDA_SUCCESS;
        cu(cuCtxPopCurrent)(&ctx);
    }
    /* Memory of one context may be written by work of another. */
    for (int c = FUZZ_CTXS - 1; c >= 0; c--) {
        if (!s->ctxs[c])
            continue;
        cu(cuCtxPushCurrent)(s->ctxs[c]);
        read_all(runner, c);
        cu(cuCtxPopCurrent)(&ctx);
    }
    for (int x = 0; x < FUZZ_EXECS; x++)
        if (s->execs[x])
            cu(cuGraphExecDestroy)(s->execs[x]);
    for (int g = 0; g < FUZZ_GRAPHS; g++)
        if (s->graphs[g])
            cu(cuGraphDestroy)(s->graphs[g]);
    for (int c = FUZZ_CTXS - 1; c >= 0; c--) {
        if (!s->ctxs[c])
            continue;
        cu(cuCtxPushCurrent)(s->ctxs[c]);
        drop_ctx(runner, c);
        cu(cuCtxPopCurrent)(&ctx);
        if (c && cu(cuCtxDestroy)(s->ctxs[c]))
            runner->unexpected++;
        if (c)
            s->ctxs[c] = NULL;
    }
    while (s->calls) {
        struct fuzz_call *call = s->calls;
        s->calls = call->next;
        free(call);
    }
    memset(s->graphs, 0, sizeof(s->graphs));
    memset(s->execs, 0, sizeof(s->execs));
}

/* ---- threads ---- */
static void *run_thread(void *argument)
{
    struct fuzz_runner *runner = argument;
    const struct fuzz_program *program = fuzz_state.program;
    CUcontext ctx;
    if (runner->thread)
        cu(cuCtxPushCurrent)(fuzz_state.ctxs[0]);
    runner->stack[0] = 0;
    runner->depth = 1;
    for (size_t i = 0; i < program->n; i++)
        if (program->ops[i].thread == runner->thread)
            fuzz_execute_op(runner, &program->ops[i], i);
    CUgraph graph = NULL;
    if (runner->captured && !cu_pt(cuStreamEndCapture, program->ptsz)(runner->captured, &graph) && graph)
        cu(cuGraphDestroy)(graph);
    runner->captured = NULL;
    while (runner->depth-- > 1)
        cu(cuCtxPopCurrent)(&ctx);
    runner->depth = 1;
    cu(cuCtxSetCurrent)(fuzz_state.ctxs[0]);
    runner->stack[0] = 0;
    if (runner->thread)
        cu(cuCtxPopCurrent)(&ctx);
    return NULL;
}

/* Threads live as long as the process: the driver keeps a stream of its own for each. */
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    unsigned int round[FUZZ_THREADS], running;
} pool = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, {0}, 0};

static void *pool_thread(void *argument)
{
    unsigned int seen = 0, *round = &pool.round[((struct fuzz_runner *)argument)->thread];
    for (;;) {
        pthread_mutex_lock(&pool.mutex);
        while (*round == seen)
            pthread_cond_wait(&pool.changed, &pool.mutex);
        seen = *round;
        pthread_mutex_unlock(&pool.mutex);
        run_thread(argument);
        pthread_mutex_lock(&pool.mutex);
        if (!--pool.running)
            pthread_cond_broadcast(&pool.changed);
        pthread_mutex_unlock(&pool.mutex);
    }
    return NULL;
}

bool fuzz_execute_open(const char *folder, bool by_dlsym)
{
    struct fuzz_state *s = &fuzz_state;
    if (!fuzz_driver_open(by_dlsym))
        return false;
    snprintf(s->kernels_path, sizeof(s->kernels_path), "%s/kernels.ptx", folder);
    bool good = !cu(cuInit)(0);
    for (int d = 0; d < FUZZ_DEVICES && good; d++)
        if (cu(cuDeviceGet)(&s->devices[d], d)) {
            fprintf(stderr, "fuzz: there must be %d devices; AUTOGRAPH_SIM=devices=%d\n", FUZZ_DEVICES, FUZZ_DEVICES);
            return false;
        }
    good = good && !cu(cuDevicePrimaryCtxRetain)(&s->ctxs[0], s->devices[0]) && !cu(cuCtxSetCurrent)(s->ctxs[0]) &&
           fuzz_load(&s->own[0], false, 0) && fuzz_load(&s->codes[1], true, 0) &&
           !cu(cuMemAlloc)(&s->flags, 4 * FUZZ_FLAGS) && !cu(cuMemAlloc)(&s->scratch, 4 * FUZZ_WORDS) &&
           !cu(cuModuleGetGlobal)(&s->scale, NULL, s->own[0].module, "scale");
    for (int t = 0; t < FUZZ_THREADS && good; t++) {
        runners[t].thread = t;
        if (t)
            good = !pthread_create(&runners[t].id, NULL, pool_thread, &runners[t]);
    }
    if (!good)
        fprintf(stderr, "fuzz: the driver or the kernels in %s do not work\n", folder);
    return good;
}

struct fuzz_outcome fuzz_execute(const struct fuzz_program *program, FILE *log)
{
    struct fuzz_state *s = &fuzz_state;
    struct fuzz_outcome outcome = {FUZZ_HASH_START, 0};
    unsigned int one = 1;
    int threads = 1;
    s->program = program;
    memset(s->gates, 0, sizeof(s->gates));
    memset(s->posted, 0, sizeof(s->posted));
    memset(s->awaited, -1, sizeof(s->awaited));
    cu(cuMemsetD32)(s->flags, 0, FUZZ_FLAGS);
    cu(cuMemsetD32)(s->scratch, 0, FUZZ_WORDS);
    cu(cuMemcpyHtoD)(s->scale, &one, sizeof(one));
    reset_code();
    cu(cuCtxSynchronize)();
    for (int t = 0; t < FUZZ_THREADS; t++)
        runners[t].length = runners[t].unexpected = 0;
    for (size_t i = 0; i < program->n; i++)
        threads = program->ops[i].thread < threads ? threads : program->ops[i].thread + 1;
    if (threads > 1) {
        pthread_mutex_lock(&pool.mutex);
        for (int t = 1; t < threads; t++)
            pool.round[t]++;
        pool.running = (unsigned int)threads - 1;
        pthread_cond_broadcast(&pool.changed);
        pthread_mutex_unlock(&pool.mutex);
    }
    run_thread(&runners[0]);
    if (threads > 1) {
        pthread_mutex_lock(&pool.mutex);
        while (pool.running)
            pthread_cond_wait(&pool.changed, &pool.mutex);
        pthread_mutex_unlock(&pool.mutex);
    }
    finish(&runners[0]);
    for (int t = FUZZ_THREADS - 1; t >= 0; t--) {
        outcome.digest = fuzz_hash(outcome.digest, runners[t].text, runners[t].length);
        outcome.unexpected += runners[t].unexpected;
        if (log && runners[t].length)
            fwrite(runners[t].text, 1, runners[t].length, log);
    }
    return outcome;
}
