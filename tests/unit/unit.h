/* Test cases of analysis/, one TAP line each.
 *
 * A case is a function that says what it expects; a failed expectation is printed as a comment and fails the case.
 * Knows nothing of CUDA and nothing of what is tested. Cases run one after the other in one thread.
 */
#ifndef UNIT_UNIT_H
#define UNIT_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unit_case {
    const char *name;
    void (*run)(void);
};

/* Runs all; the value for main to return. */
int unit_run(const struct unit_case *cases, size_t count);
#define UNIT_MAIN(cases)                                                                                               \
    int main(void)                                                                                                     \
    {                                                                                                                  \
        return unit_run(cases, sizeof(cases) / sizeof((cases)[0]));                                                    \
    }

bool unit_expect(bool condition, const char *text, const char *file, int line);
bool unit_expect_equal(long long got, long long want, const char *text, const char *file, int line);
#define EXPECT(condition) unit_expect((condition), #condition, __FILE__, __LINE__)
#define EQUAL(got, want) unit_expect_equal((long long)(got), (long long)(want), #got, __FILE__, __LINE__)

/* The next number of a sequence that is the same in every run; *state is its seed. */
uint64_t unit_random(uint64_t *state);

#endif
