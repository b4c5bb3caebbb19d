/* Virtual memory management: reserved addresses, physical memory (a memory file each), and mappings of one onto the
 * other. A mapping cannot be touched until its access is set. None of it belongs to a context. */
#define _GNU_SOURCE
#include "tests/sim/core.h"
#include "tests/sim/report.h"

#include <sys/mman.h>
#include <unistd.h>

#define GRANULARITY ((size_t)2 << 20)

struct physical {
    int file;
    size_t size;
    unsigned users; /* its handle, and the mappings */
};

/* A reserved range, or a mapping inside one. */
struct area {
    uintptr_t base;
    size_t size;
    struct physical *physical; /* of a mapping, with a user more */
    bool accessible;
    struct area *next;
};
static struct area *reserved, *mapped;

static struct physical *of(CUmemGenericAllocationHandle handle)
{
    return sim_handle_object(SIM_PHYSICAL, (const void *)(uintptr_t)handle);
}

static void give_up(struct physical *physical)
{
    if (--physical->users)
        return;
    close(physical->file);
    free(physical);
}

static struct area *add(struct area **list, uintptr_t base, size_t size)
{
    struct area *area = calloc(1, sizeof(*area));
    if (area) {
        *area = (struct area){.base = base, .size = size, .next = *list};
        *list = area;
    }
    return area;
}

static bool inside(const struct area *area, uintptr_t base, size_t size)
{
    return base >= area->base && base - area->base < area->size && size <= area->size - (base - area->base);
}

bool sim_reserved(uintptr_t address, size_t size)
{
    for (const struct area *area = reserved; area; area = area->next)
        if (address < area->base + area->size && (address >= area->base || area->base - address < size))
            return true;
    return false;
}

CUresult sim_cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
                                           CUmemAllocationGranularity_flags option)
{
    (void)option;
    if (!granularity || !prop)
        return CUDA_ERROR_INVALID_VALUE;
    *granularity = GRANULARITY;
    return CUDA_SUCCESS;
}

CUresult sim_cuMemAddressReserve(CUdeviceptr *out, size_t size, size_t alignment, CUdeviceptr wanted,
                                 unsigned long long flags)
{
    (void)alignment, (void)wanted;
    if (!out || !size || size % GRANULARITY || flags)
        return CUDA_ERROR_INVALID_VALUE;
    void *at = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED || !add(&reserved, (uintptr_t)at, size))
        return CUDA_ERROR_OUT_OF_MEMORY;
    *out = (CUdeviceptr)(uintptr_t)at;
    return CUDA_SUCCESS;
}

CUresult sim_cuMemAddressFree(CUdeviceptr address, size_t size)
{
    for (struct area *area = mapped; area; area = area->next)
        if (area->base >= address && area->base - address < size)
            return CUDA_ERROR_INVALID_VALUE;
    for (struct area **link = &reserved; *link; link = &(*link)->next) {
        struct area *area = *link;
        if (area->base != address || area->size != size)
            continue;
        *link = area->next;
        munmap((void *)area->base, area->size);
        free(area);
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuMemCreate(CUmemGenericAllocationHandle *out, size_t size, const CUmemAllocationProp *prop,
                         unsigned long long flags)
{
    if (!out || !size || size % GRANULARITY || !prop || prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE || flags)
        return CUDA_ERROR_INVALID_VALUE;
    struct physical *physical = calloc(1, sizeof(*physical));
    if (!physical)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *physical = (struct physical){.file = memfd_create("device memory", MFD_CLOEXEC), .size = size, .users = 1};
    if (physical->file < 0 || ftruncate(physical->file, (off_t)size))
        return CUDA_ERROR_OUT_OF_MEMORY;
    *out = (CUmemGenericAllocationHandle)(uintptr_t)sim_handle_make(SIM_PHYSICAL, physical);
    return CUDA_SUCCESS;
}

CUresult sim_cuMemRelease(CUmemGenericAllocationHandle handle)
{
    struct physical *physical = of(handle);
    if (!physical)
        return CUDA_ERROR_INVALID_VALUE;
    sim_handle_free(SIM_PHYSICAL, (const void *)(uintptr_t)handle);
    give_up(physical);
    return CUDA_SUCCESS;
}

CUresult sim_cuMemMap(CUdeviceptr address, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                      unsigned long long flags)
{
    struct physical *physical = of(handle);
    struct sim_ctx *ctx;
    CUresult result = sim_ctx_current(&ctx);
    if (result)
        return result;
    if (!physical || !size || size % GRANULARITY || offset || size > physical->size || flags)
        return CUDA_ERROR_INVALID_VALUE;
    const struct area *reservation = reserved;
    while (reservation && !inside(reservation, (uintptr_t)address, size))
        reservation = reservation->next;
    if (!reservation || sim_range_find((uintptr_t)address) || sim_range_find((uintptr_t)address + size - 1))
        return CUDA_ERROR_INVALID_VALUE;
    void *at = mmap((void *)(uintptr_t)address, size, PROT_NONE, MAP_SHARED | MAP_FIXED, physical->file, 0);
    struct area *area = at != MAP_FAILED ? add(&mapped, (uintptr_t)address, size) : NULL;
    struct sim_range *range = area ? sim_range_add(area->base, size, SIM_MEM_DEVICE, ctx) : NULL;
    if (!range)
        return CUDA_ERROR_OUT_OF_MEMORY;
    range->mapped = true;
    range->reserved = reservation->base;
    range->reservation = reservation->size;
    area->physical = physical;
    physical->users++;
    return CUDA_SUCCESS;
}

CUresult sim_cuMemSetAccess(CUdeviceptr address, size_t size, const CUmemAccessDesc *desc, size_t count)
{
    size_t covered = 0;
    if (!desc || count != 1)
        return CUDA_ERROR_INVALID_VALUE;
    bool accessible = desc->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE;
    for (struct area *area = mapped; area; area = area->next)
        if (area->base >= address && area->base - address < size) {
            covered += area->size;
            area->accessible = accessible;
            mprotect((void *)area->base, area->size, accessible ? PROT_READ | PROT_WRITE : PROT_NONE);
        }
    return covered == size ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr address)
{
    if (!flags || !location)
        return CUDA_ERROR_INVALID_VALUE;
    for (struct area *area = mapped; area; area = area->next)
        if (inside(area, (uintptr_t)address, 1)) {
            *flags = area->accessible ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_VALUE;
}

/* Whole mappings only; waits, as freeing does. */
CUresult sim_cuMemUnmap(CUdeviceptr address, size_t size)
{
    struct sim_ctx *ctx;
    size_t covered = 0;
    CUresult result = sim_ctx_current(&ctx);
    if (result)
        return result;
    for (struct area *area = mapped; area; area = area->next)
        if (area->base >= address && area->base - address < size)
            covered += area->size;
    if (!covered || covered != size)
        return CUDA_ERROR_INVALID_VALUE;
    sim_ctx_drain(ctx);
    for (struct area **link = &mapped; *link;) {
        struct area *area = *link;
        if (area->base < address || area->base - address >= size) {
            link = &area->next;
            continue;
        }
        *link = area->next;
        mmap((void *)area->base, area->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        sim_range_remove(area->base);
        give_up(area->physical);
        free(area);
    }
    return CUDA_SUCCESS;
}
