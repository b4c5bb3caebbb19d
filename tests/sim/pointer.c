/* Questions about addresses. */
#include "tests/sim/core.h"

static CUresult attribute(void *out, CUpointer_attribute which, CUdeviceptr address)
{
    struct sim_range *range = sim_range_find((uintptr_t)address);
    if (!range)
        return CUDA_ERROR_INVALID_VALUE;
    /* Of mapped memory the range is the whole reservation. */
    uintptr_t base = range->base;
    size_t size = range->size;
    if (range->mapped) {
        base = range->reserved;
        size = range->reservation;
    }
    bool host = range->kind == SIM_MEM_HOST, managed = range->kind == SIM_MEM_MANAGED;
    switch ((int)which) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        /* Stream-ordered and mapped memory belongs to no context. */
        if (range->pool || range->mapped)
            return CUDA_ERROR_INVALID_VALUE;
        *(CUcontext *)out = range->ctx->handle;
        break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(CUmemorytype *)out = host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *(CUdeviceptr *)out = address;
        break;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if (!host && !managed)
            return CUDA_ERROR_INVALID_VALUE;
        *(void **)out = (void *)(uintptr_t)address;
        break;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        *(unsigned int *)out = range->sync_memops;
        break;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        *(unsigned long long *)out = range->id;
        break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *(unsigned int *)out = managed;
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *(int *)out = range->device;
        break;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        *(unsigned int *)out = range->kind == SIM_MEM_DEVICE && !range->pool;
        break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        *(CUdeviceptr *)out = base;
        break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        *(size_t *)out = size;
        break;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        *(unsigned int *)out = 1;
        break;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        *(unsigned long long *)out = 0;
        break;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        *(unsigned int *)out = CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE;
        break;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        *(CUmemoryPool *)out = range->pool;
        break;
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        *(size_t *)out = range->size;
        break;
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        *(CUdeviceptr *)out = range->base;
        break;
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        *(unsigned long long *)out = range->id;
        break;
    default:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    return CUDA_SUCCESS;
}

CUresult sim_cuPointerGetAttribute(void *out, CUpointer_attribute which, CUdeviceptr address)
{
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    return attribute(out, which, address);
}

static size_t attribute_size(CUpointer_attribute which)
{
    switch ((int)which) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        return 4;
    default:
        return 8;
    }
}

/* Unlike the single question, an address that the driver does not know gives zeros and success. */
CUresult sim_cuPointerGetAttributes(unsigned int count, CUpointer_attribute *which, void **out, CUdeviceptr address)
{
    if (!count || !which || !out)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned int i = 0; i < count; i++) {
        memset(out[i], 0, attribute_size(which[i]));
        if (attribute(out[i], which[i], address) && which[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
            *(int *)out[i] = -2;
    }
    return CUDA_SUCCESS;
}

CUresult sim_cuPointerSetAttribute(const void *value, CUpointer_attribute which, CUdeviceptr address)
{
    struct sim_range *range = sim_range_find((uintptr_t)address);
    if (!value || which != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS || !range)
        return CUDA_ERROR_INVALID_VALUE;
    range->sync_memops = *(const unsigned int *)value != 0;
    return CUDA_SUCCESS;
}

CUresult sim_cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr address)
{
    struct sim_range *range = sim_range_find((uintptr_t)address);
    if (!range || (range->kind != SIM_MEM_DEVICE && range->kind != SIM_MEM_MANAGED))
        return CUDA_ERROR_NOT_FOUND;
    if (base)
        *base = range->base;
    if (size)
        *size = range->size;
    return CUDA_SUCCESS;
}

CUresult sim_cuMemHostGetDevicePointer_v2(CUdeviceptr *out, void *host, unsigned int flags)
{
    struct sim_range *range = sim_range_find((uintptr_t)host);
    if (!out || flags || !range || range->kind != SIM_MEM_HOST)
        return CUDA_ERROR_INVALID_VALUE;
    *out = (CUdeviceptr)(uintptr_t)host;
    return CUDA_SUCCESS;
}

CUresult sim_cuMemHostGetFlags(unsigned int *flags, void *host)
{
    struct sim_range *range = sim_range_find((uintptr_t)host);
    if (!flags || !range || range->kind != SIM_MEM_HOST)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = range->flags;
    return CUDA_SUCCESS;
}
