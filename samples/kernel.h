/* One kernel source for both worlds: under nvcc KERNEL() makes a `__global__` function; under a C compiler it makes a C
 * function, a description of its parameters, and a loop over the grid, for the simulated driver (which loads the shared
 * object and looks up `sim_kernel_table`).
 *
 *   KERNEL(scale, (float *, data), (float, factor), (unsigned, count))
 *   {
 *           unsigned i = KERNEL_INDEX;
 *           if (i < count)
 *                   data[i] *= factor;
 *   }
 *   KERNEL_BARE(name) { ... }                a kernel without parameters
 *   KERNEL_TABLE(KERNEL_ROW(scale))          at the end of the source
 *
 * Knows: how a kernel is declared. Refuses to know: the driver API. On the simulator the threads of a grid run one
 * after another on the stream's thread, so there is no barrier; KERNEL_LOAD and KERNEL_STORE are for memory that the
 * host reads or writes meanwhile.
 */
#ifndef SAMPLES_KERNEL_H
#define SAMPLES_KERNEL_H

#define KN_CAT_(a, b) a##b
#define KN_CAT(a, b) KN_CAT_(a, b)
#define KN_NARGS_(a, b, c, d, e, f, g, h, n, ...) n
#define KN_NARGS(...) KN_NARGS_(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define KN_DECL(type, name) type name
#define KN_FIELD(type, name) type name;
#define KN_EACH1(m, a) m a
#define KN_EACH2(m, a, b) m a, m b
#define KN_EACH3(m, a, b, c) m a, m b, m c
#define KN_EACH4(m, a, b, c, d) m a, m b, m c, m d
#define KN_EACH5(m, a, b, c, d, e) m a, m b, m c, m d, m e
#define KN_EACH6(m, a, b, c, d, e, f) m a, m b, m c, m d, m e, m f
#define KN_EACH7(m, a, b, c, d, e, f, g) m a, m b, m c, m d, m e, m f, m g
#define KN_EACH8(m, a, b, c, d, e, f, g, h) m a, m b, m c, m d, m e, m f, m g, m h
#define KN_EACH(m, ...) KN_CAT(KN_EACH, KN_NARGS(__VA_ARGS__))(m, __VA_ARGS__)

#if defined(__CUDACC__)

#define KERNEL(name, ...) extern "C" __global__ void name(KN_EACH(KN_DECL, __VA_ARGS__))
#define KERNEL_BARE(name) extern "C" __global__ void name(void)
#define KERNEL_TABLE(...)
#define KERNEL_ROW(name)
#define KERNEL_GLOBAL_ROW(name)
#define KERNEL_GLOBAL extern "C" __device__
#define KERNEL_DEVICE static __device__
#define KERNEL_INDEX (blockIdx.x * blockDim.x + threadIdx.x)
#define KERNEL_THREADS (gridDim.x * blockDim.x)
#define KERNEL_BLOCK_Y (blockIdx.y)
#define KERNEL_BLOCK_SIZE (blockDim.x)
#define KERNEL_SHARED(type, name) extern __shared__ type name[]
#define KERNEL_LOAD(p) (*(volatile unsigned int *)(p))
#define KERNEL_STORE(p, v)                                                                                             \
    do {                                                                                                               \
        __threadfence_system();                                                                                        \
        *(volatile unsigned int *)(p) = (v);                                                                           \
        __threadfence_system();                                                                                        \
    } while (0)
#define KERNEL_ADD(p, v) atomicAdd((p), (v))
#define KERNEL_FAULT(code) ((void)(code), *(volatile int *)16 = 1)
KERNEL_DEVICE unsigned long long kernel_time_ns(void)
{
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

#else

#include "samples/kernel_info.h"

#include <time.h>

struct kernel_coord {
    unsigned int x, y, z;
};
static __thread struct kernel_coord threadIdx, blockIdx, blockDim, gridDim;
static __thread const struct sim_grid *kernel_launch __attribute__((unused));

#define KN_PASS(type, name) kn_a->name
/* The argument struct needs distinct field lines, so it is made by a list of its own. */
#define KN_F1(a) KN_FIELD a
#define KN_F2(a, ...) KN_FIELD a KN_F1(__VA_ARGS__)
#define KN_F3(a, ...) KN_FIELD a KN_F2(__VA_ARGS__)
#define KN_F4(a, ...) KN_FIELD a KN_F3(__VA_ARGS__)
#define KN_F5(a, ...) KN_FIELD a KN_F4(__VA_ARGS__)
#define KN_F6(a, ...) KN_FIELD a KN_F5(__VA_ARGS__)
#define KN_F7(a, ...) KN_FIELD a KN_F6(__VA_ARGS__)
#define KN_F8(a, ...) KN_FIELD a KN_F7(__VA_ARGS__)
#define KN_FIELDS(...) KN_CAT(KN_F, KN_NARGS(__VA_ARGS__))(__VA_ARGS__)

/* Does it for every thread of the grid. */
#define KN_GRID(call)                                                                                                  \
    kernel_launch = grid;                                                                                              \
    gridDim = (struct kernel_coord){grid->grid[0], grid->grid[1], grid->grid[2]};                                      \
    blockDim = (struct kernel_coord){grid->block[0], grid->block[1], grid->block[2]};                                  \
    for (blockIdx.z = 0; blockIdx.z < gridDim.z; blockIdx.z++)                                                         \
        for (blockIdx.y = 0; blockIdx.y < gridDim.y; blockIdx.y++)                                                     \
            for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++)                                                 \
                for (threadIdx.z = 0; threadIdx.z < blockDim.z; threadIdx.z++)                                         \
                    for (threadIdx.y = 0; threadIdx.y < blockDim.y; threadIdx.y++)                                     \
                        for (threadIdx.x = 0; threadIdx.x < blockDim.x; threadIdx.x++)                                 \
    call

#define KERNEL(kernel_, ...)                                                                                           \
    struct kn_args_##kernel_ {                                                                                         \
        KN_FIELDS(__VA_ARGS__)                                                                                         \
    };                                                                                                                 \
    static void kn_body_##kernel_(KN_EACH(KN_DECL, __VA_ARGS__));                                                      \
    static void kn_call_##kernel_(const struct kn_args_##kernel_ *kn_a)                                                \
    {                                                                                                                  \
        kn_body_##kernel_(KN_EACH(KN_PASS, __VA_ARGS__));                                                              \
    }                                                                                                                  \
    static void kn_run_##kernel_(const struct sim_grid *grid, const unsigned char *args)                               \
    {                                                                                                                  \
        struct kn_args_##kernel_ kn_a;                                                                                 \
        __builtin_memcpy(&kn_a, args, sizeof(kn_a));                                                                   \
        KN_GRID(kn_call_##kernel_(&kn_a));                                                                             \
    }                                                                                                                  \
    static const struct sim_kernel_info kn_info_##kernel_ = {                                                          \
            .name = #kernel_,                                                                                          \
            .run = kn_run_##kernel_,                                                                                   \
            .n_params = KN_NARGS(__VA_ARGS__),                                                                         \
            .args_size = sizeof(struct kn_args_##kernel_),                                                             \
            .params = {KN_LAYOUT(kernel_, __VA_ARGS__)},                                                               \
    };                                                                                                                 \
    static void kn_body_##kernel_(KN_EACH(KN_DECL, __VA_ARGS__))

#define KERNEL_BARE(kernel_)                                                                                           \
    static void kn_body_##kernel_(void);                                                                               \
    static void kn_run_##kernel_(const struct sim_grid *grid, const unsigned char *args)                               \
    {                                                                                                                  \
        (void)args;                                                                                                    \
        KN_GRID(kn_body_##kernel_());                                                                                  \
    }                                                                                                                  \
    static const struct sim_kernel_info kn_info_##kernel_ = {.name = #kernel_, .run = kn_run_##kernel_};               \
    static void kn_body_##kernel_(void)

/* {offset, size} of each parameter: the kernel's name has to travel with every element. */
#define KN_AT(k, pair) KN_AT_(k, KN_SECOND pair)
#define KN_SECOND(type, name) name
#define KN_AT_(k, f)                                                                                                   \
    {                                                                                                                  \
        offsetof(struct kn_args_##k, f), sizeof(((struct kn_args_##k *)0)->f)                                          \
    }
#define KN_L1(k, a) KN_AT(k, a)
#define KN_L2(k, a, ...) KN_AT(k, a), KN_L1(k, __VA_ARGS__)
#define KN_L3(k, a, ...) KN_AT(k, a), KN_L2(k, __VA_ARGS__)
#define KN_L4(k, a, ...) KN_AT(k, a), KN_L3(k, __VA_ARGS__)
#define KN_L5(k, a, ...) KN_AT(k, a), KN_L4(k, __VA_ARGS__)
#define KN_L6(k, a, ...) KN_AT(k, a), KN_L5(k, __VA_ARGS__)
#define KN_L7(k, a, ...) KN_AT(k, a), KN_L6(k, __VA_ARGS__)
#define KN_L8(k, a, ...) KN_AT(k, a), KN_L7(k, __VA_ARGS__)
#define KN_LAYOUT(k, ...) KN_CAT(KN_L, KN_NARGS(__VA_ARGS__))(k, __VA_ARGS__)

#define KERNEL_TABLE(...)                                                                                              \
    extern const struct sim_kernel_info *const sim_kernel_table[];                                                     \
    __attribute__((visibility("default"))) const struct sim_kernel_info *const sim_kernel_table[] = {__VA_ARGS__ NULL};
#define KERNEL_ROW(name) &kn_info_##name,
#define KERNEL_GLOBAL_ROW(variable)                                                                                    \
    &(const struct sim_kernel_info){.name = #variable, .global = &variable, .global_size = sizeof(variable)},
#define KERNEL_GLOBAL static
#define KERNEL_DEVICE static inline __attribute__((unused))
#define KERNEL_INDEX (blockIdx.x * blockDim.x + threadIdx.x)
#define KERNEL_THREADS (gridDim.x * blockDim.x)
#define KERNEL_BLOCK_Y (blockIdx.y)
#define KERNEL_BLOCK_SIZE (blockDim.x)
#define KERNEL_SHARED(type, name) type *name = (type *)(void *)kernel_launch->shared
#define KERNEL_LOAD(p) __atomic_load_n((const unsigned int *)(p), __ATOMIC_ACQUIRE)
#define KERNEL_STORE(p, v) __atomic_store_n((unsigned int *)(p), (v), __ATOMIC_RELEASE)
#define KERNEL_ADD(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
#define KERNEL_FAULT(code) kernel_launch->fault(code)
KERNEL_DEVICE unsigned long long kernel_time_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned long long)now.tv_sec * 1000000000ull + (unsigned long long)now.tv_nsec;
}

#endif
#endif
