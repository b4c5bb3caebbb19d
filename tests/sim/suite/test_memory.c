/* Memory: when sources are read, which copies wait, attributes, stream-ordered allocation. */
#include "tests/sim/suite/tap.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static CUstream stream;
static unsigned int *flag;
static CUdeviceptr data;

static void set_up(void)
{
    tap_context();
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    flag = tap_mapped(64);
    data = tap_words(64);
}

/* The source is the program's own again when the call returns. */
static void pageable_is_staged(void)
{
    unsigned int source = 42;
    set_up();
    OK(tap_wait_for(flag, 1, data + 4, stream));
    OK(cuMemcpyHtoDAsync(data, &source, sizeof(source), stream));
    FAILS(CUDA_ERROR_NOT_READY, cuStreamQuery(stream)); /* and did not wait for the kernel before it */
    source = 77;
    tap_raise(flag, 1);
    OK(cuStreamSynchronize(stream));
    EXPECT(tap_word(data) == 42);
}

/* A pinned source is read when the copy runs. */
static void pinned_is_read_late(void)
{
    set_up();
    unsigned int *source = tap_mapped(1);
    *source = 42;
    OK(tap_wait_for(flag, 1, data + 4, stream));
    OK(cuMemcpyHtoDAsync(data, source, sizeof(*source), stream));
    *source = 77;
    tap_raise(flag, 1);
    OK(cuStreamSynchronize(stream));
    EXPECT(tap_word(data) == 77);
}

static void registered_is_pinned(void)
{
    static unsigned int source[1024];
    set_up();
    OK(cuMemHostRegister(source, sizeof(source), 0));
    FAILS(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister(source, sizeof(source), 0));
    source[0] = 42;
    OK(tap_wait_for(flag, 1, data + 4, stream));
    OK(cuMemcpyHtoDAsync(data, source, 4, stream));
    source[0] = 77;
    tap_raise(flag, 1);
    OK(cuStreamSynchronize(stream));
    EXPECT(tap_word(data) == 77);
    OK(cuMemHostUnregister(source));
    FAILS(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(source));
}

static void *raise_later(void *unused)
{
    tap_sleep_ms(30);
    tap_raise(flag, 1);
    return unused;
}

static void to_pageable_waits(void)
{
    unsigned int got = 0;
    pthread_t thread;
    set_up();
    OK(tap_wait_for(flag, 1, data, stream));
    pthread_create(&thread, NULL, raise_later, NULL);
    OK(cuMemcpyDtoHAsync(&got, data, sizeof(got), stream));
    EXPECT(got == 1);
    pthread_join(thread, NULL);
}

static void to_pinned_does_not_wait(void)
{
    set_up();
    unsigned int *got = tap_mapped(1);
    *got = 5;
    OK(tap_wait_for(flag, 1, data, stream));
    OK(cuMemcpyDtoHAsync(got, data, sizeof(*got), stream));
    EXPECT(*got == 5);
    tap_raise(flag, 1);
    OK(cuStreamSynchronize(stream));
    EXPECT(*got == 1);
}

/* Synchronous copies and memsets: in the legacy stream; which of them wait. */
static void synchronous_forms(void)
{
    pthread_t thread;
    set_up();
    CUdeviceptr more = tap_words(1);
    unsigned int value = 9;
    OK(tap_wait_for(flag, 1, data, NULL));
    OK(cuMemcpyDtoD(more, data, 4)); /* device to device: no wait */
    OK(cuMemsetD32(data + 8, 7, 1)); /* nor memsets */
    EXPECT(tap_read(flag) == 0);
    FAILS(CUDA_ERROR_NOT_READY, cuStreamQuery(NULL));
    pthread_create(&thread, NULL, raise_later, NULL);
    OK(cuMemcpyHtoD(data + 4, &value, 4)); /* drains the stream first */
    EXPECT(tap_read(flag) == 1);
    pthread_join(thread, NULL);
    EXPECT(tap_word(more) == 1 && tap_word(data + 4) == 9 && tap_word(data + 8) == 7);
    tap_raise(flag, 0);
    OK(tap_wait_for(flag, 1, data, NULL));
    pthread_create(&thread, NULL, raise_later, NULL);
    OK(cuMemsetD32((CUdeviceptr)(uintptr_t)(flag + 1), 7, 1)); /* a pinned target: waits */
    EXPECT(tap_read(flag) == 1 && flag[1] == 7);
    pthread_join(thread, NULL);
}

static void shapes(void)
{
    unsigned char host[64], got[64] = {0};
    CUdeviceptr pitched;
    size_t pitch;
    set_up();
    for (int i = 0; i < 64; i++)
        host[i] = (unsigned char)i;
    OK(cuMemAllocPitch(&pitched, &pitch, 8, 4, 4));
    CUDA_MEMCPY2D up = {
            .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = host, .srcPitch = 16, .srcXInBytes = 2, .srcY = 1};
    up.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    up.dstDevice = pitched;
    up.dstPitch = pitch;
    up.WidthInBytes = 8;
    up.Height = 3;
    OK(cuMemcpy2DAsync(&up, stream));
    OK(cuMemsetD2D8Async(pitched, pitch, 0xee, 2, 3, stream));
    CUDA_MEMCPY3D down = {
            .srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = pitched, .srcPitch = pitch, .srcHeight = 4};
    down.dstMemoryType = CU_MEMORYTYPE_HOST;
    down.dstHost = got;
    down.dstPitch = 8;
    down.WidthInBytes = 8;
    down.Height = 3;
    down.Depth = 1;
    OK(cuMemcpy3DAsync(&down, stream));
    EXPECT(got[0] == 0xee && got[1] == 0xee && got[2] == 20 && got[7] == 25 && got[8] == 0xee && got[23] == 57);
    FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoD(data, data + 64 * 4 - 4, 8));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuMemsetD32(data + 2, 0, 1));
    OK(cuMemcpyDtoD(data, data + 4, 0));
}

static void attributes(void)
{
    CUmemorytype type;
    unsigned int managed = 9;
    int device = 9;
    CUdeviceptr base, unified;
    size_t size;
    set_up();
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, data + 12));
    EXPECT(type == CU_MEMORYTYPE_DEVICE);
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)flag));
    EXPECT(type == CU_MEMORYTYPE_HOST);
    OK(cuPointerGetAttribute(&base, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, data + 12));
    OK(cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, data + 12));
    EXPECT(base == data && size == 256);
    OK(cuMemGetAddressRange(&base, &size, data + 255));
    EXPECT(base == data && size == 256);
    FAILS(CUDA_ERROR_INVALID_VALUE,
          cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)&type));
    OK(cuMemAllocManaged(&unified, 4096, CU_MEM_ATTACH_GLOBAL));
    CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                   CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void *out[] = {&type, &managed, &device};
    OK(cuPointerGetAttributes(3, which, out, unified));
    EXPECT(type == CU_MEMORYTYPE_DEVICE && managed == 1 && device == 0);
    OK(cuPointerGetAttributes(3, which, out, (CUdeviceptr)(uintptr_t)&type));
    EXPECT((int)type == 0 && managed == 0);
    OK(cuMemFree(unified));
}

/* Mapped memory: contents stay with the physical memory, attributes tell reservation and mapping apart, and what is not
 * mapped is refused at the call. */
static void mapped_memory(void)
{
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location.type = CU_MEM_LOCATION_TYPE_DEVICE};
    CUmemAccessDesc rights = {.location = prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handles[2];
    CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                   CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, CU_POINTER_ATTRIBUTE_MAPPING_SIZE,
                                   CU_POINTER_ATTRIBUTE_CONTEXT};
    CUdeviceptr base, start, mapping;
    size_t granule, size, mapped;
    CUcontext owner;
    void *out[] = {&start, &size, &mapping, &mapped, &owner};
    set_up();
    OK(cuMemGetAllocationGranularity(&granule, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    OK(cuMemAddressReserve(&base, 2 * granule, 0, 0, 0));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuMemMap(base, granule, 0, 12345, 0));
    for (unsigned int i = 0; i < 2; i++) {
        OK(cuMemCreate(&handles[i], granule, &prop, 0));
        FAILS(CUDA_ERROR_INVALID_VALUE, cuMemSetAccess(base, 2 * granule, &rights, 1));
        OK(cuMemMap(base + i * granule, granule, 0, handles[i], 0));
        FAILS(CUDA_ERROR_INVALID_VALUE, cuMemMap(base + i * granule, granule, 0, handles[i], 0));
    }
    FAILS(CUDA_ERROR_INVALID_VALUE, cuMemMap(base + 2 * granule, granule, 0, handles[0], 0));
    OK(cuMemSetAccess(base, 2 * granule, &rights, 1));
    CUdeviceptr border = base + granule;
    OK(cuPointerGetAttributes(5, which, out, border + 64));
    EXPECT(start == base && size == 2 * granule && mapping == border && mapped == granule && owner == NULL);
    OK(cuPointerGetAttributes(5, which, out, data + 64));
    EXPECT(start == data && size == 256 && mapping == data && mapped == 256 && owner != NULL);
    OK(cuMemsetD32Async(border - 16, 5, 8, stream));
    OK(cuMemcpyDtoDAsync(data, border - 16, 32, stream));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuMemsetD8Async(border, 1, granule + 1, stream));
    OK(cuStreamSynchronize(stream));
    EXPECT(tap_word(data + 28) == 5);
    FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFree(base));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(border, granule / 2));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(base, 2 * granule));
    OK(cuMemUnmap(border, granule));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuMemsetD32Async(border - 16, 5, 8, stream));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoDAsync(data, border - 16, 32, stream));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoDAsync(border, data, 32, stream));
    OK(cuMemcpyDtoDAsync(data, border - 16, 16, stream));
    OK(cuMemMap(border, granule, 0, handles[1], 0));
    OK(cuMemSetAccess(border, granule, &rights, 1));
    OK(cuStreamSynchronize(stream));
    EXPECT(tap_word(border + 12) == 5 && tap_word(border + 16) == 0);
    OK(cuMemRelease(handles[1]));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuMemRelease(handles[1]));
    EXPECT(tap_word(border + 12) == 5);
    OK(cuMemUnmap(base, 2 * granule));
    OK(cuMemRelease(handles[0]));
    OK(cuMemAddressFree(base, 2 * granule));
}

/* A freed block is nonsense at once, and its address comes back. */
static void freed_memory(void)
{
    CUdeviceptr again;
    set_up();
    OK(cuMemFree(data));
    OK(cuMemAlloc(&again, 256));
    EXPECT(again == data);
    EXPECT(tap_word(again) == 0xdbdbdbdbu);
    FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFree(again + 8));
    FAILS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&again, (size_t)1 << 40));
}

static void free_waits(void)
{
    pthread_t thread;
    set_up();
    CUdeviceptr other = tap_words(1);
    OK(tap_wait_for(flag, 1, data, stream));
    pthread_create(&thread, NULL, raise_later, NULL);
    OK(cuMemFree(other));
    EXPECT(tap_read(flag) == 1);
    pthread_join(thread, NULL);
}

static void stream_ordered(void)
{
    CUdeviceptr first, second, third;
    CUstream other;
    unsigned int type;
    set_up();
    OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    OK(tap_wait_for(flag, 1, data, stream));
    OK(cuMemAllocAsync(&first, 4096, stream));
    OK(cuMemsetD32Async(first, 5, 1, stream));
    OK(cuMemcpyDtoDAsync(data + 4, first, 4, stream));
    OK(cuMemFreeAsync(first, stream));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, first));
    /* The same stream may have the block at once, another one only when the free has run. */
    OK(cuMemAllocAsync(&second, 4096, stream));
    EXPECT(second == first);
    OK(cuMemFreeAsync(second, stream));
    OK(cuMemAllocAsync(&third, 4096, other));
    EXPECT(third != first);
    OK(cuMemFreeAsync(third, other));
    tap_raise(flag, 1);
    OK(cuCtxSynchronize());
    EXPECT(tap_word(data + 4) == 5);
    OK(cuMemAllocAsync(&third, 4096, other));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(third + 4, other));
}

static void accounting(void)
{
    size_t before, after, total;
    CUdeviceptr block;
    set_up();
    OK(cuMemGetInfo(&before, &total));
    OK(cuMemAlloc(&block, 1 << 20));
    OK(cuMemGetInfo(&after, &total));
    EXPECT(before - after == 1 << 20 && total == (size_t)64 << 20);
    FAILS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&block, 64 << 20));
}

/* Blocks before and behind a graph's time do not keep its memory from being one piece again. */
static void graph_memory(void)
{
    CUDA_MEMSET_NODE_PARAMS params = {.dst = 0, .value = 1, .elementSize = 4, .width = 4, .height = 1};
    CUdeviceptr block, behind;
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;
    size_t before, after, total;
    set_up();
    params.dst = data;
    OK(cuGraphCreate(&graph, 0));
    for (int i = 0; i < 2; i++)
        OK(cuGraphAddMemsetNode(&node, graph, NULL, 0, &params, tap_context()));
    OK(cuMemGetInfo(&before, &total));
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuMemGetInfo(&after, &total));
    EXPECT(before - after == 2 << 20);
    OK(cuMemAlloc(&behind, 4));
    FAILS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&block, 3 << 20));
    OK(cuGraphExecDestroy(exec));
    OK(cuMemAlloc(&block, 3 << 20));
    FAILS(CUDA_ERROR_OUT_OF_MEMORY, cuGraphInstantiate(&exec, graph, 0));
}

static void value_operations(void)
{
    set_up();
    CUdeviceptr at = (CUdeviceptr)(uintptr_t)flag;
    OK(cuStreamWaitValue32(stream, at, 3, CU_STREAM_WAIT_VALUE_EQ));
    OK(tap_step(data, 5, stream));
    OK(cuStreamWriteValue32(stream, at + 4, 8, 0));
    tap_sleep_ms(10);
    FAILS(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
    tap_raise(flag, 3);
    OK(cuStreamSynchronize(stream));
    EXPECT(tap_word(data) == 5 && tap_read(flag + 1) == 8);
}

static void mappings(void)
{
    CUdeviceptr at, again;
    CUmemGenericAllocationHandle memory;
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
    CUmemAccessDesc access = {.location = prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    unsigned long long flags = 0;
    size_t size = 0;
    set_up();
    OK(cuMemGetAllocationGranularity(&size, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    OK(cuMemAddressReserve(&at, 2 * size, 0, 0, 0));
    OK(cuMemCreate(&memory, size, &prop, 0));
    OK(cuMemMap(at, size, 0, memory, 0));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuMemMap(at, size, 0, memory, 0));
    OK(cuMemGetAccess(&flags, &prop.location, at));
    EXPECT(flags == CU_MEM_ACCESS_FLAGS_PROT_NONE);
    OK(cuMemSetAccess(at, size, &access, 1));
    OK(cuMemGetAccess(&flags, &prop.location, at));
    EXPECT(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    OK(tap_step(at, 5, stream));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFree(at));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(at, 2 * size));
    /* the same memory elsewhere; unmapping waits */
    OK(cuMemUnmap(at, size));
    again = at + size;
    OK(cuMemMap(again, size, 0, memory, 0));
    OK(cuMemSetAccess(again, size, &access, 1));
    EXPECT(tap_word(again) == 5);
    OK(cuMemRelease(memory));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuMemRelease(memory));
    EXPECT(tap_word(again) == 5);
    OK(cuMemUnmap(again, size));
    FAILS(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(again, size));
    OK(cuMemAddressFree(at, 2 * size));
}

static const struct tap_case cases[] = {
        {"a pageable source is staged before the return", NULL, pageable_is_staged},
        {"a pinned source is read when the copy runs", NULL, pinned_is_read_late},
        {"registered memory is pinned", NULL, registered_is_pinned},
        {"a copy to pageable memory waits", NULL, to_pageable_waits},
        {"a copy to pinned memory does not", NULL, to_pinned_does_not_wait},
        {"synchronous copies and memsets wait as they should", NULL, synchronous_forms},
        {"two and three dimensions, and bounds", NULL, shapes},
        {"attributes of pointers", NULL, attributes},
        {"mapped memory", NULL, mapped_memory},
        {"freed memory is scribbled over and reused", NULL, freed_memory},
        {"freeing waits for the device", NULL, free_waits},
        {"stream-ordered blocks come back in stream order", NULL, stream_ordered},
        {"physical memory is mapped, accessed and unmapped", NULL, mappings},
        {"used memory is counted", "memory_mb=64", accounting},
        {"graphs take memory", "memory_mb=4,graph_kb=1024", graph_memory},
        {"streams wait for and write values", NULL, value_operations},
};
TAP_MAIN(cases)
