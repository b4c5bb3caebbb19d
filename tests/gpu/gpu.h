/* What the GPU tests share. Each program holds several tests: `program list` names them, `program NAME` runs one.
 *
 * A test prints what a correct run prints, the same each time: the runner compares the text of a plain run with that of
 * a run under the shim, byte for byte, and the exit status. Lines that begin with "# " are for people and not compared;
 * "~ NAME VALUE LIMIT" is a time that may grow at most by the factor LIMIT; "@ replayed N" says that the shim must
 * replay so many launches, or the test shows nothing. A test returns 0, 1 (failed) or 77 (cannot run here).
 */
#ifndef AUTOGRAPH_GPU_GPU_H
#define AUTOGRAPH_GPU_GPU_H

#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <vector>

#define SKIP 77

struct test {
    const char *name;
    int (*run)(void);
};

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        cudaError_t ok_code = (call);                                                                                  \
        if (ok_code != cudaSuccess) {                                                                                  \
            printf("%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorName(ok_code));                                      \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* Prints the code of a call whatever it is. */
#define CODE(call) printf("%s -> %s\n", #call, cudaGetErrorName(call))

/* The least number of launches that the shim must replay; far below what it should. */
static inline void must_replay(int launches)
{
    printf("@ replayed %d\n", launches);
}

static inline double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static inline uint64_t hash_bytes(const void *data, size_t bytes)
{
    uint64_t value = 1469598103934665603ull;
    for (size_t k = 0; k < bytes; k++)
        value = (value ^ ((const unsigned char *)data)[k]) * 1099511628211ull;
    return value;
}

/* Waits for the device and prints a hash of device memory. */
static inline void print_hash(const char *what, const void *device, size_t bytes)
{
    std::vector<unsigned char> host(bytes);
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(host.data(), device, bytes, cudaMemcpyDeviceToHost));
    printf("%s %016llx\n", what, (unsigned long long)hash_bytes(host.data(), bytes));
}

/* A number that looks random and is the same in every run. */
static inline unsigned scramble(unsigned x)
{
    x = (x ^ 0x9e3779b9u) * 0x85ebca6bu;
    x = (x ^ (x >> 13)) * 0xc2b2ae35u;
    return x ^ (x >> 16);
}

template <typename T> static T *device_zeros(size_t count)
{
    T *p;
    OK(cudaMalloc(&p, count * sizeof(T)));
    OK(cudaMemset(p, 0, count * sizeof(T)));
    OK(cudaDeviceSynchronize()); /* streams that do not wait for the NULL stream must find the zeros too */
    return p;
}

/* Host memory that the device sees at the address returned in *device. */
template <typename T> static volatile T *mapped_zeros(size_t count, T **device)
{
    T *p;
    OK(cudaHostAlloc(&p, count * sizeof(T), cudaHostAllocMapped));
    memset(p, 0, count * sizeof(T));
    OK(cudaHostGetDevicePointer(device, p, 0));
    return p;
}

#ifdef __CUDACC__
__device__ static unsigned turn(unsigned x, unsigned a)
{
    return (x * 1664525u + a) ^ (x >> 11);
}

/* The order of launches shows in what this leaves behind. */
__global__ static void step(unsigned *state, unsigned a)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    state[i] = turn(state[i], a);
}

__global__ static void spin(long long cycles)
{
    long long begin = clock64();
    while (clock64() - begin < cycles)
        ;
}

/* Holds the device until the host stores something at *flag, at most about ten seconds. */
__global__ static void wait_for(volatile int *flag)
{
    for (long k = 0; k < 40000000 && !*flag; k++)
        __nanosleep(200);
}

/* Launches until the shim has seen the sequence often enough to replay it. */
static inline void train(unsigned *state, cudaStream_t stream, int rounds)
{
    for (int r = 0; r < rounds; r++)
        for (unsigned k = 0; k < 20; k++)
            step<<<1, 64, 0, stream>>>(state, k);
}
#endif

static inline long long cycles_of(double microseconds)
{
    int khz;
    OK(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0));
    return (long long)(microseconds * khz / 1000);
}

static inline int run_tests(int argc, char **argv, const struct test *tests, size_t count)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    for (size_t k = 0; k < count; k++) {
        if (argc > 1 && !strcmp(argv[1], "list"))
            printf("%s\n", tests[k].name);
        else if (argc > 1 && !strcmp(argv[1], tests[k].name))
            return tests[k].run();
    }
    if (argc > 1 && !strcmp(argv[1], "list"))
        return 0;
    fprintf(stderr, "usage: %s list|NAME\n", argv[0]);
    return 2;
}

#define TESTS_MAIN(tests)                                                                                              \
    int main(int argc, char **argv)                                                                                    \
    {                                                                                                                  \
        return run_tests(argc, argv, tests, sizeof tests / sizeof *tests);                                             \
    }

#endif
