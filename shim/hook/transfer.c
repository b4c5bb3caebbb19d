/* Asynchronous memsets and copies: held when both sides are certain, else passed to the driver. */
#include <stdlib.h>
#include <string.h>

#include "shim/hook/hook.h"

/* What a pointer is, as far as a graph node depends on it. */
struct place {
    uint32_t type; /* CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST for pinned memory, 0 when not certain */
    int32_t device;
    CUcontext owner;
    CUmemoryPool pool;
};

/* Classifies a whole range; type 0 when anything about it is uncertain. */
static struct place classify(CUdeviceptr pointer, size_t bytes, CUdevice device)
{
    CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,      CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,   CU_POINTER_ATTRIBUTE_CONTEXT,
                                        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                        CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE};
    struct place place = {0, -1, NULL, NULL};
    uint32_t type = 0, managed = 0;
    CUdeviceptr start = 0;
    size_t size = 0;
    void *values[] = {&type, &managed, &place.device, &place.owner, &start, &size, &place.pool};
    if (ag_real.cuPointerGetAttributes(sizeof attributes / sizeof attributes[0], attributes, values, pointer) !=
                CUDA_SUCCESS ||
        managed != 0 || start == 0 || pointer < start || pointer - start > size || bytes > size - (pointer - start))
        return (struct place){0, -1, NULL, NULL};
    if (type == CU_MEMORYTYPE_HOST)
        return (struct place){CU_MEMORYTYPE_HOST, -1, place.owner, NULL};
    if (type != CU_MEMORYTYPE_DEVICE || place.device != device)
        return (struct place){0, -1, NULL, NULL};
    place.type = type;
    return place;
}

struct key {
    uint32_t element;
    struct place target, source;
};

/* Holds the op of a key when it is known; otherwise forwards it through submit and learns. */
struct transfer {
    CUstream stream;
    bool ptsz;
    enum ag_op_kind kind;
    struct key key;
    const void *record;
    uint32_t record_size;
};

/* True when held, with *result set. Otherwise the caller forwards and calls learn(). */
static bool hold(const struct transfer *t, CUresult *result)
{
    struct ag_window *w = ag_window_enter(t->stream, t->ptsz);
    if (w == NULL)
        return false;
    bool legacy = w->legacy, blocking = w->blocking;
    ag_lock_release(&w->lock);
    ag_order_legacy(legacy, blocking);
    w = ag_window_enter(t->stream, t->ptsz);
    if (w == NULL)
        return false;
    struct ag_token *token = ag_token_intern(&w->table, t->kind, &t->key, sizeof t->key, t->record_size, NULL);
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
        ag_hook_passed(AG_BYPASS_stream);
        return;
    }
    struct ag_token *token = ag_token_intern(&w->table, t->kind, &t->key, sizeof t->key, t->record_size, NULL);
    struct ag_site *site = token != NULL ? token->user : NULL;
    if (token != NULL && site == NULL && (site = calloc(1, sizeof *site)) != NULL) {
        site->token = token;
        site->accepted = true;
        site->element = t->key.element;
        site->from_host = t->key.source.type == CU_MEMORYTYPE_HOST;
        token->user = site;
    }
    unsigned char *record = site != NULL ? ag_window_record(w, t->record_size) : NULL;
    if (record != NULL) {
        memcpy(record, t->record, t->record_size);
        w->stats.count[AG_BYPASS_first]++;
        ag_window_add(w, token, false);
    } else {
        ag_hook_passed(AG_BYPASS_first);
    }
    ag_lock_release(&w->lock);
}

/* Whether an op on this stream may be held at all; fills the device. */
static bool may_hold(CUstream stream, bool ptsz, CUdevice *device, enum ag_stat *why)
{
    if (!ag_hook_may_hold(why))
        return false;
    *why = AG_BYPASS_stream;
    if (stream == CU_STREAM_PER_THREAD || (stream == NULL && ptsz))
        return false;
    return ag_real.cuCtxGetDevice(device) == CUDA_SUCCESS;
}

#define MEMSET(symbol, value_type, bytes, per_thread)                                                                  \
    CUresult ag_hook_##symbol(CUdeviceptr dstDevice, value_type value, size_t N, CUstream hStream)                     \
    {                                                                                                                  \
        struct ag_memset_record record = {.target = dstDevice, .count = N, .value = value};                            \
        struct transfer t = {.stream = hStream,                                                                        \
                             .ptsz = per_thread,                                                                       \
                             .kind = AG_OP_MEMSET,                                                                     \
                             .record = &record,                                                                        \
                             .record_size = sizeof record};                                                            \
        enum ag_stat why;                                                                                              \
        CUdevice device;                                                                                               \
        CUresult result;                                                                                               \
        bool certain = may_hold(hStream, per_thread, &device, &why);                                                   \
        if (certain) {                                                                                                 \
            memset(&t.key, 0, sizeof t.key);                                                                           \
            t.key.element = bytes;                                                                                     \
            t.key.target = classify(dstDevice, N * (bytes), device);                                                   \
            why = AG_BYPASS_memory;                                                                                    \
            certain = N > 0 && N < ((size_t)1 << 40) && t.key.target.type == CU_MEMORYTYPE_DEVICE;                     \
        }                                                                                                              \
        if (certain && hold(&t, &result))                                                                              \
            return result;                                                                                             \
        ag_order_stream(hStream, per_thread, AG_FLUSH_copy);                                                           \
        ag_order_all(AG_FLUSH_copy, false);                                                                            \
        result = ag_real.symbol(dstDevice, value, N, hStream);                                                         \
        if (certain && result == CUDA_SUCCESS)                                                                         \
            learn(&t);                                                                                                 \
        else                                                                                                           \
            ag_hook_passed(certain ? AG_BYPASS_memory : why);                                                          \
        return ag_hook_late(result);                                                                                   \
    }                                                                                                                  \
    AG_HOOK_EXPORT(symbol, (CUdeviceptr dstDevice, value_type value, size_t N, CUstream hStream))

MEMSET(cuMemsetD8Async, unsigned char, 1, false)
MEMSET(cuMemsetD8Async_ptsz, unsigned char, 1, true)
MEMSET(cuMemsetD16Async, unsigned short, 2, false)
MEMSET(cuMemsetD16Async_ptsz, unsigned short, 2, true)
MEMSET(cuMemsetD32Async, unsigned int, 4, false)
MEMSET(cuMemsetD32Async_ptsz, unsigned int, 4, true)

/* source may only be pinned memory where the call allows it. */
#define COPY(symbol, params, target_value, source_value, size_value, from_host, from_device, per_thread, args)         \
    CUresult ag_hook_##symbol params                                                                                   \
    {                                                                                                                  \
        struct ag_copy_record record = {.target = (target_value), .source = (source_value), .bytes = (size_value)};    \
        struct transfer t = {.stream = hStream,                                                                        \
                             .ptsz = per_thread,                                                                       \
                             .kind = AG_OP_COPY,                                                                       \
                             .record = &record,                                                                        \
                             .record_size = sizeof record};                                                            \
        enum ag_stat why;                                                                                              \
        CUdevice device;                                                                                               \
        CUresult result;                                                                                               \
        bool certain = may_hold(hStream, per_thread, &device, &why);                                                   \
        if (certain) {                                                                                                 \
            memset(&t.key, 0, sizeof t.key);                                                                           \
            t.key.target = classify(record.target, record.bytes, device);                                              \
            t.key.source = classify(record.source, record.bytes, device);                                              \
            why = AG_BYPASS_memory;                                                                                    \
            certain = record.bytes > 0 && t.key.target.type == CU_MEMORYTYPE_DEVICE &&                                 \
                      ((from_host && t.key.source.type == CU_MEMORYTYPE_HOST) ||                                       \
                       (from_device && t.key.source.type == CU_MEMORYTYPE_DEVICE));                                    \
        }                                                                                                              \
        if (certain && hold(&t, &result))                                                                              \
            return result;                                                                                             \
        ag_order_stream(hStream, per_thread, AG_FLUSH_copy);                                                           \
        ag_order_all(AG_FLUSH_copy, false);                                                                            \
        result = ag_real.symbol args;                                                                                  \
        if (certain && result == CUDA_SUCCESS)                                                                         \
            learn(&t);                                                                                                 \
        else                                                                                                           \
            ag_hook_passed(certain ? AG_BYPASS_memory : why);                                                          \
        return ag_hook_late(result);                                                                                   \
    }                                                                                                                  \
    AG_HOOK_EXPORT(symbol, params)

COPY(cuMemcpyAsync, (CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream), dst, src, ByteCount, true,
     true, false, (dst, src, ByteCount, hStream))
COPY(cuMemcpyAsync_ptsz, (CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream), dst, src, ByteCount,
     true, true, true, (dst, src, ByteCount, hStream))
COPY(cuMemcpyDtoDAsync_v2, (CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream), dst, src, ByteCount,
     false, true, false, (dst, src, ByteCount, hStream))
COPY(cuMemcpyDtoDAsync_v2_ptsz, (CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream), dst, src,
     ByteCount, false, true, true, (dst, src, ByteCount, hStream))
COPY(cuMemcpyHtoDAsync_v2, (CUdeviceptr dst, const void *src, size_t ByteCount, CUstream hStream), dst,
     (CUdeviceptr)src, ByteCount, true, false, false, (dst, src, ByteCount, hStream))
COPY(cuMemcpyHtoDAsync_v2_ptsz, (CUdeviceptr dst, const void *src, size_t ByteCount, CUstream hStream), dst,
     (CUdeviceptr)src, ByteCount, true, false, true, (dst, src, ByteCount, hStream))
