/* Memory ranges and allocation: device memory from a reserved area per device (first fit, so addresses come back at
 * once), pinned, registered and managed host memory from mmap. Freed device memory is scribbled over. */
#include "tests/sim/config.h"
#include "tests/sim/report.h"

#include <sys/mman.h>

#define DEVICE_ALIGN 512

static struct sim_range **ranges; /* sorted by base */
static size_t n_ranges, cap_ranges;
static uint64_t next_id = 1;

/* ---- the table of ranges ---- */
static size_t position(uintptr_t address)
{
    size_t low = 0, high = n_ranges;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (ranges[mid]->base <= address)
            low = mid + 1;
        else
            high = mid;
    }
    return low; /* number of ranges that begin at or before the address */
}

struct sim_range *sim_range_find(uintptr_t address)
{
    size_t at = position(address);
    if (!at)
        return NULL;
    struct sim_range *range = ranges[at - 1];
    return address - range->base < range->size ? range : NULL;
}

bool sim_range_whole(uintptr_t address, size_t size)
{
    const struct sim_range *range = sim_range_find(address);
    while (range && size > range->size - (address - range->base)) {
        const struct sim_range *next = range->mapped ? sim_range_find(range->base + range->size) : NULL;
        if (!next || !next->mapped || next->reserved != range->reserved)
            return false;
        size -= next->base - address;
        address = next->base;
        range = next;
    }
    return range != NULL;
}

enum sim_memory sim_range_kind(const void *address, size_t size)
{
    return sim_range_whole((uintptr_t)address, size) ? sim_range_find((uintptr_t)address)->kind : SIM_MEM_PAGEABLE;
}

struct sim_range *sim_range_add(uintptr_t base, size_t size, enum sim_memory kind, struct sim_ctx *ctx)
{
    if (n_ranges == cap_ranges) {
        size_t cap = cap_ranges ? 2 * cap_ranges : 64;
        struct sim_range **bigger = realloc(ranges, cap * sizeof(struct sim_range *));
        if (!bigger)
            return NULL;
        ranges = bigger;
        cap_ranges = cap;
    }
    struct sim_range *range = calloc(1, sizeof(*range));
    if (!range)
        return NULL;
    *range = (struct sim_range){
            .base = base, .size = size, .kind = kind, .ctx = ctx, .device = ctx->device, .id = next_id++};
    size_t at = position(base);
    memmove(&ranges[at + 1], &ranges[at], (n_ranges - at) * sizeof(struct sim_range *));
    ranges[at] = range;
    n_ranges++;
    return range;
}

void sim_range_remove(uintptr_t base)
{
    size_t at = position(base);
    if (!at || ranges[at - 1]->base != base)
        return;
    free(ranges[at - 1]);
    memmove(&ranges[at - 1], &ranges[at], (n_ranges - at) * sizeof(struct sim_range *));
    n_ranges--;
}

/* ---- device memory ---- */
struct hole {
    uintptr_t base;
    size_t size;
};
static struct arena {
    uintptr_t base;
    size_t size, used;
    struct hole *holes; /* sorted, never adjacent */
    size_t n_holes, cap_holes;
} arenas[SIM_DEVICES_MAX];

static bool open_arena(struct arena *arena)
{
    if (arena->base)
        return true;
    arena->size = (size_t)sim_config.memory_mb << 20;
    void *area = mmap(NULL, arena->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    arena->holes = calloc(16, sizeof(struct hole));
    if (area == MAP_FAILED || !arena->holes)
        return false;
    arena->cap_holes = 16;
    arena->base = (uintptr_t)area;
    arena->holes[0] = (struct hole){arena->base, arena->size};
    arena->n_holes = 1;
    return true;
}

static size_t rounded(size_t size)
{
    return (size + DEVICE_ALIGN - 1) & ~(size_t)(DEVICE_ALIGN - 1);
}

bool sim_memory_take(int device, size_t size)
{
    struct arena *arena = &arenas[device];
    if (!open_arena(arena) || size > arena->size - arena->used)
        return false;
    arena->used += size;
    return true;
}

void sim_memory_give(int device, size_t size)
{
    arenas[device].used -= size;
}

uintptr_t sim_arena_take(int device, size_t size)
{
    struct arena *arena = &arenas[device];
    size = rounded(size);
    if (!open_arena(arena) || size > arena->size - arena->used)
        return 0;
    for (size_t i = 0; i < arena->n_holes; i++) {
        struct hole *hole = &arena->holes[i];
        if (hole->size < size)
            continue;
        uintptr_t base = hole->base;
        hole->base += size;
        hole->size -= size;
        if (!hole->size)
            memmove(hole, hole + 1, (--arena->n_holes - i) * sizeof(*hole));
        arena->used += size;
        return base;
    }
    return 0;
}

void sim_arena_give(int device, uintptr_t base, size_t size)
{
    struct arena *arena = &arenas[device];
    size = rounded(size);
    arena->used -= size;
    size_t i = 0;
    while (i < arena->n_holes && arena->holes[i].base < base)
        i++;
    bool joins_left = i && arena->holes[i - 1].base + arena->holes[i - 1].size == base;
    bool joins_right = i < arena->n_holes && base + size == arena->holes[i].base;
    if (joins_left && joins_right) {
        arena->holes[i - 1].size += size + arena->holes[i].size;
        memmove(&arena->holes[i], &arena->holes[i + 1], (--arena->n_holes - i) * sizeof(struct hole));
    } else if (joins_left) {
        arena->holes[i - 1].size += size;
    } else if (joins_right) {
        arena->holes[i].base = base;
        arena->holes[i].size += size;
    } else {
        if (arena->n_holes == arena->cap_holes) {
            struct hole *bigger = realloc(arena->holes, 2 * arena->cap_holes * sizeof(struct hole));
            if (!bigger)
                return; /* the hole is lost, nothing else */
            arena->holes = bigger;
            arena->cap_holes *= 2;
        }
        memmove(&arena->holes[i + 1], &arena->holes[i], (arena->n_holes++ - i) * sizeof(struct hole));
        arena->holes[i] = (struct hole){base, size};
    }
}

void sim_scribble(void *address, size_t size)
{
    memset(address, 0xdb, size < 1 << 20 ? size : 1 << 20);
}

/* What every call that allocates or frees needs: a context, and no capture that forbids it. */
static CUresult enter(struct sim_ctx **ctx)
{
    CUresult result = sim_ctx_current(ctx);
    return result ? result : sim_capture_unsafe();
}

CUresult sim_cuMemAlloc_v2(CUdeviceptr *out, size_t size)
{
    struct sim_ctx *ctx;
    CUresult result = enter(&ctx);
    if (result)
        return result;
    if (!out || !size)
        return CUDA_ERROR_INVALID_VALUE;
    uintptr_t base = sim_arena_take(ctx->device, size);
    if (!base)
        return CUDA_ERROR_OUT_OF_MEMORY;
    sim_range_add(base, size, SIM_MEM_DEVICE, ctx);
    *out = base;
    sim_log_detail(" size=%zu at=%#zx", size, base);
    return CUDA_SUCCESS;
}

CUresult sim_cuMemAllocPitch_v2(CUdeviceptr *out, size_t *pitch, size_t width, size_t height, unsigned int element)
{
    if (!pitch || !width || !height || (element != 4 && element != 8 && element != 16))
        return CUDA_ERROR_INVALID_VALUE;
    *pitch = rounded(width);
    return sim_cuMemAlloc_v2(out, *pitch * height);
}

/* ---- pages of host memory: one by one they come back, since the kernel takes long for each ---- */
#define PAGE 4096

static struct page {
    struct page *next;
} * spare_pages;

static void *pages_take(size_t size)
{
    struct page *page = spare_pages;
    if (size > PAGE || !page)
        return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    spare_pages = page->next;
    return memset(page, 0, PAGE);
}

static void pages_give(void *address, size_t size)
{
    if (size > PAGE) {
        munmap(address, size);
        return;
    }
    sim_scribble(address, PAGE);
    struct page *page = address;
    page->next = spare_pages;
    spare_pages = page;
}

static void give_back(struct sim_range *range)
{
    uintptr_t base = range->base;
    size_t size = range->size;
    if (range->kind == SIM_MEM_DEVICE) {
        sim_scribble((void *)base, size);
        sim_arena_give(range->device, base, size);
    } else if (!range->registered) {
        pages_give((void *)base, size);
    }
    sim_range_remove(base);
}

CUresult sim_cuMemFree_v2(CUdeviceptr address)
{
    struct sim_ctx *ctx;
    CUresult result = enter(&ctx);
    if (result || !address)
        return result;
    struct sim_range *range = sim_range_find((uintptr_t)address);
    if (!range || range->base != address || range->mapped ||
        (range->kind != SIM_MEM_DEVICE && range->kind != SIM_MEM_MANAGED))
        return CUDA_ERROR_INVALID_VALUE;
    sim_log_detail(" at=%#llx", (unsigned long long)address);
    /* An implicit synchronisation. */
    uint64_t id = range->id;
    sim_ctx_drain(range->ctx);
    range = sim_range_find((uintptr_t)address);
    if (!range || range->id != id)
        return CUDA_ERROR_INVALID_VALUE;
    give_back(range);
    return CUDA_SUCCESS;
}

static CUresult host_alloc(void **out, size_t size, enum sim_memory kind, unsigned int flags)
{
    struct sim_ctx *ctx;
    CUresult result = enter(&ctx);
    if (result)
        return result;
    if (!out || !size)
        return CUDA_ERROR_INVALID_VALUE;
    void *address = pages_take(size);
    if (address == MAP_FAILED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct sim_range *range = sim_range_add((uintptr_t)address, size, kind, ctx);
    if (!range)
        return CUDA_ERROR_OUT_OF_MEMORY;
    range->flags = flags;
    *out = address;
    sim_log_detail(" size=%zu at=%p", size, address);
    return CUDA_SUCCESS;
}

CUresult sim_cuMemAllocHost_v2(void **out, size_t size)
{
    return host_alloc(out, size, SIM_MEM_HOST, CU_MEMHOSTALLOC_DEVICEMAP);
}

CUresult sim_cuMemHostAlloc(void **out, size_t size, unsigned int flags)
{
    return flags & ~7u ? CUDA_ERROR_INVALID_VALUE : host_alloc(out, size, SIM_MEM_HOST, flags);
}

CUresult sim_cuMemAllocManaged(CUdeviceptr *out, size_t size, unsigned int flags)
{
    void *address = NULL;
    if (!out || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = host_alloc(&address, size, SIM_MEM_MANAGED, flags);
    if (!result)
        *out = (CUdeviceptr)(uintptr_t)address;
    return result;
}

static CUresult host_free(void *address, bool registered)
{
    struct sim_ctx *ctx;
    CUresult result = enter(&ctx);
    if (result)
        return result;
    struct sim_range *range = sim_range_find((uintptr_t)address);
    if (!range || range->base != (uintptr_t)address || range->kind != SIM_MEM_HOST || range->registered != registered)
        return registered ? CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED : CUDA_ERROR_INVALID_VALUE;
    uint64_t id = range->id;
    sim_ctx_drain(range->ctx);
    range = sim_range_find((uintptr_t)address);
    if (!range || range->id != id)
        return CUDA_ERROR_INVALID_VALUE;
    give_back(range);
    return CUDA_SUCCESS;
}

CUresult sim_cuMemFreeHost(void *address)
{
    return host_free(address, false);
}

CUresult sim_cuMemHostUnregister(void *address)
{
    return host_free(address, true);
}

CUresult sim_cuMemHostRegister_v2(void *address, size_t size, unsigned int flags)
{
    struct sim_ctx *ctx;
    CUresult result = enter(&ctx);
    if (result)
        return result;
    if (!address || !size || flags & ~15u)
        return CUDA_ERROR_INVALID_VALUE;
    if (sim_range_find((uintptr_t)address) || sim_range_find((uintptr_t)address + size - 1))
        return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    struct sim_range *range = sim_range_add((uintptr_t)address, size, SIM_MEM_HOST, ctx);
    if (!range)
        return CUDA_ERROR_OUT_OF_MEMORY;
    range->registered = true;
    range->flags = flags;
    return CUDA_SUCCESS;
}
SIM_ALSO(cuMemHostRegister, cuMemHostRegister_v2);

CUresult sim_cuMemGetInfo_v2(size_t *unused, size_t *total)
{
    struct sim_ctx *ctx;
    CUresult result = sim_ctx_current(&ctx);
    if (result)
        return result;
    *total = (size_t)sim_config.memory_mb << 20;
    *unused = *total - arenas[ctx->device].used;
    return CUDA_SUCCESS;
}

/* Explicit, stream-ordered and pinned memory of a context goes with it; pool memory and
 * mappings are kept (pool.c, mapping.c). */
void sim_memory_forget(struct sim_ctx *ctx)
{
    for (size_t i = n_ranges; i-- > 0;)
        if (ranges[i]->ctx == ctx && !ranges[i]->pool && !ranges[i]->mapped)
            give_back(ranges[i]);
}
