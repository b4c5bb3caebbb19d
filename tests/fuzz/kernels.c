/* The kernels of fuzz programs, for the simulated driver: all three dimensions of grid and block mean something. A word
 * is the one of the thread with its number, threads counted through the whole grid, and what a kernel adds depends on
 * every dimension, so a launch with other dimensions than the program's shows even where it has as many threads.
 */
#include "samples/kernel.h"

KERNEL_DEVICE unsigned thread_in_block(void)
{
    return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}

KERNEL_DEVICE unsigned threads_of_block(void)
{
    return blockDim.x * blockDim.y * blockDim.z;
}

KERNEL_DEVICE unsigned number(void)
{
    unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    return block * threads_of_block() + thread_in_block();
}

KERNEL_DEVICE unsigned shape(void)
{
    return ((((gridDim.x * 31u + gridDim.y) * 31u + gridDim.z) * 31u + blockDim.x) * 31u + blockDim.y) * 31u +
           blockDim.z;
}

KERNEL(fill, (unsigned *, data), (unsigned, value), (unsigned, count))
{
    unsigned i = number();
    if (i < count)
        data[i] = value + shape();
}

/* Does not commute with itself, so every order and every argument shows in the result. */
KERNEL(step, (unsigned *, data), (unsigned, value), (unsigned, count))
{
    unsigned i = number();
    if (i < count)
        data[i] = data[i] * 3u + value + shape();
}

KERNEL(mix, (unsigned *, out), (const unsigned *, in), (unsigned, key), (unsigned, count))
{
    unsigned i = number();
    if (i < count)
        out[i] = (in[i] ^ key) * 2654435761u + in[(i + 1) % count] + shape();
}

/* Arguments of several sizes, so that the layout has gaps. */
KERNEL(gaps, (unsigned char, small), (unsigned *, data), (unsigned short, middle), (double, wide), (unsigned, count))
{
    unsigned i = number();
    if (i < count)
        data[i] = data[i] * 5u + small + 256u * middle + (unsigned)wide + shape();
}

struct pair {
    unsigned char tag; /* three bytes of padding follow */
    unsigned factor;
    unsigned long long bias;
};

KERNEL(by_value, (struct pair, pair), (unsigned *, data), (unsigned, count))
{
    unsigned i = number();
    if (i < count)
        data[i] = data[i] * pair.factor + (unsigned)pair.bias + pair.tag + shape();
}

/* Needs four bytes of dynamic shared memory for each thread of a block. */
#define THROUGH_SHARED(name, factor)                                                                                   \
    KERNEL(name, (unsigned *, data), (unsigned, value), (unsigned, count))                                             \
    {                                                                                                                  \
        KERNEL_SHARED(unsigned, room);                                                                                 \
        unsigned i = number(), slot = thread_in_block();                                                               \
        if (i < count) {                                                                                               \
            room[slot] = data[i];                                                                                      \
            data[i] = room[slot] * factor + value + shape();                                                           \
        }                                                                                                              \
    }

THROUGH_SHARED(through_shared, 7u)
THROUGH_SHARED(through_room, 11u) /* has a limit of its own */

/* The host polls *flag: sets 1, waits until it changes (at most `limit_ns`), sets 3. */
KERNEL(turn, (unsigned *, flag), (unsigned long long, limit_ns))
{
    unsigned long long start = kernel_time_ns();
    KERNEL_STORE(flag, 1u);
    while (KERNEL_LOAD(flag) == 1u && kernel_time_ns() - start < limit_ns)
        ;
    KERNEL_STORE(flag, 3u);
}

KERNEL(set_flag, (unsigned *, flag), (unsigned, value))
{
    KERNEL_STORE(flag, value);
}

KERNEL(fault, (int, code))
{
    KERNEL_FAULT(code);
}

KERNEL_GLOBAL unsigned scale = 1;

KERNEL(scaled, (unsigned *, data), (unsigned, count))
{
    unsigned i = number();
    if (i < count)
        data[i] = data[i] * 3u + scale + shape();
}

struct large {
    unsigned words[1000];
};

KERNEL(large_argument, (struct large, large), (unsigned *, data))
{
    unsigned sum = 0;
    for (unsigned i = 0; i < 1000; i++)
        sum = sum * 31u + large.words[i];
    if (number() < 64)
        data[number()] = data[number()] * 3u + sum + shape();
}

KERNEL_TABLE(KERNEL_ROW(fill) KERNEL_ROW(step) KERNEL_ROW(mix) KERNEL_ROW(gaps) KERNEL_ROW(by_value)
                     KERNEL_ROW(through_shared) KERNEL_ROW(through_room) KERNEL_ROW(turn) KERNEL_ROW(set_flag)
                             KERNEL_ROW(fault) KERNEL_ROW(scaled) KERNEL_ROW(large_argument) KERNEL_GLOBAL_ROW(scale))
