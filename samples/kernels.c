/* The kernels of all samples and tests: compiled by nvcc to PTX and by the C compiler for the simulated driver. */
#include "samples/kernel.h"

/* data[i] = value */
KERNEL(fill, (unsigned *, data), (unsigned, value), (unsigned, count))
{
    unsigned i = KERNEL_INDEX;
    if (i < count)
        data[i] = value;
}

/* data[i] = data[i] * 3 + value: does not commute with itself, so every order and every argument shows in the result.
 */
KERNEL(step, (unsigned *, data), (unsigned, value), (unsigned, count))
{
    unsigned i = KERNEL_INDEX;
    if (i < count)
        data[i] = data[i] * 3u + value;
}

/* out[i] = mix of in[i], another element, and a key */
KERNEL(mix, (unsigned *, out), (const unsigned *, in), (unsigned, key), (unsigned, count))
{
    unsigned i = KERNEL_INDEX;
    if (i < count)
        out[i] = (in[i] ^ key) * 2654435761u + in[(i + 1) % count];
}

/* Arguments of several sizes, so that the layout has gaps. */
KERNEL(gaps, (unsigned char, small), (unsigned *, data), (unsigned short, middle), (double, wide), (unsigned, count))
{
    unsigned i = KERNEL_INDEX;
    if (i < count)
        data[i] = data[i] * 5u + small + 256u * middle + (unsigned)wide;
}

struct pair {
    unsigned char tag; /* three bytes of padding follow */
    unsigned factor;
    unsigned long long bias;
};

KERNEL(by_value, (struct pair, pair), (unsigned *, data), (unsigned, count))
{
    unsigned i = KERNEL_INDEX;
    if (i < count)
        data[i] = data[i] * pair.factor + (unsigned)pair.bias + pair.tag;
}

/* Needs (block size * 4) bytes of dynamic shared memory, more is ignored. */
KERNEL(through_shared, (unsigned *, data), (unsigned, value), (unsigned, count))
{
    KERNEL_SHARED(unsigned, room);
    unsigned i = KERNEL_INDEX, slot = i % KERNEL_BLOCK_SIZE;
    if (i < count) {
        room[slot] = data[i];
        data[i] = room[slot] * 7u + value;
    }
}

/* The host polls *flag: sets 1, waits until it changes (at most `limit_ns`), sets 3. */
KERNEL(turn, (unsigned *, flag), (unsigned long long, limit_ns))
{
    unsigned long long start = kernel_time_ns();
    KERNEL_STORE(flag, 1u);
    while (KERNEL_LOAD(flag) == 1u && kernel_time_ns() - start < limit_ns)
        ;
    KERNEL_STORE(flag, 3u);
}

/* Waits until *flag is `value`, at most `limit_ns`, then adds one to *out (or 1000 when the time ran out). */
KERNEL(wait_for, (unsigned *, flag), (unsigned, value), (unsigned *, out), (unsigned long long, limit_ns))
{
    unsigned long long start = kernel_time_ns();
    while (KERNEL_LOAD(flag) != value && kernel_time_ns() - start < limit_ns)
        ;
    *out += KERNEL_LOAD(flag) == value ? 1u : 1000u;
}

KERNEL(set_flag, (unsigned *, flag), (unsigned, value))
{
    KERNEL_STORE(flag, value);
}

KERNEL(spin, (unsigned long long, ns), (unsigned *, out))
{
    unsigned long long start = kernel_time_ns();
    while (kernel_time_ns() - start < ns)
        ;
    *out += 1;
}

/* Does nothing for 0. */
KERNEL(fault, (int, code))
{
    if (code != 0)
        KERNEL_FAULT(code);
}

KERNEL_GLOBAL unsigned scale = 1;

KERNEL(scaled, (unsigned *, data), (unsigned, count))
{
    unsigned i = KERNEL_INDEX;
    if (i < count)
        data[i] = data[i] * 3u + scale;
}

/* Without parameters: changes what scaled adds. */
KERNEL_BARE(next_scale)
{
    scale = scale * 3u + 1u;
}

struct large {
    unsigned words[1000];
};

KERNEL(large_argument, (struct large, large), (unsigned *, data))
{
    unsigned sum = 0;
    for (unsigned i = 0; i < 1000; i++)
        sum = sum * 31u + large.words[i];
    *data = *data * 3u + sum;
}

KERNEL_TABLE(KERNEL_ROW(fill) KERNEL_ROW(step) KERNEL_ROW(mix) KERNEL_ROW(gaps) KERNEL_ROW(by_value)
                     KERNEL_ROW(through_shared) KERNEL_ROW(turn) KERNEL_ROW(wait_for) KERNEL_ROW(set_flag)
                             KERNEL_ROW(spin) KERNEL_ROW(fault) KERNEL_ROW(scaled) KERNEL_ROW(next_scale)
                                     KERNEL_ROW(large_argument) KERNEL_GLOBAL_ROW(scale))
