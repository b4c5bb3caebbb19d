/* Asynchronous memsets and copies: held when both sides are certain, else passed to the driver. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "shim/hook/hook.h"
#include "shim/trace/shadow.h"
#include "shim/trace/trace.h"

/* What a pointer is, as far as a graph node depends on it. */
struct place {
    uint32_t type; /* CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST for pinned memory, 0 when not certain */
    int32_t device;
    CUcontext owner;
    CUmemoryPool pool;
};

/* The attributes of mappings, last in the list of all. */
#define MAPPING_ATTRIBUTES 2

/* Whether an operation lies within [start, start + size). */
static bool within(CUdeviceptr pointer, size_t bytes, CUdeviceptr start, size_t size)
{
    return start != 0 && pointer >= start && pointer - start <= size && bytes <= size - (pointer - start);
}

/* Classifies a whole range; type 0 when anything about it is uncertain. */
static struct place classify(CUdeviceptr pointer, size_t bytes, CUdevice device)
{
    static const struct place uncertain = {0, -1, NULL, NULL};
    static atomic_bool without_mappings; /* the driver answers nothing when it is asked about them too */
    CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,       CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,    CU_POINTER_ATTRIBUTE_CONTEXT,
                                        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,  CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                        CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE,    CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
                                        CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, CU_POINTER_ATTRIBUTE_MAPPING_SIZE};
    const unsigned count = sizeof attributes / sizeof attributes[0];
    struct place place = uncertain;
    uint32_t type = 0, managed = 0, synchronous = 0;
    CUdeviceptr start = 0, mapping = 0;
    size_t size = 0, mapped = 0;
    void *values[] = {&type, &managed,    &place.device, &place.owner, &start,
                      &size, &place.pool, &synchronous,  &mapping,     &mapped};
    bool told = !atomic_load_explicit(&without_mappings, memory_order_relaxed) &&
                ag_real.cuPointerGetAttributes(count, attributes, values, pointer) == CUDA_SUCCESS;
    if (!told) {
        if (ag_real.cuPointerGetAttributes(count - MAPPING_ATTRIBUTES, attributes, values, pointer) != CUDA_SUCCESS)
            return uncertain;
        atomic_store_explicit(&without_mappings, true, memory_order_relaxed);
        mapped = 0;
        /* mapped memory belongs to no context and no pool; its range is the reservation, mapped or not */
        if (place.owner == NULL && place.pool == NULL)
            return uncertain;
    }
    if (managed != 0 || synchronous != 0 || !within(pointer, bytes, start, size) ||
        (mapped != 0 && !within(pointer, bytes, mapping, mapped)))
        return uncertain;
    /* host memory of a pool ends in ways that ag_window_forget_pinned() is not told of */
    if (type == CU_MEMORYTYPE_HOST && place.pool == NULL)
        return (struct place){CU_MEMORYTYPE_HOST, -1, place.owner, NULL};
    if (type != CU_MEMORYTYPE_DEVICE || place.device != device)
        return uncertain;
    place.type = type;
    return place;
}

struct key {
    uint32_t element;
    struct place target, source;
};

/* A call on its way: begin() holds it, or says how it goes past; end() learns from the driver's answer. */
struct transfer {
    const char *call;
    CUstream stream;
    bool ptsz;
    enum ag_op_kind kind;
    uint32_t element; /* bytes of a memset's element */
    uint32_t sources; /* kinds of memory that a copy may read from: SOURCE() of memory types, or 0 for a memset */
    CUdeviceptr target, source;
    size_t bytes;           /* 0: not to be held */
    uint64_t second, third; /* the call's arguments after the target, as the trace notes them */
    const void *record;
    uint32_t record_size;
    /* begin()'s findings */
    bool certain;
    enum ag_stat why;         /* when not certain */
    enum ag_trace_hold could; /* when not certain, for the trace */
    struct key key;
};

#define SOURCE(type) (1u << (type))

/* Elements from which a memset is never held; below it its bytes cannot overflow. */
#define MEMSET_MAX ((size_t)1 << 40)

/* Whether the driver would certainly take the op and a node could hold it; fills the key. */
static bool recordable(struct transfer *t, enum ag_stat *why)
{
    CUdevice device;
    *why = AG_BYPASS_stream;
    if (t->stream == CU_STREAM_PER_THREAD || (t->stream == NULL && t->ptsz) ||
        ag_real.cuCtxGetDevice(&device) != CUDA_SUCCESS)
        return false;
    *why = AG_BYPASS_memory;
    memset(&t->key, 0, sizeof t->key);
    t->key.element = t->element;
    if (t->bytes == 0 || (t->element > 1 && t->target % t->element != 0))
        return false;
    t->key.target = classify(t->target, t->bytes, device);
    if (t->key.target.type != CU_MEMORYTYPE_DEVICE)
        return false;
    if (t->sources == 0)
        return true;
    t->key.source = classify(t->source, t->bytes, device);
    return t->key.source.type != 0 && (t->sources & SOURCE(t->key.source.type)) != 0;
}

/* The same, and it may be held now. */
static bool certain(struct transfer *t)
{
    if (!ag_hook_may_hold(&t->why))
        return false;
    t->why = AG_BYPASS_rest;
    return !ag_window_rests() && recordable(t, &t->why);
}

static void trace(const struct transfer *t, enum ag_trace_hold could)
{
    ag_trace_transfer(t->call, t->stream, t->ptsz, (uint64_t[]){t->target, t->second, t->third}, could);
}

static enum ag_trace_hold recordable_from(const struct transfer *t)
{
    return t->key.source.type == CU_MEMORYTYPE_HOST ? AG_TRACE_HOLD_FROM_HOST : AG_TRACE_HOLD_YES;
}

/* What the trace says of an op that is not held: the same judgement, where it was not made because nothing is held just
 * now. Fills the key. Where nothing is held for the driver's or a tool's sake, they are not asked. */
static enum ag_trace_hold judge(struct transfer *t)
{
    enum ag_stat unused;
    if (ag_window_inside || atomic_load(&ag_window_captures) > 0)
        return AG_TRACE_HOLD_NO;
    switch (t->why) {
    case AG_BYPASS_mode:
    case AG_BYPASS_alternate:
    case AG_BYPASS_rest:
        return recordable(t, &unused) ? recordable_from(t) : AG_TRACE_HOLD_NO;
    case AG_BYPASS_blind:
    case AG_BYPASS_tool:
    case AG_BYPASS_driver:
        return AG_TRACE_HOLD_UNSAID;
    default:
        return AG_TRACE_HOLD_NO;
    }
}

/* True when the op is known and now held, with *result set. */
static bool hold(const struct transfer *t, CUresult *result)
{
    struct ag_window *w = ag_order_enter(t->stream, t->ptsz);
    if (ag_trace_on())
        trace(t, w != NULL ? recordable_from(t) : AG_TRACE_HOLD_NO);
    if (w == NULL)
        return false;
    const struct ag_token *token = ag_token_find(&w->table, t->kind, &t->key, sizeof t->key);
    unsigned char *record = NULL;
    if (token != NULL && token->user != NULL)
        record = ag_window_record(w, t->record_size);
    if (record != NULL) {
        memcpy(record, t->record, t->record_size);
        *result = ag_window_add(w, token, true);
    }
    ag_lock_release(&w->lock);
    return record != NULL;
}

/* The driver has taken an op that could be held the next time. */
static void learn(const struct transfer *t)
{
    struct ag_window *w = ag_window_enter(t->stream, t->ptsz);
    if (w == NULL) {
        ag_stats_passed(AG_BYPASS_stream);
        return;
    }
    struct ag_token *token = ag_token_intern(&w->table, t->kind, &t->key, sizeof t->key, t->record_size, NULL);
    struct ag_site *site = token != NULL ? token->user : NULL;
    if (token != NULL && site == NULL && (site = calloc(1, sizeof *site)) != NULL) {
        site->token = token;
        site->element = (uint8_t)t->key.element;
        site->from_host = t->key.source.type == CU_MEMORYTYPE_HOST;
        if (site->from_host)
            atomic_store(&w->pinned, true);
        token->mix = ag_token_transfer_mix(t->kind, site->element, site->from_host);
        token->user = site;
    }
    unsigned char *record = site != NULL ? ag_window_record(w, t->record_size) : NULL;
    if (record != NULL) {
        memcpy(record, t->record, t->record_size);
        w->stats.count[AG_BYPASS_first]++;
        ag_window_add(w, token, false);
    } else {
        ag_stats_passed(AG_BYPASS_first);
    }
    ag_lock_release(&w->lock);
}

/* True when the call is done, with *result set; otherwise the driver is to be asked now, everything before is
 * submitted. */
static bool begin(struct transfer *t, CUresult *result)
{
    t->certain = certain(t);
    if (!t->certain && ag_trace_on())
        trace(t, t->could = judge(t));
    if (t->certain && hold(t, result))
        return true;
    ag_order_stream(t->stream, t->ptsz, AG_FLUSH_copy);
    ag_order_all(AG_FLUSH_copy, AG_WAIT_NO);
    return false;
}

/* Only for a trace is the driver asked what kind of memory it is; else copies that may read host memory are taken for
 * passed. */
static void shadow(const struct transfer *t)
{
    bool from_host = t->could == AG_TRACE_HOLD_FROM_HOST;
    uint32_t key[3] = {t->element, t->sources, from_host};
    bool passed = t->could != AG_TRACE_HOLD_UNSAID ? t->could == AG_TRACE_HOLD_NO
                                                   : t->bytes == 0 || (t->sources & SOURCE(CU_MEMORYTYPE_HOST)) != 0;
    if (passed || atomic_load(&ag_window_captures) > 0) {
        ag_shadow_pass();
        return;
    }
    struct ag_sim_op op = {.kind = t->kind,
                           .key = key,
                           .key_size = sizeof key,
                           .mix = ag_token_transfer_mix(t->kind, t->element, from_host),
                           .record = t->record,
                           .record_size = t->record_size};
    ag_shadow_launch(t->stream, t->ptsz, &op);
}

static CUresult end(const struct transfer *t, CUresult result)
{
    if (ag_shadow_on() && result == CUDA_SUCCESS && !ag_shadow_rests())
        shadow(t);
    if (t->certain && result == CUDA_SUCCESS)
        learn(t);
    else
        ag_stats_passed(t->certain ? AG_BYPASS_memory : t->why);
    return ag_hook_late(result);
}

#define MEMSET(symbol, value_type, size, per_thread)                                                                   \
    CUresult ag_hook_##symbol(CUdeviceptr dstDevice, value_type value, size_t N, CUstream hStream)                     \
    {                                                                                                                  \
        struct ag_memset_record record = {.target = dstDevice, .count = N, .value = value};                            \
        struct transfer t = {.call = #symbol,                                                                          \
                             .second = value,                                                                          \
                             .third = N,                                                                               \
                             .stream = hStream,                                                                        \
                             .ptsz = per_thread,                                                                       \
                             .kind = AG_OP_MEMSET,                                                                     \
                             .element = size,                                                                          \
                             .target = dstDevice,                                                                      \
                             .bytes = N < MEMSET_MAX ? N * (size) : 0,                                                 \
                             .record = &record,                                                                        \
                             .record_size = sizeof record};                                                            \
        CUresult result;                                                                                               \
        return begin(&t, &result) ? result : end(&t, AG_HOOK_FORWARD(symbol)(dstDevice, value, N, hStream));           \
    }                                                                                                                  \
    AG_HOOK_EXPORT(symbol, (CUdeviceptr dstDevice, value_type value, size_t N, CUstream hStream))

MEMSET(cuMemsetD8Async, unsigned char, 1, false)
MEMSET(cuMemsetD8Async_ptsz, unsigned char, 1, true)
MEMSET(cuMemsetD16Async, unsigned short, 2, false)
MEMSET(cuMemsetD16Async_ptsz, unsigned short, 2, true)
MEMSET(cuMemsetD32Async, unsigned int, 4, false)
MEMSET(cuMemsetD32Async_ptsz, unsigned int, 4, true)

#define COPY(symbol, params, to, from, size, readable, per_thread, args)                                               \
    CUresult ag_hook_##symbol params                                                                                   \
    {                                                                                                                  \
        struct ag_copy_record record = {.target = (to), .source = (from), .bytes = (size)};                            \
        struct transfer t = {.call = #symbol,                                                                          \
                             .second = (from),                                                                         \
                             .third = (size),                                                                          \
                             .stream = hStream,                                                                        \
                             .ptsz = per_thread,                                                                       \
                             .kind = AG_OP_COPY,                                                                       \
                             .sources = readable,                                                                      \
                             .target = (to),                                                                           \
                             .source = (from),                                                                         \
                             .bytes = (size),                                                                          \
                             .record = &record,                                                                        \
                             .record_size = sizeof record};                                                            \
        CUresult result;                                                                                               \
        return begin(&t, &result) ? result : end(&t, AG_HOOK_FORWARD(symbol) args);                                    \
    }                                                                                                                  \
    AG_HOOK_EXPORT(symbol, params)

#define PINNED SOURCE(CU_MEMORYTYPE_HOST)
#define DEVICE SOURCE(CU_MEMORYTYPE_DEVICE)

COPY(cuMemcpyAsync, (CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream), dst, src, ByteCount,
     PINNED | DEVICE, false, (dst, src, ByteCount, hStream))
COPY(cuMemcpyAsync_ptsz, (CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream), dst, src, ByteCount,
     PINNED | DEVICE, true, (dst, src, ByteCount, hStream))
COPY(cuMemcpyDtoDAsync_v2, (CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream), dst, src, ByteCount,
     DEVICE, false, (dst, src, ByteCount, hStream))
COPY(cuMemcpyDtoDAsync_v2_ptsz, (CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream), dst, src,
     ByteCount, DEVICE, true, (dst, src, ByteCount, hStream))
COPY(cuMemcpyHtoDAsync_v2, (CUdeviceptr dst, const void *src, size_t ByteCount, CUstream hStream), dst,
     (CUdeviceptr)src, ByteCount, PINNED, false, (dst, src, ByteCount, hStream))
COPY(cuMemcpyHtoDAsync_v2_ptsz, (CUdeviceptr dst, const void *src, size_t ByteCount, CUstream hStream), dst,
     (CUdeviceptr)src, ByteCount, PINNED, true, (dst, src, ByteCount, hStream))
