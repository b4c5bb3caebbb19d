#include "shim/hook/memory.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <utlist.h>

#include "shim/base/visit.h"
#include "shim/hook/hook.h"

/* Bytes that are read at a time, when pieces are not larger. */
#define PORTION ((size_t)4 << 20)

/* How long a stream in which memory is freed may take to get there. Waiting without an end could be for ever, where
 * the stream itself waits for what the program does next: such a free does not wait. */
#define BUSY_MS 3000

/* ---- calls of our own, which the program's captures and current context must not notice ---- */

struct own_calls {
    struct ag_visit visit;
    CUstreamCaptureMode mode;
    CUstream stream;
    unsigned char *buffer;
    bool entered;
};

/* False: no call can be made in the context. own_end() in any case. */
static bool own_begin(struct own_calls *own, CUcontext ctx)
{
    *own = (struct own_calls){.mode = CU_STREAM_CAPTURE_MODE_RELAXED};
    own->entered = ag_visit_begin(&own->visit, ctx);
    if (!own->entered)
        return false;
    if (ag_real.cuThreadExchangeStreamCaptureMode(&own->mode) != CUDA_SUCCESS)
        own->mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    if (ag_real.cuStreamCreate(&own->stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS)
        own->stream = NULL;
    return own->stream != NULL;
}

static void own_end(struct own_calls *own)
{
    free(own->buffer);
    if (!own->entered)
        return;
    if (own->stream != NULL)
        ag_real.cuStreamDestroy_v2(own->stream);
    ag_real.cuThreadExchangeStreamCaptureMode(&own->mode);
    ag_visit_end(&own->visit);
}

/* Whether a call of our own may be made at all just now. */
static bool undisturbed(void)
{
    return !ag_window_inside && atomic_load(&ag_window_captures) == 0;
}

static CUcontext current(void)
{
    CUcontext ctx = NULL;
    return ag_real.cuCtxGetCurrent(&ctx) == CUDA_SUCCESS ? ctx : NULL;
}

/* A stream as it is called outside of a function with or without _ptsz. */
static CUstream meant(CUstream stream, bool ptsz)
{
    return stream != NULL ? stream : ptsz ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
}

/* ---- reading ---- */

/* Whether the memory is still what was allocated: it may have ended in a way that is not seen here, such as in a node
 * of a graph, and reading it could then be an error that the context does not recover from. */
static bool is_there(const struct ag_memory_block *block)
{
    CUdeviceptr base;
    size_t bytes;
    unsigned type;
    if (block->kind == AG_MEMORY_VARIABLE)
        return true;
    if (ag_real.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, block->address) != CUDA_SUCCESS)
        return false;
    if (block->kind == AG_MEMORY_MAPPED) {
        unsigned long long access = 0;
        CUmemLocation here = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = block->device};
        return ag_real.cuMemGetAccess(&access, &here, block->address) == CUDA_SUCCESS &&
               access != CU_MEM_ACCESS_FLAGS_PROT_NONE;
    }
    return ag_real.cuMemGetAddressRange_v2(&base, &bytes, block->address) != CUDA_SUCCESS ||
           (base == block->address && bytes >= block->bytes);
}

/* Hashes a portion that begins with a piece. */
static void hash(struct ag_memory_block *block, unsigned shift, size_t at, const unsigned char *bytes, size_t size)
{
    size_t piece = (size_t)1 << shift;
    for (size_t done = 0; done < size; done += piece)
        block->hashes[(at + done) >> shift] =
                ag_memory_hash(0, bytes + done, size - done < piece ? size - done : piece);
}

static enum ag_memory_state read_block(struct own_calls *own, struct ag_memory_block *block)
{
    unsigned shift = ag_memory_shift(block->bytes);
    size_t portion = (size_t)1 << shift > PORTION ? (size_t)1 << shift : PORTION;
    free(own->buffer);
    own->buffer = malloc(portion < block->bytes ? portion : block->bytes);
    block->hashes = calloc(ag_memory_pieces(block->bytes, shift), sizeof *block->hashes);
    if (own->buffer == NULL || block->hashes == NULL || !is_there(block))
        return AG_MEMORY_FAILED;
    for (size_t at = 0; at < block->bytes; at += portion) {
        size_t size = block->bytes - at < portion ? block->bytes - at : portion;
        if (ag_real.cuMemcpyDtoHAsync_v2(own->buffer, block->address + at, size, own->stream) != CUDA_SUCCESS ||
            ag_real.cuStreamSynchronize(own->stream) != CUDA_SUCCESS)
            return AG_MEMORY_FAILED;
        hash(block, shift, at, own->buffer, size);
    }
    return AG_MEMORY_READ;
}

/* Reads the blocks of one context, once its work is complete. */
static void read_context(struct ag_memory_block *list, CUcontext ctx, bool complete)
{
    struct own_calls own;
    struct ag_memory_block *block;
    bool possible = own_begin(&own, ctx) && (complete || ag_real.cuCtxSynchronize() == CUDA_SUCCESS);
    LL_FOREACH(list, block)
    {
        if (block->ctx != ctx || block->visited)
            continue;
        block->visited = true;
        block->state = possible ? read_block(&own, block) : AG_MEMORY_FAILED;
    }
    own_end(&own);
}

/* complete: what it waits for is complete. */
static struct ag_memory_block *read_all(struct ag_memory_block *list, enum ag_memory_when when, bool complete)
{
    struct ag_memory_block *block;
    LL_FOREACH(list, block)
    {
        block->when = when;
        if (undisturbed()) {
            read_context(list, block->ctx, complete);
        } else if (!block->visited) {
            block->visited = true;
            block->state = AG_MEMORY_CAPTURE;
        }
    }
    return list;
}

/* ---- ends ---- */

struct ag_memory_block *ag_memory_before_free(CUdeviceptr address)
{
    return read_all(ag_memory_take(address), AG_MEMORY_FREED, false);
}

static long now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Whether the stream has done within BUSY_MS all that it was given. */
static bool comes_to_an_end(CUstream stream)
{
    CUcontext ctx = current();
    struct own_calls own;
    CUevent event;
    bool special = stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
    if (!special && ag_real.cuStreamGetCtx(stream, &ctx) != CUDA_SUCCESS)
        return false;
    CUresult result = CUDA_ERROR_NOT_READY;
    if (own_begin(&own, ctx) && ag_real.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS) {
        if (ag_real.cuEventRecord(event, stream) == CUDA_SUCCESS) {
            struct timespec pause = {0, 50000};
            long began = now_ms();
            while ((result = ag_real.cuEventQuery(event)) == CUDA_ERROR_NOT_READY && now_ms() - began < BUSY_MS)
                nanosleep(&pause, NULL);
        }
        ag_real.cuEventDestroy_v2(event);
    }
    own_end(&own);
    return result == CUDA_SUCCESS;
}

struct ag_memory_block *ag_memory_before_free_in(CUdeviceptr address, CUstream stream, bool ptsz)
{
    struct ag_memory_block *block = ag_memory_take(address);
    if (block != NULL && undisturbed() && !comes_to_an_end(meant(stream, ptsz))) {
        block->visited = true;
        block->state = AG_MEMORY_BUSY;
        block->when = AG_MEMORY_FREED;
        return block;
    }
    return read_all(block, AG_MEMORY_FREED, true);
}

struct range {
    CUdeviceptr address;
    size_t bytes;
};

static bool in_range(const struct ag_memory_block *block, const void *what)
{
    const struct range *range = what;
    return block->address >= range->address && block->address - range->address < range->bytes;
}

static bool in_context(const struct ag_memory_block *block, const void *what)
{
    return block->ctx == what;
}

static bool on_device(const struct ag_memory_block *block, const void *what)
{
    return block->device == *(const CUdevice *)what;
}

static bool of_owner(const struct ag_memory_block *block, const void *what)
{
    return block->owner == what;
}

static bool any(const struct ag_memory_block *block, const void *what)
{
    (void)block, (void)what;
    return true;
}

struct ag_memory_block *ag_memory_before_unmap(CUdeviceptr address, size_t bytes)
{
    struct range range = {address, bytes};
    return read_all(ag_memory_take_all(in_range, &range), AG_MEMORY_FREED, false);
}

struct ag_memory_block *ag_memory_before_context(CUcontext ctx)
{
    return read_all(ag_memory_take_all(in_context, ctx), AG_MEMORY_CONTEXT, false);
}

struct ag_memory_block *ag_memory_before_primary(CUdevice dev)
{
    return read_all(ag_memory_take_all(on_device, &dev), AG_MEMORY_CONTEXT, false);
}

struct ag_memory_block *ag_memory_before_green(void)
{
    return read_all(ag_memory_take_all(any, NULL), AG_MEMORY_CONTEXT, false);
}

struct ag_memory_block *ag_memory_before_unload(const void *owner)
{
    return owner != NULL ? read_all(ag_memory_take_all(of_owner, owner), AG_MEMORY_CODE, false) : NULL;
}

void ag_memory_after(CUresult result, struct ag_memory_block *gone)
{
    if (result == CUDA_SUCCESS)
        ag_memory_write(gone);
    else
        ag_memory_put_back(gone);
}

void ag_memory_after_release(CUresult result, CUdevice dev, struct ag_memory_block *gone)
{
    unsigned flags;
    int active = 1;
    if (gone == NULL)
        return;
    if (result == CUDA_SUCCESS && ag_real.cuDevicePrimaryCtxGetState(dev, &flags, &active) != CUDA_SUCCESS)
        active = 1;
    if (active)
        ag_memory_put_back(gone);
    else
        ag_memory_write(gone);
}

/* Before the driver's own handlers of exit(), which were registered earlier, when the driver was initialised. */
static void at_exit(void)
{
    ag_order_all(AG_FLUSH_exit, AG_WAIT_SOME);
    ag_memory_write(read_all(ag_memory_take_all(any, NULL), AG_MEMORY_EXIT, false));
    ag_memory_finish();
}

/* ---- beginnings ---- */

static void register_exit(void)
{
    atexit(at_exit);
}

static void add(struct ag_memory_block *block)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_exit);
    block->ctx = current();
    if (ag_real.cuCtxGetDevice(&block->device) != CUDA_SUCCESS)
        block->device = -1;
    ag_memory_add(block);
}

void ag_memory_after_alloc(CUresult result, enum ag_memory_kind kind, const CUdeviceptr *address, size_t bytes)
{
    struct own_calls own;
    if (result != CUDA_SUCCESS || bytes == 0)
        return;
    struct ag_memory_block block = {.address = *address, .bytes = bytes, .kind = kind};
    if (kind == AG_MEMORY_ALLOCATED && undisturbed()) {
        if (own_begin(&own, current()) && ag_real.cuMemsetD8Async(*address, 0, bytes, own.stream) == CUDA_SUCCESS)
            ag_real.cuStreamSynchronize(own.stream);
        own_end(&own);
    }
    add(&block);
}

void ag_memory_after_pitch(CUresult result, const CUdeviceptr *address, const size_t *pitch, size_t rows)
{
    if (result == CUDA_SUCCESS)
        ag_memory_after_alloc(result, AG_MEMORY_ALLOCATED, address, *pitch * rows);
}

void ag_memory_after_alloc_in(CUresult result, const CUdeviceptr *address, size_t bytes, CUstream stream, bool ptsz)
{
    if (result != CUDA_SUCCESS || bytes == 0 || !undisturbed())
        return;
    struct ag_memory_block block = {.address = *address, .bytes = bytes, .kind = AG_MEMORY_POOLED};
    ag_real.cuMemsetD8Async(*address, 0, bytes, meant(stream, ptsz));
    add(&block);
}

void ag_memory_after_name(CUresult result, const CUdeviceptr *address, const size_t *bytes, const void *owner,
                          const char *name)
{
    if (result != CUDA_SUCCESS || address == NULL || bytes == NULL || *bytes == 0)
        return;
    char *copy = strdup(name);
    struct ag_memory_block block = {
            .address = *address, .bytes = *bytes, .kind = AG_MEMORY_VARIABLE, .owner = owner, .name = copy};
    if (copy != NULL)
        add(&block);
    free(copy);
}
