/* Launch loops for the benchmark: what every row shares.
 *
 * A row is one iteration of launches, written once with LAUNCH. The same code is run in four modes: as written (eager),
 * with a synchronise after each launch (the reference for the checksum), under stream capture (the hand-written graph),
 * and as patches of that graph's nodes (what an expert writes when arguments change).
 */
#ifndef AUTOGRAPH_BENCH_LOOPS_H
#define AUTOGRAPH_BENCH_LOOPS_H

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdint.h>
#include <tuple>
#include <utility>
#include <vector>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        cudaError_t check_code = (call);                                                                               \
        if (check_code != cudaSuccess) {                                                                               \
            printf("failed=%s:%d:%s\n", __FILE__, __LINE__, cudaGetErrorName(check_code));                             \
            fflush(stdout);                                                                                            \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

enum mode { MODE_EAGER, MODE_STEPPING, MODE_CAPTURING, MODE_PATCHING };

/* How the hand-written graph of a row is made. */
enum hand {
    HAND_NONE,   /* no graph can express it */
    HAND_REPLAY, /* the iterations repeat with the row's period: one graph for each */
    HAND_PATCH,  /* one graph; every node's parameters are set before each launch of it */
};

constexpr int STREAMS = 16;
constexpr int BUFFERS = 16;
constexpr int WORDS = 1 << 14; /* of each state buffer */

struct bench {
    enum mode mode;
    bool null_stream; /* the row asks for the legacy NULL stream; the hand-written graph uses stream[0] instead */
    cudaStream_t stream[STREAMS];
    cudaEvent_t event[STREAMS];
    unsigned *state[BUFFERS];
    cudaGraphExec_t exec;
    std::vector<cudaGraphNode_t> nodes;
    size_t cursor;
    long clock_khz;
    int multiprocessors;
};

struct row {
    const char *name;
    const char *help;
    int launches; /* of one iteration */
    enum hand hand;
    int period;
    bool timed; /* the iteration ends in a synchronise, so its own time is worth percentiles */
    void (*iterate)(struct bench *b, long i);
};

extern const struct row rows[];
extern const size_t rows_count;

/* After a launch in every mode but eager: waits for it, or notes the node that capture has just added. */
inline void after_launch(struct bench *b, cudaStream_t stream)
{
    if (b->mode == MODE_STEPPING) {
        CHECK(cudaStreamSynchronize(stream));
    } else if (b->mode == MODE_CAPTURING) {
        cudaStreamCaptureStatus status;
        const cudaGraphNode_t *last = nullptr;
        size_t count = 0;
#if CUDART_VERSION >= 13000
        CHECK(cudaStreamGetCaptureInfo(stream, &status, nullptr, nullptr, &last, nullptr, &count));
#else
        CHECK(cudaStreamGetCaptureInfo(stream, &status, nullptr, nullptr, &last, &count));
#endif
        b->nodes.push_back(count ? last[0] : nullptr);
    }
}

template <typename... Parameters, size_t... Index>
void patch_node(struct bench *b, void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t shared,
                std::tuple<Parameters...> &values, std::index_sequence<Index...>)
{
    void *pointers[] = {&std::get<Index>(values)...};
    cudaKernelNodeParams parameters = {};
    parameters.func = (void *)kernel;
    parameters.gridDim = grid;
    parameters.blockDim = block;
    parameters.sharedMemBytes = (unsigned)shared;
    parameters.kernelParams = pointers;
    CHECK(cudaGraphExecKernelNodeSetParams(b->exec, b->nodes[b->cursor++], &parameters));
}

template <typename... Parameters, typename... Arguments>
void patch(struct bench *b, void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t shared,
           const Arguments &...arguments)
{
    std::tuple<Parameters...> values(arguments...);
    patch_node(b, kernel, grid, block, shared, values, std::index_sequence_for<Parameters...>());
}

#define LAUNCH(b, kernel, grid, block, shared, where, ...)                                                             \
    do {                                                                                                               \
        if ((b)->mode == MODE_PATCHING) {                                                                              \
            patch(b, kernel, grid, block, shared, __VA_ARGS__);                                                        \
        } else {                                                                                                       \
            (kernel)<<<(grid), (block), (shared), (where)>>>(__VA_ARGS__);                                             \
            if ((b)->mode != MODE_EAGER)                                                                               \
                after_launch(b, where);                                                                                \
        }                                                                                                              \
    } while (0)

/* A number that depends on nothing but the place, so that every run launches the same. */
inline unsigned scramble(uint64_t x)
{
    x = (x + 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return (unsigned)(x >> 32);
}

#endif
