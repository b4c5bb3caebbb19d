/* See unit.h. */
#include "tests/unit/unit.h"

#include <stdio.h>

/* A loop that fails at every step says so only this often in each case. */
#define SHOWN_MAX 10

static unsigned failures;

int unit_run(const struct unit_case *cases, size_t count)
{
    unsigned failed = 0;
    for (size_t i = 0; i < count; i++) {
        failures = 0;
        cases[i].run();
        failed += failures != 0;
        printf("%sok %zu - %s\n", failures != 0 ? "not " : "", i + 1, cases[i].name);
        fflush(stdout);
    }
    printf("1..%zu\n", count);
    return failed != 0 ? 1 : 0;
}

bool unit_expect(bool condition, const char *text, const char *file, int line)
{
    if (!condition && failures++ < SHOWN_MAX)
        printf("# %s:%d: not so: %s\n", file, line, text);
    return condition;
}

bool unit_expect_equal(long long got, long long want, const char *text, const char *file, int line)
{
    if (got != want && failures++ < SHOWN_MAX)
        printf("# %s:%d: %s is %lld, not %lld\n", file, line, text, got, want);
    return got == want;
}

uint64_t unit_random(uint64_t *state)
{
    /* SplitMix64, written out: the tests do not lean on what they test */
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}
