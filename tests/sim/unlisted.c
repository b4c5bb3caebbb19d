#include "tests/sim/api.h"

#include <stdio.h>
#include <string.h>

#include "tests/sim/unlisted.h"

static unsigned long long read_later(CUdeviceptr at, unsigned *word, int a, long b, unsigned c, short d, long e,
                                     unsigned char f, long g, float x, double y, double z)
{
    unsigned now;
    if (cuCtxSynchronize() == CUDA_SUCCESS && cuMemcpyDtoH_v2(&now, at, sizeof(now)) == CUDA_SUCCESS)
        *word = now;
    return (unsigned long long)(a + 2 * b + 3 * (long)c + 4 * d + 5 * e + 6 * f + 7 * g) +
           (unsigned long long)(8 * (double)x + 9 * y + 10 * z);
}

static CUresult destroy_later(void)
{
    return CUDA_SUCCESS;
}

#define NUMBER(n)                                                                                                      \
    static int number_##n(int more)                                                                                    \
    {                                                                                                                  \
        return 1##n - 1000 + more;                                                                                     \
    }
#define TEN(x, n) x(n##0) x(n##1) x(n##2) x(n##3) x(n##4) x(n##5) x(n##6) x(n##7) x(n##8) x(n##9)
#define HUNDRED(x, n)                                                                                                  \
    TEN(x, n##0)                                                                                                       \
    TEN(x, n##1) TEN(x, n##2) TEN(x, n##3) TEN(x, n##4) TEN(x, n##5) TEN(x, n##6) TEN(x, n##7) TEN(x, n##8) TEN(x, n##9)
HUNDRED(NUMBER, 0)
HUNDRED(NUMBER, 1)
HUNDRED(NUMBER, 2)

#define ADDRESS(n) number_##n,
static sim_number *const numbers[SIM_NUMBERS] = {HUNDRED(ADDRESS, 0) HUNDRED(ADDRESS, 1) HUNDRED(ADDRESS, 2)};

void *sim_unlisted(const char *symbol)
{
    unsigned n;
    char end;
    static const char *const readers[] = {"cuSimReadLater", "cuGLSimReadLater", "cuEGLSimReadLater",
                                          "cuVDPAUSimReadLater", "cuGraphicsGLSimReadLater"};
    for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++)
        if (!strcmp(symbol, readers[i]))
            return (void *)read_later;
    if (!strcmp(symbol, "cuSimDestroyLater"))
        return (void *)destroy_later;
    if (sscanf(symbol, "cuSimNumber%u%c", &n, &end) == 1 && n < SIM_NUMBERS)
        return (void *)numbers[n];
    return NULL;
}
