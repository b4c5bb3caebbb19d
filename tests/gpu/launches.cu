/* Kinds of launches and of memory that only real hardware shows: each in a loop long enough to be replayed. */
#include "gpu.h"
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

/* Programmatic dependent launches: the secondary starts early and waits for the primary's memory. */
__global__ static void dependent(unsigned *state, unsigned a)
{
#if __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize();
#endif
    state[threadIdx.x] = turn(state[threadIdx.x], a);
#if __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
#endif
}

static int pdl(void)
{
    unsigned *state = device_zeros<unsigned>(64);
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = 1;
    config.blockDim = 64;
    config.stream = stream;
    config.attrs = &attribute;
    for (unsigned k = 0; k < 10000; k++) {
        config.numAttrs = k % 3 != 0;
        OK(cudaLaunchKernelEx(&config, dependent, state, k % 40 < 20 ? k % 40 : k));
    }
    print_hash("state", state, 256);
    must_replay(1000);
    return 0;
}

#define EARLY 64
#define LATE 8192

/* Lets the next launch start at once, and is still at work when that one looks for its results. */
__global__ static void primary(unsigned *data, unsigned a, long long cycles)
{
#if __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
    cudaGridDependencySynchronize();
#endif
    long long begin = clock64();
    while (clock64() - begin < cycles)
        ;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < LATE; i += gridDim.x * blockDim.x)
        data[i] = turn(data[i], a + i);
}

/* Starts while the primary runs; what it reads after the wait must be the primary's. */
__global__ static void secondary(unsigned *out, const unsigned *data, unsigned a)
{
    unsigned own = a * 3u + threadIdx.x; /* what may be done early */
#if __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize();
#endif
    for (unsigned i = threadIdx.x; i < LATE; i += EARLY)
        own = turn(own, data[i]);
    out[threadIdx.x] = turn(out[threadIdx.x], own);
}

/* Pairs that overlap, and chains in which each overlaps the one before, after launches that do not. */
static int pdl_pairs(void)
{
    unsigned *data = device_zeros<unsigned>(LATE), *out = device_zeros<unsigned>(EARLY);
    cudaStream_t stream;
    int major;
    OK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    if (major < 9)
        return SKIP;
    OK(cudaStreamCreate(&stream));
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.stream = stream;
    config.attrs = &attribute;
    const long long cycles = cycles_of(3);
    for (unsigned k = 0; k < 10000; k++) {
        config.gridDim = 8;
        config.blockDim = 256;
        config.numAttrs = k % 5 != 0; /* every fifth pair begins with a launch that waits */
        OK(cudaLaunchKernelEx(&config, primary, data, k % 25, cycles));
        config.gridDim = 1;
        config.blockDim = EARLY;
        config.numAttrs = 1;
        OK(cudaLaunchKernelEx(&config, secondary, out, (const unsigned *)data, k % 10));
        if (k % 7 == 3) /* something of another kind ends the chain */
            OK(cudaMemsetAsync(data + k % LATE, (int)k % 100, 4, stream));
    }
    print_hash("data", data, LATE * 4);
    print_hash("out", out, EARLY * 4);
    must_replay(1000);
    return 0;
}

__global__ static void neighbours(unsigned *out, unsigned a)
{
#if __CUDA_ARCH__ >= 900
    __shared__ unsigned own[32];
    cg::cluster_group cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank(), blocks = cluster.num_blocks();
    own[threadIdx.x] = out[blockIdx.x * 32 + threadIdx.x] + a;
    cluster.sync();
    unsigned other = cluster.map_shared_rank(own, (rank + 1) % blocks)[threadIdx.x];
    cluster.sync();
    out[blockIdx.x * 32 + threadIdx.x] = turn(other, a + rank);
#endif
}

static int cluster(void)
{
    int major;
    OK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    if (major < 9)
        return SKIP;
    unsigned *state = device_zeros<unsigned>(32 * 16);
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    cudaLaunchConfig_t config = {};
    config.gridDim = 16;
    config.blockDim = 32;
    config.attrs = &attribute;
    config.numAttrs = 1;
    for (unsigned k = 0; k < 10000; k++) {
        attribute.val.clusterDim.x = k % 5 == 4 ? 4 : 2; /* the shape of clusters is part of what a launch is */
        attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
        OK(cudaLaunchKernelEx(&config, neighbours, state, k % 50));
    }
    print_hash("state", state, 32 * 16 * 4);
    must_replay(1000);
    attribute.val.clusterDim.x = 3;
    CODE(cudaLaunchKernelEx(&config, neighbours, state, 0u));
    CODE(cudaGetLastError());
    print_hash("after refusal", state, 32 * 16 * 4);
    return 0;
}

__global__ static void phases(unsigned *count, unsigned *wrong)
{
    cg::grid_group grid = cg::this_grid();
    unsigned blocks = gridDim.x;
    for (unsigned phase = 0; phase < 4; phase++) {
        if (threadIdx.x == 0)
            atomicAdd(&count[phase], 1);
        grid.sync();
        if (threadIdx.x == 0 && *(volatile unsigned *)&count[phase] % blocks)
            atomicAdd(wrong, 1);
        grid.sync();
    }
}

static int cooperative(void)
{
    unsigned *count = device_zeros<unsigned>(8), *state = device_zeros<unsigned>(64);
    unsigned *wrong = count + 4;
    int per, processors;
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per, phases, 256, 0));
    OK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
    void *arguments[] = {&count, &wrong};
    for (int k = 0; k < 10000; k++) {
        if (k % 30 == 0)
            train(state, 0, 1);
        OK(cudaLaunchCooperativeKernel(phases, dim3(per * processors), dim3(256), arguments, 0, 0));
    }
    print_hash("phases", count, 5 * 4);
    print_hash("state", state, 256);
    unsigned bad;
    OK(cudaMemcpy(&bad, wrong, 4, cudaMemcpyDeviceToHost));
    printf("phases that met too few: %u\n", bad);
    CODE(cudaLaunchCooperativeKernel(phases, dim3(per * processors + 1), dim3(256), arguments, 0, 0));
    CODE(cudaGetLastError());
    print_hash("after refusal", count, 5 * 4);
    return bad != 0;
}

__global__ static void sample(cudaTextureObject_t texture, cudaSurfaceObject_t surface, float *sum, int width,
                              float add)
{
    int x = threadIdx.x, y = blockIdx.x;
    float v = tex2D<float>(texture, (float)x + 0.5f, (float)y + 0.5f);
    sum[y * width + x] += v;
    surf2Dwrite(v * 0.5f + add, surface, x * (int)sizeof(float), y);
}

static int textures(void)
{
    constexpr int side = 32;
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    OK(cudaMallocArray(&array, &format, side, side, cudaArraySurfaceLoadStore));
    std::vector<float> host(side * side, 1.0f);
    OK(cudaMemcpy2DToArray(array, 0, 0, host.data(), side * 4, side * 4, side, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc description = {};
    description.readMode = cudaReadModeElementType;
    float *sum = device_zeros<float>(side * side);
    for (int round = 0; round < 5; round++) { /* objects come and go while launches that use them are under way */
        cudaTextureObject_t texture;
        cudaSurfaceObject_t surface;
        OK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
        OK(cudaCreateSurfaceObject(&surface, &resource));
        for (int k = 0; k < 200; k++)
            sample<<<side, side>>>(texture, surface, sum, side, (float)(k % 16));
        OK(cudaDestroyTextureObject(texture));
        OK(cudaDestroySurfaceObject(surface));
    }
    print_hash("sum", sum, side * side * 4);
    OK(cudaFreeArray(array));
    return 0;
}

static int managed(void)
{
    unsigned *shared, total = 0;
    OK(cudaMallocManaged(&shared, 64 * sizeof(unsigned)));
    memset(shared, 0, 64 * sizeof(unsigned));
    for (unsigned k = 0; k < 300; k++) {
        for (unsigned j = 0; j < 20; j++)
            step<<<1, 64>>>(shared, j);
        OK(cudaDeviceSynchronize());
        total = total * 31 + shared[k % 64];
        shared[(k + 1) % 64] += k; /* the host writes between the launches */
    }
    printf("total %u\n", total);
    OK(cudaFree(shared));
    return 0;
}

__constant__ static unsigned symbol;
__global__ static void add_symbol(unsigned long long *sum, unsigned a)
{
    *sum = *sum * 3 + symbol + a;
}

/* A constant is set between launches: from pageable memory at once, and from pinned memory in stream order. */
static int symbols(void)
{
    unsigned long long *sum = device_zeros<unsigned long long>(2);
    unsigned *pinned;
    cudaStream_t stream;
    cudaEvent_t free_again[16];
    OK(cudaStreamCreate(&stream));
    OK(cudaHostAlloc(&pinned, 16 * sizeof *pinned, 0));
    for (cudaEvent_t &e : free_again)
        OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    for (unsigned k = 0; k < 2000; k++) {
        OK(cudaMemcpyToSymbol(symbol, &k, sizeof k));
        add_symbol<<<1, 1>>>(sum, 1);
    }
    OK(cudaDeviceSynchronize());
    for (unsigned k = 0; k < 10000; k++) {
        if (k >= 16)
            OK(cudaEventSynchronize(free_again[k % 16]));
        pinned[k % 16] = k;
        OK(cudaMemcpyToSymbolAsync(symbol, &pinned[k % 16], sizeof k, 0, cudaMemcpyHostToDevice, stream));
        OK(cudaEventRecord(free_again[k % 16], stream));
        add_symbol<<<1, 1, 0, stream>>>(sum + 1, 2);
    }
    print_hash("sums", sum, 16);
    return 0;
}

/* Two streams take turns with one constant, ordered by events. */
static int symbols_two_streams(void)
{
    unsigned long long *sum = device_zeros<unsigned long long>(1);
    unsigned *pinned;
    cudaStream_t streams[2];
    cudaEvent_t done[2], copied[16];
    OK(cudaHostAlloc(&pinned, 16 * sizeof *pinned, 0));
    for (int s = 0; s < 2; s++) {
        OK(cudaStreamCreateWithFlags(&streams[s], cudaStreamNonBlocking));
        OK(cudaEventCreateWithFlags(&done[s], cudaEventDisableTiming));
    }
    for (cudaEvent_t &e : copied)
        OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    unsigned long long expected = 0;
    for (unsigned k = 0; k < 10000; k++) {
        cudaStream_t here = streams[k % 2];
        if (k >= 16)
            OK(cudaEventSynchronize(copied[k % 16]));
        pinned[k % 16] = k;
        OK(cudaStreamWaitEvent(here, done[(k + 1) % 2], 0));
        OK(cudaMemcpyToSymbolAsync(symbol, &pinned[k % 16], sizeof k, 0, cudaMemcpyHostToDevice, here));
        OK(cudaEventRecord(copied[k % 16], here));
        add_symbol<<<1, 1, 0, here>>>(sum, 3);
        OK(cudaEventRecord(done[k % 2], here));
        expected = expected * 3 + k + 3;
    }
    unsigned long long is;
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(&is, sum, sizeof is, cudaMemcpyDeviceToHost));
    printf("sum %llu\n", is);
    return is != expected;
}

static int pools(void)
{
    cudaStream_t stream;
    unsigned *result = device_zeros<unsigned>(64);
    OK(cudaStreamCreate(&stream));
    for (unsigned k = 0; k < 1000; k++) {
        unsigned *a, *b;
        OK(cudaMallocAsync(&a, 256 + (k % 3) * 4096, stream));
        OK(cudaMemsetAsync(a, (int)k, 256, stream));
        step<<<1, 64, 0, stream>>>(a, k % 10);
        OK(cudaMallocAsync(&b, 256, stream));
        OK(cudaMemcpyAsync(b, a, 256, cudaMemcpyDeviceToDevice, stream));
        OK(cudaFreeAsync(a, stream));
        step<<<1, 64, 0, stream>>>(b, 3);
        OK(cudaMemcpyAsync(result, b, 128, cudaMemcpyDeviceToDevice, stream));
        step<<<1, 64, 0, stream>>>(result, 4);
        OK(cudaFreeAsync(b, stream));
    }
    print_hash("result", result, 256);
    return 0;
}

extern __shared__ unsigned scratch[];
__global__ static void fill_shared(unsigned *state, int words)
{
    for (int k = (int)threadIdx.x; k < words; k += (int)blockDim.x)
        scratch[k] = state[threadIdx.x] + (unsigned)k;
    __syncthreads();
    state[threadIdx.x] = turn(state[threadIdx.x], scratch[words - 1 - (int)threadIdx.x]);
}

/* The limit goes up for one launch and down for the next, and a launch beyond it is refused exactly as ever. */
static int shared_memory(void)
{
    static const int sizes[] = {100 * 1024, 16 * 1024, 64 * 1024, 4 * 1024, 49 * 1024};
    unsigned *state = device_zeros<unsigned>(64);
    for (int k = 0; k < 2000; k++) {
        int bytes = sizes[k % 5];
        OK(cudaFuncSetAttribute(fill_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
        fill_shared<<<1, 64, (size_t)bytes>>>(state, bytes / 4);
        OK(cudaGetLastError());
        if (k % 400 == 399) {
            cudaFuncAttributes attributes;
            OK(cudaFuncGetAttributes(&attributes, fill_shared));
            printf("limit %d\n", attributes.maxDynamicSharedSizeBytes);
            fill_shared<<<1, 64, (size_t)bytes + 16>>>(state, bytes / 4);
            CODE(cudaGetLastError());
            CODE(cudaFuncSetAttribute(fill_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20));
            CODE(cudaGetLastError());
            fill_shared<<<1, 64, (size_t)bytes>>>(state, bytes / 4);
            CODE(cudaGetLastError());
        }
    }
    print_hash("state", state, 256);
    return 0;
}

template <int WORDS> struct words {
    unsigned word[WORDS];
};

template <int WORDS> __global__ static void sum_words(unsigned long long *sum, const words<WORDS> block)
{
    unsigned total = 0;
    for (int k = 0; k < WORDS; k += 13)
        total += block.word[k];
    *sum = *sum * 31 + total + block.word[WORDS - 2];
}

template <int WORDS> static void large(unsigned long long *sum)
{
    static words<WORDS> block;
    for (int k = 0; k < WORDS; k++)
        block.word[k] = scramble((unsigned)k);
    for (unsigned k = 0; k < 600; k++) {
        block.word[WORDS - 2] = k;
        sum_words<WORDS><<<1, 1>>>(sum, block);
        OK(cudaGetLastError());
    }
    OK(cudaDeviceSynchronize());
    printf("%d bytes: ", WORDS * 4);
    print_hash("sum", sum, 8);
}

/* Beyond 4 KB; the last one is all that the driver takes. */
static int larger_arguments(void)
{
    unsigned long long *sum = device_zeros<unsigned long long>(1);
    large<1024>(sum);
    large<1025>(sum);
    large<2000>(sum);
    large<8189>(sum);
    must_replay(500);
    return 0;
}

struct padded {
    char small;
    double value; /* seven bytes before this are left as they are */
    short tail;
};

__global__ static void add_padded(double *sum, const padded p)
{
    *sum = *sum * 0.5 + p.value + p.small + p.tail;
}

static int large_arguments(void)
{
    unsigned long long *sum = device_zeros<unsigned long long>(1);
    double *real = device_zeros<double>(1);
    large<1016>(sum);
    large<1022>(sum); /* 4096 bytes with the pointer before it */
    for (unsigned k = 0; k < 1000; k++) {
        padded p;
        memset(&p, (int)scramble(k), sizeof p);
        p.small = 1;
        p.value = 2.5;
        p.tail = 3;
        add_padded<<<1, 1>>>(real, p);
    }
    print_hash("padded", real, 8);
    must_replay(1000);
    return 0;
}

__global__ static void store(unsigned *out, unsigned at, unsigned value)
{
    out[at] = value;
}

/* One kernel many times, each launch with its own value: two launches must not share an argument block. */
static int own_values(void)
{
    unsigned *out = device_zeros<unsigned>(100), host[100], bad = 0;
    for (unsigned round = 0; round < 200; round++) {
        for (unsigned k = 0; k < 100; k++)
            store<<<1, 1>>>(out, k, round * 1000 + k);
        OK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
        for (unsigned k = 0; k < 100; k++)
            bad += host[k] != round * 1000 + k;
    }
    printf("bad %u\n", bad);
    must_replay(5000);
    return bad != 0;
}

/* What a stream says about its launches, set before a loop and changed in the middle of it. */
static int stream_attributes(void)
{
    unsigned *state = device_zeros<unsigned>(1 << 16);
    cudaStream_t stream;
    cudaStreamAttrValue value = {}, back = {};
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int round = 0; round < 40; round++) {
        cudaStreamAttrID which = cudaStreamAttributeAccessPolicyWindow;
        value = {};
        switch (round % 4) {
        case 0: /* a window of memory that is to stay in the cache */
            value.accessPolicyWindow.base_ptr = state;
            value.accessPolicyWindow.num_bytes = (size_t)(1 + round % 8) << 14;
            value.accessPolicyWindow.hitRatio = 0.5f;
            value.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
            value.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
            break;
        case 1:
            which = cudaLaunchAttributeMemSyncDomain;
            value.memSyncDomain = round % 8 < 4 ? cudaLaunchMemSyncDomainRemote : cudaLaunchMemSyncDomainDefault;
            break;
        case 2:
            which = cudaLaunchAttributeMemSyncDomainMap;
            value.memSyncDomainMap.default_ = 0;
            value.memSyncDomainMap.remote = round % 8 < 4 ? 0 : 1;
            break;
        default: /* no window any more */
            break;
        }
        CODE(cudaStreamSetAttribute(stream, which, &value));
        CODE(cudaStreamGetAttribute(stream, which, &back));
        size_t told = which == cudaLaunchAttributeMemSyncDomain ? 4 : 2;
        bool kept = which == cudaStreamAttributeAccessPolicyWindow
                            ? back.accessPolicyWindow.num_bytes == value.accessPolicyWindow.num_bytes
                            : !memcmp(&back, &value, told);
        printf("kept %d\n", kept);
        cudaGetLastError(); /* what a device cannot do is told above */
        for (unsigned k = 0; k < 100; k++)
            step<<<64, 64, 0, stream>>>(state, k % 20);
        OK(cudaGetLastError());
    }
    print_hash("state", state, (1 << 16) * 4);
    CODE(cudaCtxResetPersistingL2Cache());
    train(state, stream, 10);
    print_hash("state", state, (1 << 16) * 4);
    return 0;
}

static const struct test tests[] = {
        {"pdl", pdl},
        {"pdl_pairs", pdl_pairs},
        {"cluster", cluster},
        {"cooperative", cooperative},
        {"textures", textures},
        {"managed", managed},
        {"symbols", symbols},
        {"symbols_two_streams", symbols_two_streams},
        {"pools", pools},
        {"shared_memory", shared_memory},
        {"large_arguments", large_arguments},
        {"larger_arguments", larger_arguments},
        {"own_values", own_values},
        {"stream_attributes", stream_attributes},
};
TESTS_MAIN(tests)
