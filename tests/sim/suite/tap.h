/* Test cases of the simulated driver, one TAP line each.
 *
 * A case is a function that runs in a forked child with its own AUTOGRAPH_SIM setting (the driver reads it once), so no
 * case sees another's driver. It says what it expects; a failed expectation is printed as a comment. A case that hangs
 * fails after 30 seconds. The parent process never calls the driver.
 */
#ifndef SIM_SUITE_TAP_H
#define SIM_SUITE_TAP_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tap_case {
    const char *name;
    const char *setting; /* AUTOGRAPH_SIM; NULL: once under each schedule */
    void (*run)(void);
};

/* Runs all; the value for main to return. */
int tap_run(const struct tap_case *cases, size_t count);
#define TAP_MAIN(cases)                                                                                                \
    int main(void)                                                                                                     \
    {                                                                                                                  \
        return tap_run(cases, sizeof(cases) / sizeof((cases)[0]));                                                     \
    }

/* ---- inside a case ---- */
bool tap_expect(bool condition, const char *text, const char *file, int line);
bool tap_expect_code(CUresult got, CUresult want, const char *text, const char *file, int line);
#define EXPECT(condition) tap_expect((condition), #condition, __FILE__, __LINE__)
#define OK(call) tap_expect_code((call), CUDA_SUCCESS, #call, __FILE__, __LINE__)
#define FAILS(code, call) tap_expect_code((call), (code), #call, __FILE__, __LINE__)

CUcontext tap_context(void);                /* initialised, primary context of device 0 current */
const char *tap_module_path(void);          /* the samples' kernels */
CUmodule tap_module(void);                  /* loads them; a new instance at every call */
CUfunction tap_function(const char *name);  /* of a module loaded once */
CUdeviceptr tap_words(size_t count);        /* zeroed device words */
unsigned int tap_word(CUdeviceptr address); /* reads one word, synchronously */
unsigned int *tap_mapped(size_t count);     /* zeroed pinned words; the device uses the same address */
CUresult tap_launch(CUfunction f, CUstream stream, void **args);          /* one block of one thread */
CUresult tap_step(CUdeviceptr data, unsigned int value, CUstream stream); /* word = word * 3 + value */
CUresult tap_wait_for(unsigned int *flag, unsigned int value, CUdeviceptr out,
                      CUstream stream); /* spins, at most 10 s */
void tap_raise(unsigned int *flag, unsigned int value);
unsigned int tap_read(const unsigned int *flag);
bool tap_becomes(const unsigned int *flag, unsigned int value, unsigned int ms); /* polls without driver calls */
void tap_sleep_ms(unsigned int ms);
bool tap_lazy(void); /* does this case run under the lazy schedule? */

#endif
