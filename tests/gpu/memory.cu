/* Kinds of memory, and what happens to it, under memsets and copies that may be nodes of graphs. */
#include "gpu.h"
#include <cuda.h>

#define DRIVER(call)                                                                                                   \
    do {                                                                                                               \
        CUresult driver_code = (call);                                                                                 \
        if (driver_code != CUDA_SUCCESS) {                                                                             \
            printf("%s:%d: %d\n", __FILE__, __LINE__, (int)driver_code);                                               \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)
#define DRIVER_CODE(call) printf("%s -> %d\n", #call, (int)(call))

static CUdeviceptr address(const void *p)
{
    return (CUdeviceptr)p;
}

__global__ static void checksum(const uint4 *data, size_t count, unsigned long long *sum)
{
    unsigned long long own = 0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x) {
        uint4 v = data[i];
        own += (v.x + v.y * 3ull + v.z * 5ull + v.w * 7ull) * (i % 1000003 + 1);
    }
    atomicAdd(sum, own);
}

/* Rows longer than 31 and than 32 bits can count, whose lengths change. */
static int huge_rows(void)
{
    const size_t lengths[] = {((size_t)1 << 31) + 12345, ((size_t)1 << 32) + 4097, 1 << 20, ((size_t)1 << 32) + 64};
    const size_t room = ((size_t)1 << 32) + (1 << 20);
    size_t available, total;
    OK(cudaMemGetInfo(&available, &total));
    if (available < 3 * room)
        return SKIP;
    unsigned char *a = device_zeros<unsigned char>(room), *b = device_zeros<unsigned char>(room);
    unsigned long long *sum = device_zeros<unsigned long long>(1);
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    for (unsigned k = 0; k < 48; k++) {
        size_t bytes = lengths[k % 4], end = bytes & ~(size_t)1023;
        for (unsigned j = 0; j < 3; j++) /* so that the large ones are in the middle of chunks */
            step<<<1, 64, 0, stream>>>((unsigned *)a, j);
        OK(cudaMemsetAsync(a, (int)(k * 37 + 1), bytes, stream));
        step<<<1, 64, 0, stream>>>((unsigned *)(a + end - 512), k % 5);
        OK(cudaMemcpyAsync(b, a, bytes, cudaMemcpyDeviceToDevice, stream));
        step<<<1, 64, 0, stream>>>((unsigned *)(b + end - 1024), k % 3);
        DRIVER(cuMemsetD32Async(address(a), k * 1000003u, bytes / 4, stream));
        DRIVER(cuMemcpyDtoDAsync(address(a) + 4096, address(b), bytes - 4096, stream));
        if (k % 12 == 11) {
            checksum<<<2048, 256, 0, stream>>>((const uint4 *)a, room / 16, sum);
            checksum<<<2048, 256, 0, stream>>>((const uint4 *)b, room / 16, sum);
            print_hash("sum", sum, 8);
        }
    }
    return 0;
}

__global__ static void gather(unsigned *to, const unsigned *from)
{
    to[threadIdx.x] = turn(to[threadIdx.x], from[threadIdx.x]);
}

/* The buffer that a node was built or patched for is gone when the node is patched for another one. */
static int freed_target(void)
{
    unsigned *result = device_zeros<unsigned>(64);
    void *keep[12];
    cudaMemPool_t pool;
    OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    for (int life = 0; life < 12; life++) {
        const size_t bytes = (size_t)(1 + life % 3) << 22;
        unsigned *a, *b;
        bool pooled = life % 4 == 3;
        OK(cudaMalloc(&keep[life], (size_t)(1 + life % 5) << 21)); /* addresses do not come back too readily */
        OK(pooled ? cudaMallocAsync(&a, bytes, 0) : cudaMalloc(&a, bytes));
        OK(pooled ? cudaMallocAsync(&b, bytes, 0) : cudaMalloc(&b, bytes));
        for (unsigned k = 0; k < 150; k++) {
            OK(cudaMemsetAsync(a, (int)(k % 50), 4096));
            OK(cudaMemcpyAsync(b, a, 4096 - k % 2 * 64, cudaMemcpyDeviceToDevice));
            step<<<1, 64>>>(b, k % 20);
            gather<<<1, 64>>>(result, b);
        }
        OK(pooled ? cudaFreeAsync(a, 0) : cudaFree(a));
        OK(pooled ? cudaFreeAsync(b, 0) : cudaFree(b));
        if (pooled) {
            OK(cudaDeviceSynchronize());
            OK(cudaMemPoolTrimTo(pool, 0));
        }
        if (life % 2)
            OK(cudaFree(keep[life / 2]));
    }
    print_hash("result", result, 256);
    must_replay(1000);
    return 0;
}

/* Ranges that span two mappings; then one of the two is another memory, and at last none. */
static int mappings(void)
{
    CUmemAllocationProp prop = {};
    CUmemAccessDesc access = {};
    CUmemGenericAllocationHandle handles[3];
    CUdeviceptr base;
    size_t granule;
    int supported = 0;
    unsigned *other = device_zeros<unsigned>(4096);
    cudaStream_t stream;
    DRIVER(cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0));
    if (!supported)
        return SKIP;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location = prop.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    DRIVER(cuMemGetAllocationGranularity(&granule, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    DRIVER(cuMemAddressReserve(&base, 2 * granule, 0, 0, 0));
    for (CUmemGenericAllocationHandle &h : handles)
        DRIVER(cuMemCreate(&h, granule, &prop, 0));
    DRIVER(cuMemMap(base, granule, 0, handles[0], 0));
    const CUdeviceptr border = base + granule;
    for (int life = 1; life < 3; life++) {
        DRIVER(cuMemMap(border, granule, 0, handles[life], 0));
        DRIVER(cuMemSetAccess(base, 2 * granule, &access, 1));
        OK(cudaMemsetAsync((void *)base, 0, 2 * granule, stream));
        for (unsigned k = 0; k < 300; k++) {
            DRIVER(cuMemsetD32Async(border - 1024, k % 70, 512, stream));
            step<<<1, 64, 0, stream>>>((unsigned *)(border - 128), k % 20);
            DRIVER(cuMemcpyDtoDAsync(address(other), border - 256, 512 + k % 2 * 256, stream));
            step<<<1, 64, 0, stream>>>(other + 32, k % 10);
            DRIVER(cuMemcpyDtoDAsync(border - 4096, address(other), 8192, stream));
        }
        print_hash("both sides", (void *)(border - 4096), 8192);
        DRIVER(cuMemUnmap(border, granule));
        DRIVER(cuMemRelease(handles[life]));
    }
    DRIVER_CODE(cuMemcpyDtoDAsync(address(other), border - 512, 512, stream));
    step<<<1, 64, 0, stream>>>(other, 1);
    CODE(cudaStreamSynchronize(stream));
    print_hash("other", other, 4096 * 4);
    DRIVER_CODE(cuMemcpyDtoDAsync(address(other), border - 256, 512, stream));
    CODE(cudaStreamSynchronize(stream));
    DRIVER_CODE(cuMemsetD32Async(border - 1024, 1, 512, stream));
    CODE(cudaStreamSynchronize(stream));
    return 0;
}

/* Host memory that is registered for a while: pinned copies, mapped access, and pageable copies from the same place. */
static int registered(void)
{
    constexpr size_t bytes = 65536;
    unsigned *state = device_zeros<unsigned>(64), *mapped;
    unsigned char *host = (unsigned char *)aligned_alloc(4096, bytes);
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    memset(host, 0, bytes);
    for (unsigned round = 0; round < 20; round++) {
        for (size_t k = 0; k < bytes / 2; k++)
            host[k] = (unsigned char)scramble((unsigned)k + round);
        OK(cudaHostRegister(host, bytes, cudaHostRegisterMapped | (round % 2 ? cudaHostRegisterPortable : 0)));
        OK(cudaHostGetDevicePointer((void **)&mapped, host + bytes / 2, 0));
        for (unsigned k = 0; k < 100; k++) {
            OK(cudaMemcpyAsync(state, host + k % 8 * 256, 128 + k % 2 * 64, cudaMemcpyHostToDevice, stream));
            step<<<1, 64, 0, stream>>>(state, k % 20);
            gather<<<1, 64, 0, stream>>>(mapped, state);
        }
        OK(cudaStreamSynchronize(stream));
        OK(cudaHostUnregister(host));
        for (unsigned k = 0; k < 30; k++) { /* pageable now: the bytes may change as soon as the call is back */
            memset(host, (int)(k + round), 256);
            OK(cudaMemcpyAsync(state, host, 256, cudaMemcpyHostToDevice, stream));
            memset(host, 0xff, 256);
            step<<<1, 64, 0, stream>>>(state, k % 20);
        }
        OK(cudaStreamSynchronize(stream));
        printf("mapped %016llx\n", (unsigned long long)hash_bytes(host + bytes / 2, 256));
        print_hash("state", state, 256);
    }
    free(host);
    return 0;
}

__global__ static void add_cell(unsigned long long *sum, const unsigned *cell, volatile unsigned *done)
{
    *sum = *sum * 3 + *cell;
    __threadfence_system();
    *done = *done + 1;
    __threadfence_system();
}

/* Pages go to and fro: the host writes managed memory just before the launch that reads it, and polls for the result
 * while kernels work on other pages of the same allocation.
 */
static int managed_beside(void)
{
    constexpr unsigned rounds = 4000;
    unsigned *cells;
    unsigned long long *sum, expected = 0;
    volatile unsigned *done;
    int concurrent;
    OK(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, 0));
    if (!concurrent)
        return SKIP;
    OK(cudaMallocManaged(&cells, (rounds + 65536) * sizeof *cells));
    OK(cudaMallocManaged(&sum, sizeof *sum));
    memset(cells, 0, (rounds + 65536) * sizeof *cells);
    *sum = 0;
    done = cells + rounds + 32768;
    unsigned *busy = cells + rounds + 16384;
    for (unsigned k = 0; k < rounds; k++) {
        cells[k] = scramble(k);
        expected = expected * 3 + cells[k];
        step<<<1, 64>>>(busy, k % 10);
        add_cell<<<1, 1>>>(sum, cells + k, done);
        if (k % 200 == 199) {
            double begin = now();
            while (*done != k + 1)
                if (now() - begin > 5) {
                    printf("round %u: no progress\n", k);
                    return 1;
                }
        }
    }
    OK(cudaDeviceSynchronize());
    printf("sum %llu\n", *sum);
    print_hash("busy", busy, 256);
    return *sum != expected;
}

static const struct test tests[] = {
        {"huge_rows", huge_rows},   {"freed_target", freed_target},     {"mappings", mappings},
        {"registered", registered}, {"managed_beside", managed_beside},
};
TESTS_MAIN(tests)
