/* Stream-ordered allocation. The address is chosen at the call, from the order of calls seen so far: a block freed in
 * the same stream is reused at once, one freed in another stream only when that free has run. So a free or allocation
 * that overtakes held work shows as two owners of one block. */
#include "tests/sim/core.h"
#include "tests/sim/report.h"

struct block {
    uintptr_t base;
    size_t size;
    int device;
    struct sim_stream *stream; /* referenced: where it was freed */
    struct sim_op *op;         /* referenced: the free */
    struct sim_pool *pool;
    struct block *next;
};
static struct block *freed; /* latest first */

struct sim_pool {
    CUmemoryPool handle;
    int device;
    bool standard;
    uint64_t threshold;
    uint64_t used, used_high;
    int reuse[3];
};
static struct sim_pool *standard[SIM_DEVICES_MAX], *current[SIM_DEVICES_MAX];

static struct sim_pool *make(int device)
{
    struct sim_pool *pool = calloc(1, sizeof(*pool));
    if (!pool)
        return NULL;
    pool->device = device;
    pool->reuse[0] = pool->reuse[1] = pool->reuse[2] = 1;
    pool->handle = sim_handle_make(SIM_POOL, pool);
    return pool;
}

static struct sim_pool *default_pool(int device)
{
    if (!standard[device]) {
        standard[device] = make(device);
        if (standard[device])
            standard[device]->standard = true;
    }
    return standard[device];
}

static struct sim_pool *of(CUmemoryPool handle)
{
    return sim_handle_object(SIM_POOL, handle);
}

static uintptr_t recycle(struct sim_pool *pool, const struct sim_stream *stream, size_t *size)
{
    for (struct block **link = &freed; *link; link = &(*link)->next) {
        struct block *block = *link;
        if (block->pool != pool || block->size < *size || block->size > 2 * *size + 4096)
            continue;
        if (block->stream != stream && !block->op->done)
            continue;
        uintptr_t base = block->base;
        *size = block->size;
        *link = block->next;
        sim_op_release(block->op);
        sim_stream_release(block->stream);
        free(block);
        return base;
    }
    return 0;
}

static void trim(struct sim_pool *pool)
{
    for (struct block **link = &freed; *link;) {
        struct block *block = *link;
        if (block->pool != pool || !block->op->done) {
            link = &block->next;
            continue;
        }
        *link = block->next;
        sim_arena_give(block->device, block->base, block->size);
        sim_op_release(block->op);
        sim_stream_release(block->stream);
        free(block);
    }
}

static CUresult take(CUdeviceptr *out, size_t size, struct sim_pool *pool, CUstream handle)
{
    struct sim_stream *stream;
    CUresult result = sim_stream_find(handle, &stream);
    if (result)
        return result;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    if (stream->capture)
        return CUDA_ERROR_NOT_SUPPORTED;
    result = sim_capture_implicit(stream);
    if (result)
        return result;
    if (!pool) {
        pool = current[stream->ctx->device] ? current[stream->ctx->device] : default_pool(stream->ctx->device);
        if (!pool)
            return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (!size)
        return CUDA_ERROR_INVALID_VALUE;
    size = (size + 511) & ~(size_t)511;
    uintptr_t base = recycle(pool, stream, &size);
    if (!base)
        base = sim_arena_take(pool->device, size);
    if (!base) {
        trim(pool);
        base = sim_arena_take(pool->device, size);
    }
    struct sim_range *range = base ? sim_range_add(base, size, SIM_MEM_DEVICE, stream->ctx) : NULL;
    if (!range)
        return CUDA_ERROR_OUT_OF_MEMORY;
    range->pool = pool->handle;
    range->device = pool->device;
    pool->used += size;
    if (pool->used_high < pool->used)
        pool->used_high = pool->used;
    *out = base;
    sim_log_detail(" size=%zu at=%#zx", size, base);
    return CUDA_SUCCESS;
}

CUresult sim_cuMemAllocAsync(CUdeviceptr *out, size_t size, CUstream stream)
{
    return take(out, size, NULL, stream);
}
SIM_ALSO(cuMemAllocAsync_ptsz, cuMemAllocAsync);

CUresult sim_cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t size, CUmemoryPool handle, CUstream stream)
{
    struct sim_pool *pool = of(handle);
    return pool ? take(out, size, pool, stream) : CUDA_ERROR_INVALID_VALUE;
}
SIM_ALSO(cuMemAllocFromPoolAsync_ptsz, cuMemAllocFromPoolAsync);

CUresult sim_cuMemFreeAsync(CUdeviceptr address, CUstream handle)
{
    struct sim_stream *stream;
    CUresult result = sim_stream_find(handle, &stream);
    if (result)
        return result;
    struct sim_range *range = sim_range_find((uintptr_t)address);
    if (!range || range->base != address || range->kind != SIM_MEM_DEVICE || range->mapped)
        return CUDA_ERROR_INVALID_VALUE;
    if (stream->capture)
        return CUDA_ERROR_NOT_SUPPORTED;
    struct sim_task task = {.kind = SIM_TASK_FREE};
    task.u.free.address = (void *)(uintptr_t)address;
    task.u.free.size = range->size;
    sim_log_detail(" at=%#llx", (unsigned long long)address);
    struct block *block = calloc(1, sizeof(*block));
    struct sim_op *op;
    if (!block)
        return CUDA_ERROR_OUT_OF_MEMORY;
    sim_stream_hold(stream);
    uint64_t id = range->id;
    result = sim_stream_submit(stream, &task, &op);
    range = sim_range_find((uintptr_t)address); /* a full queue lets others in */
    if (result || !range || range->id != id) {
        free(block);
        sim_op_release(result ? NULL : op);
        sim_stream_release(stream);
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    }
    *block = (struct block){.base = range->base,
                            .size = range->size,
                            .device = range->device,
                            .stream = stream,
                            .op = op,
                            .next = freed};
    block->pool = of(range->pool);
    if (!block->pool)
        block->pool = default_pool(range->device);
    block->pool->used -= block->pool->used < range->size ? block->pool->used : range->size;
    freed = block;
    /* From now on the address may not even be asked about. */
    sim_range_remove(range->base);
    return CUDA_SUCCESS;
}
SIM_ALSO(cuMemFreeAsync_ptsz, cuMemFreeAsync);

CUresult sim_cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *props)
{
    if (!out || !props || props->location.type != CU_MEM_LOCATION_TYPE_DEVICE || props->location.id < 0 ||
        props->location.id >= SIM_DEVICES_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    struct sim_pool *pool = make(props->location.id);
    if (!pool)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *out = pool->handle;
    return CUDA_SUCCESS;
}

CUresult sim_cuMemPoolDestroy(CUmemoryPool handle)
{
    struct sim_pool *pool = of(handle);
    if (!pool || pool->standard)
        return CUDA_ERROR_INVALID_VALUE;
    if (current[pool->device] == pool)
        current[pool->device] = NULL;
    trim(pool);
    sim_handle_free(SIM_POOL, handle); /* the object stays: blocks may still name it */
    return CUDA_SUCCESS;
}

CUresult sim_cuMemPoolTrimTo(CUmemoryPool handle, size_t keep)
{
    struct sim_pool *pool = of(handle);
    (void)keep;
    if (!pool)
        return CUDA_ERROR_INVALID_VALUE;
    trim(pool);
    return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetDefaultMemPool(CUmemoryPool *out, CUdevice dev)
{
    if (dev < 0 || dev >= SIM_DEVICES_MAX || !default_pool(dev))
        return CUDA_ERROR_INVALID_DEVICE;
    *out = standard[dev]->handle;
    return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetMemPool(CUmemoryPool *out, CUdevice dev)
{
    CUresult result = sim_cuDeviceGetDefaultMemPool(out, dev);
    if (!result && current[dev])
        *out = current[dev]->handle;
    return result;
}

CUresult sim_cuDeviceSetMemPool(CUdevice dev, CUmemoryPool handle)
{
    struct sim_pool *pool = of(handle);
    if (!pool || pool->device != dev)
        return CUDA_ERROR_INVALID_VALUE;
    current[dev] = pool;
    return CUDA_SUCCESS;
}

CUresult sim_cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value)
{
    struct sim_pool *pool = of(handle);
    if (!pool || !value)
        return CUDA_ERROR_INVALID_VALUE;
    if (attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
        pool->threshold = *(cuuint64_t *)value;
    else if (attribute >= CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES &&
             attribute <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES)
        pool->reuse[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES] = *(int *)value;
    else if (attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH)
        pool->used_high = pool->used;
    return CUDA_SUCCESS;
}

CUresult sim_cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value)
{
    struct sim_pool *pool = of(handle);
    if (!pool || !value)
        return CUDA_ERROR_INVALID_VALUE;
    if (attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
        *(cuuint64_t *)value = pool->threshold;
    else if (attribute >= CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES &&
             attribute <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES)
        *(int *)value = pool->reuse[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES];
    else
        *(cuuint64_t *)value =
                attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH || attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH
                        ? pool->used_high
                        : pool->used;
    return CUDA_SUCCESS;
}
