/* Kernel launches: held, or passed to the driver. */
#include <stdlib.h>
#include <string.h>

#include "shim/base/log.h"
#include "shim/hook/hook.h"
#include "shim/hook/launch.h"
#include "shim/hook/limit.h"
#include "shim/hook/nested.h"
#include "shim/hook/observe.h"
#include "shim/trace/trace.h"

/* The first op that could be held: judges the driver. */
static int decide(void)
{
    int now = AG_BYPASS_UNDECIDED, bypass = ag_real_suffices() ? 0 : AG_BYPASS_driver;
    if (!atomic_compare_exchange_strong(&ag_window_bypass, &now, bypass))
        return now;
    if (bypass != 0)
        ag_log(AG_LOG_INFO, "the driver is too old (%d) or lacks a call: nothing is held", ag_real_version());
    return bypass;
}

bool ag_hook_may_hold(enum ag_stat *why)
{
    int bypass = atomic_load_explicit(&ag_window_bypass, memory_order_relaxed);
    if (__builtin_expect(bypass == AG_BYPASS_UNDECIDED, 0))
        bypass = decide();
    if (__builtin_expect(bypass != 0, 0)) {
        *why = (enum ag_stat)bypass;
        return false;
    }
    if (__builtin_expect(ag_window_inside, 0)) {
        *why = AG_BYPASS_host;
        return false;
    }
    if (__builtin_expect(atomic_load_explicit(&ag_window_captures, memory_order_relaxed) > 0, 0)) {
        *why = AG_BYPASS_capture;
        return false;
    }
    return true;
}

static CUresult forward_once(const struct launch *l)
{
    ag_lock_expect(AG_RANK_NONE);
    if (l->attributes == NULL && l->attribute_count == 0)
        return (l->ptsz ? ag_real.cuLaunchKernel_ptsz
                        : ag_real.cuLaunchKernel)(l->function, l->grid[0], l->grid[1], l->grid[2], l->block[0],
                                                  l->block[1], l->block[2], l->shared, l->stream, l->params, l->extra);
    CUlaunchConfig config = {.gridDimX = l->grid[0],
                             .gridDimY = l->grid[1],
                             .gridDimZ = l->grid[2],
                             .blockDimX = l->block[0],
                             .blockDimY = l->block[1],
                             .blockDimZ = l->block[2],
                             .sharedMemBytes = l->shared,
                             .hStream = l->stream,
                             .attrs = (CUlaunchAttribute *)(uintptr_t)l->attributes,
                             .numAttrs = l->attribute_count};
    return (l->ptsz ? ag_real.cuLaunchKernelEx_ptsz : ag_real.cuLaunchKernelEx)(&config, l->function, l->params,
                                                                                l->extra);
}

/* The first launch of a function loads its code, and one that needs more local memory than any before enlarges it. */
static CUresult forward(const struct launch *l)
{
    CUresult result = forward_once(l);
    return ag_hook_again(result) ? forward_once(l) : result;
}

static void free_site(const struct ag_site *site)
{
    free(site->attributes);
    free(site->params);
}

/* Makes the site of a launch that the driver has just accepted. The caller has the lock. */
static struct ag_token *make_token(struct ag_window *w, const struct launch *l, const struct key *key, bool nested)
{
    struct ag_site probe = {.function = l->function};
    struct ag_site *site = NULL;
    if (!ag_launch_layout(&probe) ||
        (key->count > 0 && (probe.attributes = calloc(key->count, sizeof(CUlaunchAttribute))) == NULL) ||
        (site = malloc(sizeof *site)) == NULL) {
        free_site(&probe);
        return NULL;
    }
    *site = probe;
    memcpy(site->block, l->block, sizeof site->block);
    for (unsigned i = 0; i < key->count; i++) {
        CUlaunchAttribute *attribute = &site->attributes[site->attribute_count++];
        attribute->id = (CUlaunchAttributeID)key->attributes[i].id;
        memcpy(&attribute->value, key->attributes[i].value, sizeof key->attributes[i].value);
        if (attribute->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
            memcpy(site->cluster, key->attributes[i].value, sizeof site->cluster);
        if (attribute->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION && key->attributes[i].value[0] != 0)
            site->overlaps = true;
    }
    if (nested)
        site->cluster[0] = AG_SITE_NESTED;
    uint32_t record = ag_record_round(sizeof(struct ag_kernel_record) + site->argument_bytes);
    struct ag_token *token = ag_token_intern(&w->table, AG_OP_KERNEL, key, ag_launch_key_size(key), record, NULL);
    if (token == NULL || token->user != NULL) {
        free_site(site);
        free(site);
        return token;
    }
    site->token = token;
    site->owner = ag_known_owner(l->function, site->is_kernel);
    site->limit = ag_limit_of(l->function, w->device);
    site->limit_forgotten = atomic_load(&site->limit->forgotten);
    ag_known_set_loaded(l->function);
    uint64_t mix = ag_launch_mix(site, key);
    if (mix != 0)
        token->mix = mix;
    token->user = site;
    return token;
}

static unsigned cache_index(const struct launch *l)
{
    uint64_t h = ((uint64_t)(uintptr_t)l->function >> 4) + l->block[0] * 0x9e3779b9u + l->block[1] * 0x85ebca6bu +
                 l->block[2] * 0xc2b2ae35u + l->attribute_count * 77u;
    return (unsigned)((h * 0x9e3779b97f4a7c15u) >> 56) % AG_SITE_CACHE;
}

/* The token of a launch when it is known. */
static struct ag_token *find_token(struct ag_window *w, const struct launch *l, const struct key *key, unsigned index)
{
    struct ag_token *token = w->cache[index];
    if (token != NULL) {
        const struct ag_site *site = token->user;
        if (site->function == l->function && site->attribute_count == 0 && key == NULL &&
            memcmp(site->block, l->block, sizeof site->block) == 0)
            return token;
    }
    struct key own;
    if (key == NULL) {
        ag_launch_key(l, &own);
        key = &own;
    }
    token = ag_token_find(&w->table, AG_OP_KERNEL, key, ag_launch_key_size(key));
    if (token != NULL && token->user != NULL && ((struct ag_site *)token->user)->attribute_count == 0)
        w->cache[index] = token;
    return token;
}

/* Whether the driver would certainly take the launch, and take it as a node as well. */
static bool acceptable(const struct ag_site *site, const struct launch *l)
{
    const unsigned *grid = l->grid;
    if (grid[0] - 1 >= 0x7fffffffu || grid[1] - 1 >= 65535u || grid[2] - 1 >= 65535u)
        return false;
    if (site->cluster[0] != 0 &&
        (grid[0] % site->cluster[0] != 0 || grid[1] % site->cluster[1] != 0 || grid[2] % site->cluster[2] != 0))
        return false;
    if (l->shared == 0)
        return true;
    if (l->shared > site->shared_accepted)
        return false;
    /* in this order: it becomes unknown after it was counted as forgotten */
    int limit = atomic_load_explicit(&site->limit->program, memory_order_acquire);
    return (limit < 0 || l->shared <= (unsigned)limit) &&
           atomic_load_explicit(&site->limit->forgotten, memory_order_relaxed) == site->limit_forgotten;
}

static bool is_nested(const struct ag_site *site)
{
    return site->cluster[0] == AG_SITE_NESTED;
}

bool ag_launch_arguments(const struct ag_site *site, const struct launch *l, unsigned char *arguments)
{
    if (site->gaps)
        memset(arguments, 0, site->argument_bytes + AG_RECORD_ALIGN - 1 - (site->argument_bytes - 1) % AG_RECORD_ALIGN);
    if (l->params != NULL) {
        if (l->extra != NULL)
            return false;
        for (unsigned i = 0; i < site->param_count; i++) {
            const void *from = l->params[i];
            unsigned char *to = arguments + site->params[i].offset;
            if (from == NULL)
                return false;
            switch (site->params[i].size) {
            case 8:
                memcpy(to, from, 8);
                break;
            case 4:
                memcpy(to, from, 4);
                break;
            default:
                memcpy(to, from, site->params[i].size);
            }
        }
        return true;
    }
    if (l->extra == NULL)
        return site->param_count == 0;
    const void *buffer = NULL;
    size_t size = 0;
    for (void **e = l->extra; *e != CU_LAUNCH_PARAM_END; e += 2) {
        if (*e == CU_LAUNCH_PARAM_BUFFER_POINTER)
            buffer = e[1];
        else if (*e == CU_LAUNCH_PARAM_BUFFER_SIZE)
            size = *(size_t *)e[1];
        else
            return false;
    }
    /* the buffer may end in padding */
    if (buffer == NULL || size < site->argument_bytes || size > site->argument_bytes + 15u)
        return false;
    memcpy(arguments, buffer, site->argument_bytes);
    return true;
}

/* Before a launch goes to the driver: submits what it comes after, and the others too, since the driver may wait while
 * it takes the launch; the program's own limit of shared memory is in force. */
static void before(CUfunction function, unsigned shared, CUstream stream, bool ptsz)
{
    if (atomic_load_explicit(&ag_window_open, memory_order_relaxed) != 0) {
        ag_order_stream(stream, ptsz, AG_FLUSH_launch);
        ag_order_all(AG_FLUSH_launch, AG_WAIT_NO);
    }
    if (shared > 0)
        ag_limit_enforce(function, shared);
}

static void trace_unread(const struct launch *l)
{
    ag_trace_launch_unread(l->stream, l->ptsz, l->function, l->grid, l->block, l->shared, l->attributes,
                           l->attribute_count);
}

/* Submits what came before and gives the launch to the driver. No window is locked. */
static CUresult pass(const struct launch *l, enum ag_stat why)
{
    if (ag_trace_on() && !ag_shadow_on())
        trace_unread(l);
    before(l->function, l->shared, l->stream, l->ptsz);
    ag_stats_passed(why);
    CUresult result = forward(l);
    if (ag_shadow_on() && !ag_observe(l, result == CUDA_SUCCESS) && ag_trace_on())
        trace_unread(l);
    return ag_hook_late(result);
}

/* A launch that the driver has just taken; its record is clear, and stays so. */
static void trace_first(const struct launch *l, const struct ag_site *site, unsigned char *record)
{
    struct ag_kernel_record kernel = {.grid = {l->grid[0], l->grid[1], l->grid[2]}, .shared = l->shared};
    memcpy(record, &kernel, sizeof kernel);
    if (ag_launch_arguments(site, l, record + sizeof kernel))
        ag_trace_launch(l->stream, l->ptsz, site, record);
    else
        trace_unread(l);
    memset(record, 0, site->token->record_size);
}

/* In a mode that holds nothing, a launch that observe mode need not look at. Kept apart from held launches, which must
 * not pay for it. */
__attribute__((noinline)) static CUresult pass_unseen(const struct launch *l)
{
    ag_stats_passed(AG_BYPASS_mode);
    return ag_hook_late(forward(l));
}

static CUresult launch(const struct launch *l)
{
    enum ag_stat why = AG_BYPASS_stream;
    struct key key;
    if (__builtin_expect(atomic_load_explicit(&ag_window_bypass, memory_order_relaxed) == AG_BYPASS_mode, 0))
        return ag_shadow_on() && !ag_shadow_rests() ? pass(l, AG_BYPASS_mode) : pass_unseen(l);
    if (ag_window_rests())
        return pass(l, AG_BYPASS_rest);
    bool plain = l->attribute_count == 0;
    if (!ag_hook_may_hold(&why) || (!plain && !ag_launch_key(l, &key)))
        return pass(l, !plain && why == AG_BYPASS_stream ? AG_BYPASS_attribute : why);
    struct ag_window *w = ag_order_enter(l->stream, l->ptsz);
    if (w == NULL)
        return pass(l, why);
    unsigned index = cache_index(l);
    struct ag_token *token = find_token(w, l, plain ? NULL : &key, index);
    struct ag_site *site = token != NULL ? token->user : NULL;
    if (site != NULL && acceptable(site, l)) {
        unsigned char *record = ag_window_record(w, token->record_size);
        if (record != NULL && ag_launch_arguments(site, l, record + sizeof(struct ag_kernel_record))) {
            struct ag_kernel_record *kernel = (struct ag_kernel_record *)(void *)record;
            memcpy(kernel->grid, l->grid, sizeof kernel->grid);
            kernel->shared = l->shared;
            if (ag_trace_on())
                ag_trace_launch(l->stream, l->ptsz, site, record);
            CUresult result = ag_window_add(w, token, true);
            ag_lock_release(&w->lock);
            return result;
        }
        ag_lock_release(&w->lock);
        return pass(l, AG_BYPASS_limit);
    }
    bool nested = site != NULL && is_nested(site);
    ag_lock_release(&w->lock);
    if (nested)
        return pass(l, AG_BYPASS_nested);

    /* not certain that the driver takes it: ask it, and learn from the answer */
    before(l->function, l->shared, l->stream, l->ptsz);
    CUresult result = forward(l);
    nested = result == CUDA_SUCCESS && ag_nested(l->function);
    w = ag_window_enter(l->stream, l->ptsz);
    if (w == NULL || result != CUDA_SUCCESS) {
        if (w != NULL)
            ag_lock_release(&w->lock);
        if (ag_trace_on())
            trace_unread(l);
        ag_stats_passed(AG_BYPASS_limit);
        return ag_hook_late(result);
    }
    if (plain)
        ag_launch_key(l, &key);
    token = make_token(w, l, &key, nested);
    unsigned char *record = token != NULL && !nested ? ag_window_record(w, token->record_size) : NULL;
    if (record != NULL) {
        site = token->user;
        if (l->shared > site->shared_accepted)
            site->shared_accepted = l->shared;
        memset(record, 0, token->record_size);
        if (ag_trace_on())
            trace_first(l, site, record);
        w->stats.count[AG_BYPASS_first]++;
        ag_window_add(w, token, false);
    } else {
        if (ag_trace_on())
            trace_unread(l);
        ag_stats_passed(nested ? AG_BYPASS_nested : AG_BYPASS_limit);
    }
    ag_lock_release(&w->lock);
    return ag_hook_late(result);
}

#define LAUNCH_KERNEL(symbol, per_thread)                                                                              \
    CUresult ag_hook_##symbol(CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,       \
                              unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,                  \
                              unsigned int sharedMemBytes, CUstream hStream, void **kernelParams, void **extra)        \
    {                                                                                                                  \
        return launch(&(struct launch){.function = f,                                                                  \
                                       .grid = {gridDimX, gridDimY, gridDimZ},                                         \
                                       .block = {blockDimX, blockDimY, blockDimZ},                                     \
                                       .shared = sharedMemBytes,                                                       \
                                       .stream = hStream,                                                              \
                                       .params = kernelParams,                                                         \
                                       .extra = extra,                                                                 \
                                       .ptsz = per_thread});                                                           \
    }                                                                                                                  \
    AG_HOOK_EXPORT(symbol, (CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,         \
                            unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,                    \
                            unsigned int sharedMemBytes, CUstream hStream, void **kernelParams, void **extra))

LAUNCH_KERNEL(cuLaunchKernel, false)
LAUNCH_KERNEL(cuLaunchKernel_ptsz, true)

static CUresult launch_ex(const CUlaunchConfig *config, CUfunction f, void **params, void **extra, bool ptsz)
{
    if (config == NULL || (config->numAttrs > 0 && config->attrs == NULL)) {
        ag_order_all(AG_FLUSH_launch, AG_WAIT_SOME);
        return (ptsz ? ag_real.cuLaunchKernelEx_ptsz : ag_real.cuLaunchKernelEx)(config, f, params, extra);
    }
    return launch(&(struct launch){.function = f,
                                   .grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
                                   .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
                                   .shared = config->sharedMemBytes,
                                   .stream = config->hStream,
                                   .params = params,
                                   .extra = extra,
                                   .attributes = config->attrs,
                                   .attribute_count = config->numAttrs,
                                   .ptsz = ptsz});
}

#define LAUNCH_EX(symbol, per_thread)                                                                                  \
    CUresult ag_hook_##symbol(const CUlaunchConfig *config, CUfunction f, void **kernelParams, void **extra)           \
    {                                                                                                                  \
        return launch_ex(config, f, kernelParams, extra, per_thread);                                                  \
    }                                                                                                                  \
    AG_HOOK_EXPORT(symbol, (const CUlaunchConfig *config, CUfunction f, void **kernelParams, void **extra))

LAUNCH_EX(cuLaunchKernelEx, false)
LAUNCH_EX(cuLaunchKernelEx_ptsz, true)

#define COOPERATIVE(symbol)                                                                                            \
    AG_HOOK_FORWARD(symbol)                                                                                            \
    (f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes, hStream, kernelParams)

/* Whether all blocks fit at once is answered at the call, so it is never held. */
#define LAUNCH_COOPERATIVE(symbol, per_thread)                                                                         \
    CUresult ag_hook_##symbol(CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,       \
                              unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,                  \
                              unsigned int sharedMemBytes, CUstream hStream, void **kernelParams)                      \
    {                                                                                                                  \
        before(f, sharedMemBytes, hStream, per_thread);                                                                \
        CUresult result = COOPERATIVE(symbol);                                                                         \
        return ag_hook_late(ag_hook_again(result) ? COOPERATIVE(symbol) : result);                                     \
    }                                                                                                                  \
    AG_HOOK_EXPORT(symbol, (CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,         \
                            unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,                    \
                            unsigned int sharedMemBytes, CUstream hStream, void **kernelParams))

LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel, false)
LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel_ptsz, true)
