/* The entry points for unlisted functions by themselves (shim/hook/stubs.S), without shim and driver: what a call
 * passes arrives, whatever its type is, and the frames above can be unwound while the stub asks where to go on. Prints
 * how many of the stubs did everything right; status 0 when all did. */
#include "shim/hook/stubs.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <unwind.h>

struct large {
    double d[5];
    long l[3];
};

typedef double mixed_type(int, long, unsigned char, short, void *, long, float, double, long, int, double, double,
                          double, double, double, float, double, short, long);
typedef struct large large_type(long, double);
typedef double variadic_type(int, ...);

static double mixed(int a, long b, unsigned char c, short d, void *e, long f, float g, double h, long i, int j,
                    double k, double l, double m, double n, double o, float p, double q, short r, long s)
{
    return a + 2.0 * b + 3 * c + 4 * d + 5.0 * (double)(intptr_t)e + 6.0 * f + 7 * g + 8 * h + 9.0 * i + 10 * j +
           11 * k + 12 * l + 13 * m + 14 * n + 15 * o + 16 * p + 17 * q + 18 * r + 19.0 * s;
}

static struct large large(long a, double b)
{
    return (struct large){{b, 2 * b, 3 * b, 4 * b, 5 * b}, {a, a + 1, a + 2}};
}

/* Where the low byte of the address stands in for the number of floating arguments, it says none. */
__attribute__((aligned(256))) static double variadic(int count, ...)
{
    va_list arguments;
    double sum = 0;
    va_start(arguments, count);
    for (int i = 0; i < count; i++)
        sum += (i + 1) * (i % 2 != 0 ? va_arg(arguments, double) : va_arg(arguments, int));
    va_end(arguments);
    return sum;
}

static void *target;
static unsigned index_wanted;
static bool asked_right, unwound;

static void call(unsigned i);

static _Unwind_Reason_Code step(struct _Unwind_Context *frame, void *seen)
{
    *(bool *)seen = *(bool *)seen || _Unwind_GetRegionStart(frame) == (uintptr_t)call;
    return _URC_NO_REASON;
}

/* Everything that a function may use freely is used. */
void *ag_unknown_before(unsigned index)
{
    bool found = false;
    _Unwind_Backtrace(step, &found);
    unwound = unwound && found;
    asked_right = asked_right && index == index_wanted && (uintptr_t)__builtin_frame_address(0) % 16 == 0;
#if defined(__x86_64__)
    __asm__ volatile("movl $-1, %%edi\n movl $-1, %%esi\n movl $-1, %%edx\n movl $-1, %%ecx\n movl $-1, %%r8d\n"
                     "movl $-1, %%r9d\n movl $-1, %%r10d\n movl $-1, %%r11d\n xorl %%eax, %%eax\n"
                     "pcmpeqd %%xmm0, %%xmm0\n pcmpeqd %%xmm1, %%xmm1\n pcmpeqd %%xmm2, %%xmm2\n"
                     "pcmpeqd %%xmm3, %%xmm3\n pcmpeqd %%xmm4, %%xmm4\n pcmpeqd %%xmm5, %%xmm5\n"
                     "pcmpeqd %%xmm6, %%xmm6\n pcmpeqd %%xmm7, %%xmm7" ::
                             : "rax", "rdi", "rsi", "rdx", "rcx", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2",
                               "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "cc");
#elif defined(__aarch64__)
    __asm__ volatile("mov x0, #-1\n mov x1, #-1\n mov x2, #-1\n mov x3, #-1\n mov x4, #-1\n mov x5, #-1\n"
                     "mov x6, #-1\n mov x7, #-1\n mov x8, #-1\n mov x9, #-1\n mov x16, #-1\n mov x17, #-1\n"
                     "movi v0.16b, #255\n movi v1.16b, #255\n movi v2.16b, #255\n movi v3.16b, #255\n"
                     "movi v4.16b, #255\n movi v5.16b, #255\n movi v6.16b, #255\n movi v7.16b, #255" ::
                             : "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x16", "x17", "v0", "v1",
                               "v2", "v3", "v4", "v5", "v6", "v7");
#endif
    return target;
}

static unsigned right_values;

__attribute__((noinline)) static void call(unsigned i)
{
    void *stub = (void *)(uintptr_t)(ag_stubs + (uintptr_t)i * AG_STUB_BYTES);
    int n = (int)i;
    index_wanted = i;
    target = (void *)mixed;
#define ARGUMENTS                                                                                                      \
    n, -5000000000 - n, (unsigned char)(255 - n), (short)(-n), (void *)(intptr_t)(n + 77), n + 3L, n + 0.5f, n * 0.25, \
            -n - 9L, n - 300, 1.0 + n, 2.0 + n, 3.0 + n, 4.0 + n, 5.0 + n, 6.0f + (float)n, 7.0 + n, (short)(n - 20),  \
            n + 1234567890123
    bool right = ((mixed_type *)stub)(ARGUMENTS) == mixed(ARGUMENTS);
    target = (void *)large;
    struct large got = ((large_type *)stub)(n, n + 0.5);
    right = right && got.d[0] == n + 0.5 && got.d[4] == 5 * (n + 0.5) && got.l[0] == n && got.l[2] == n + 2;
    target = (void *)variadic;
    right = right && ((variadic_type *)stub)(6, n, 1.5, 3, 0.25 * n, 5, 7.0) == n + 3 + 9 + n + 25 + 42;
    right_values += right;
}

int main(void)
{
    asked_right = unwound = true;
    for (unsigned i = 0; i < AG_STUB_COUNT; i++)
        call(i);
    printf("%u of %d pass everything on, %s, %s\n", right_values, AG_STUB_COUNT,
           asked_right ? "each by its number" : "with WRONG numbers or a WRONG stack",
           unwound ? "the caller is found" : "the caller is NOT found");
    return right_values == AG_STUB_COUNT && asked_right && unwound ? 0 : 1;
}
