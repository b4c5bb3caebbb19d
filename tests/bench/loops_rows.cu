/* The rows of the launch-loop benchmark. Every kernel's result depends on the order of the launches before it. */
#include "loops.h"

__device__ static unsigned turn(unsigned x, unsigned a)
{
    return (x * 1664525u + a) ^ (x >> 11);
}

__global__ static void step(unsigned *state, unsigned a, unsigned b, int length)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < length)
        state[i] = turn(state[i], a) + b;
}

__global__ static void copy_step(const unsigned *from, unsigned *to, unsigned a)
{
    to[threadIdx.x] = turn(from[threadIdx.x], a);
}

template <int KIND> __global__ static void variant(unsigned *state, unsigned a)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    state[i] = turn(state[i] + KIND, a * (2 * KIND + 1));
}

typedef void (*variant_kernel)(unsigned *, unsigned);
static const variant_kernel variants[16] = {
        variant<0>, variant<1>, variant<2>,  variant<3>,  variant<4>,  variant<5>,  variant<6>,  variant<7>,
        variant<8>, variant<9>, variant<10>, variant<11>, variant<12>, variant<13>, variant<14>, variant<15>,
};

struct large {
    unsigned word[1016]; /* 4064 bytes: with the pointer and the length just under 4 KiB */
};

__global__ static void large_step(unsigned *state, const large block, int at)
{
    state[threadIdx.x] = turn(state[threadIdx.x], block.word[at] + block.word[(threadIdx.x * 7) % 1016]);
}

__global__ static void spin(unsigned *state, unsigned a, long long cycles)
{
    long long begin = clock64();
    while (clock64() - begin < cycles)
        ;
    if (blockIdx.x == 0)
        state[threadIdx.x] = turn(state[threadIdx.x], a);
}

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

static cudaStream_t first(const struct bench *b)
{
    return b->null_stream && b->mode != MODE_CAPTURING ? (cudaStream_t)0 : b->stream[0];
}

static void constant(struct bench *b, long)
{
    cudaStream_t s = first(b);
    for (unsigned k = 0; k < 100; k++)
        LAUNCH(b, step, 1, 64, 0, s, b->state[k % 4], k, 7u, 64);
}

static void constant_null(struct bench *b, long i)
{
    b->null_stream = true;
    constant(b, i);
}

/* Ten different kernels with the same arguments each time: content decides where chunks end. */
static void constant_mixed(struct bench *b, long)
{
    for (unsigned k = 0; k < 100; k++)
        LAUNCH(b, variants[scramble(k) % 10], 1, 64, 0, b->stream[0], b->state[k % 4], k);
}

static void changing(struct bench *b, long i)
{
    for (unsigned k = 0; k < 100; k++) {
        unsigned n = (unsigned)i * 100 + k;
        LAUNCH(b, step, 1, 64, 0, b->stream[0], b->state[n % 7], n, n ^ 0x55u, 32 + (int)(n % 32));
    }
}

static void double_buffered(struct bench *b, long i)
{
    for (unsigned k = 0; k < 101; k++) {
        unsigned odd = (unsigned)(i * 101 + k) & 1;
        LAUNCH(b, copy_step, 1, 64, 0, b->stream[0], b->state[odd], b->state[!odd], k);
    }
}

static void growing(struct bench *b, long i)
{
    int blocks = 1 + (int)(i % 60);
    for (unsigned k = 0; k < 100; k++)
        LAUNCH(b, step, blocks, 64, 0, b->stream[0], b->state[k % 4], k, 3u, blocks * 64);
}

static void random_kernels(struct bench *b, long i)
{
    for (unsigned k = 0; k < 100; k++) {
        unsigned r = scramble((uint64_t)i * 100 + k);
        LAUNCH(b, variants[r % 16], 1, 64, 0, b->stream[0], b->state[(r >> 8) % 4], r >> 16);
    }
}

template <int COUNT> static void sync_every(struct bench *b, long)
{
    for (unsigned k = 0; k < COUNT; k++)
        LAUNCH(b, variants[k % 5], 1, 64, 0, b->stream[0], b->state[0], k);
    if (b->mode == MODE_EAGER)
        CHECK(cudaStreamSynchronize(b->stream[0]));
}

template <int COUNT> static void sync_changing(struct bench *b, long i)
{
    for (unsigned k = 0; k < COUNT; k++)
        LAUNCH(b, variants[k % 5], 1, 64, 0, b->stream[0], b->state[(unsigned)(i + k) % 3], (unsigned)i * COUNT + k);
    if (b->mode == MODE_EAGER)
        CHECK(cudaStreamSynchronize(b->stream[0]));
}

/* Work goes out from stream 0 to the others and comes back, as a program with events writes it. */
template <int COUNT> static void streams(struct bench *b, long)
{
    CHECK(cudaEventRecord(b->event[0], b->stream[0]));
    for (int s = 1; s < COUNT; s++)
        CHECK(cudaStreamWaitEvent(b->stream[s], b->event[0], 0));
    for (unsigned k = 0; k < 100 / COUNT; k++)
        for (int s = 0; s < COUNT; s++)
            LAUNCH(b, variants[k % 4], 1, 64, 0, b->stream[s], b->state[s], k);
    for (int s = 1; s < COUNT; s++) {
        CHECK(cudaEventRecord(b->event[s], b->stream[s]));
        CHECK(cudaStreamWaitEvent(b->stream[0], b->event[s], 0));
    }
    for (int s = 1; s < COUNT; s++)
        LAUNCH(b, copy_step, 1, 64, 0, b->stream[0], b->state[s], b->state[s - 1], 5u);
}

static void copies(struct bench *b, long)
{
    cudaStream_t s = b->stream[0];
    for (unsigned k = 0; k < 25; k++) {
        CHECK(cudaMemsetAsync(b->state[1], (int)k, 256, s));
        LAUNCH(b, copy_step, 1, 64, 0, s, b->state[0], b->state[2], k);
        CHECK(cudaMemcpyAsync(b->state[0], b->state[2], 200, cudaMemcpyDeviceToDevice, s));
        LAUNCH(b, step, 1, 64, 0, s, b->state[0], k, 1u, 64);
    }
}

static void large_arguments(struct bench *b, long i)
{
    static large block;
    if (i == 0)
        block = {};
    for (unsigned k = 0; k < 50; k++) {
        block.word[(k * 20) % 1016] = (unsigned)i + k;
        LAUNCH(b, large_step, 1, 64, 0, b->stream[0], b->state[0], block, (int)((k * 20) % 1016));
    }
}

static void overlapped(struct bench *b, long)
{
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = 1;
    config.blockDim = 64;
    config.stream = b->stream[0];
    config.attrs = &attribute;
    config.numAttrs = 1;
    for (unsigned k = 0; k < 100; k++) {
        CHECK(cudaLaunchKernelEx(&config, dependent, b->state[0], k));
        if (b->mode != MODE_EAGER)
            after_launch(b, b->stream[0]);
    }
}

/* Kernels on every multiprocessor, of a fixed number of cycles, so that all marks run the same device work. */
template <int MICROSECONDS> static void gpu_bound(struct bench *b, long)
{
    long long cycles = (long long)MICROSECONDS * b->clock_khz / 1000;
    for (unsigned k = 0; k < 50; k++)
        LAUNCH(b, spin, b->multiprocessors, 128, 0, b->stream[0], b->state[k % 4], k, cycles);
}

/* Stands for host work: about the given number of microseconds without a CUDA call. */
static unsigned host_work(unsigned rounds, unsigned x)
{
    for (unsigned k = 0; k < rounds; k++)
        x = scramble(x + k);
    return x;
}

static volatile unsigned host_sink;

static void one_launch(struct bench *b, long i)
{
    host_sink = host_work(10000, (unsigned)i);
    LAUNCH(b, variant<3>, 1, 64, 0, b->stream[0], b->state[0], 9u);
    if (b->mode == MODE_EAGER)
        CHECK(cudaDeviceSynchronize());
}

static void host_only(struct bench *, long i)
{
    int device;
    CHECK(cudaGetDevice(&device));
    host_sink = host_work(20000, (unsigned)i + (unsigned)device);
}

static void storm(struct bench *b, long i)
{
    for (unsigned k = 0; k < 160; k++) {
        unsigned r = scramble((uint64_t)i * 160 + k + 1234567);
        unsigned s = k % STREAMS;
        LAUNCH(b, variants[r % 16], 1 + r % 3, 32 << (r >> 6) % 3, 0, b->stream[s], b->state[s], r >> 16);
    }
}

const struct row rows[] = {
        {"constant", "100 launches, same arguments", 100, HAND_REPLAY, 1, false, constant},
        {"constant_short", "the same, for a program that ends soon", 100, HAND_REPLAY, 1, false, constant},
        {"constant_null", "the same on the NULL stream", 100, HAND_REPLAY, 1, false, constant_null},
        {"constant_mixed", "10 different kernels, same arguments", 100, HAND_REPLAY, 1, false, constant_mixed},
        {"changing", "every argument changes", 100, HAND_PATCH, 1, false, changing},
        {"double_buffered", "two pointers swap at each launch", 101, HAND_REPLAY, 2, false, double_buffered},
        {"growing", "the grid grows", 100, HAND_PATCH, 1, false, growing},
        {"random", "16 kernels in an order that never repeats", 100, HAND_PATCH, 1, false, random_kernels},
        {"sync_1", "synchronise after each launch", 1, HAND_REPLAY, 1, true, sync_every<1>},
        {"sync_5", "synchronise every 5", 5, HAND_REPLAY, 1, true, sync_every<5>},
        {"sync_20", "synchronise every 20", 20, HAND_REPLAY, 1, true, sync_every<20>},
        {"sync_100", "synchronise every 100", 100, HAND_REPLAY, 1, true, sync_every<100>},
        {"sync_20_changing", "synchronise every 20, arguments change", 20, HAND_PATCH, 1, true, sync_changing<20>},
        {"streams_2", "two streams joined by events", 101, HAND_REPLAY, 1, false, streams<2>},
        {"streams_4", "four streams joined by events", 103, HAND_REPLAY, 1, false, streams<4>},
        {"copies", "kernels between memsets and copies", 100, HAND_REPLAY, 1, false, copies},
        {"args_4k", "4 KiB of arguments, one word changes", 50, HAND_PATCH, 1, false, large_arguments},
        {"pdl", "programmatic dependent launches", 100, HAND_REPLAY, 1, false, overlapped},
        {"gpu_8", "kernels of 8 us on every multiprocessor", 50, HAND_REPLAY, 1, false, gpu_bound<8>},
        {"gpu_13", "kernels of 13 us", 50, HAND_REPLAY, 1, false, gpu_bound<13>},
        {"gpu_25", "kernels of 25 us", 50, HAND_REPLAY, 1, false, gpu_bound<25>},
        {"gpu_50", "kernels of 50 us", 50, HAND_REPLAY, 1, false, gpu_bound<50>},
        {"one_launch", "host work, one launch, synchronise", 1, HAND_REPLAY, 1, true, one_launch},
        {"host_only", "no launches", 1, HAND_NONE, 1, true, host_only},
        {"storm", "16 streams, nothing repeats", 160, HAND_NONE, 1, false, storm},
};
const size_t rows_count = sizeof rows / sizeof *rows;
