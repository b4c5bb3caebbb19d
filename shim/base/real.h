/* The real driver: its entry points and how they are found.
 *
 * Every member of ag_real is callable at any time: it starts as a stub that finds the driver and then calls, and stays
 * a stub that answers CUDA_ERROR_NOT_FOUND where the driver lacks the function (or CUDA_ERROR_NO_DEVICE where there is
 * no driver). Thread rule: any thread, also while another one finds the driver.
 */
#ifndef AG_SHIM_BASE_REAL_H
#define AG_SHIM_BASE_REAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "shim/base/cuda.h"

struct ag_driver {
#define AG_HOOK(impl, symbol, api, since, variant, class, scope, blocking, rules, stream, type, params, args, reason)  \
    CUresult(*symbol) params;
#include "shim/hook/table.def"
#undef AG_HOOK
};

/* The stubs that find the driver, then its functions: each table is complete before it can be seen. */
extern _Atomic(const struct ag_driver *) ag_real_table;

#define ag_real (*atomic_load_explicit(&ag_real_table, memory_order_acquire))

/* Finds the driver, once. Returns whether it is there. */
bool ag_real_open(void);

/* Whether the calling thread is finding the driver: it is inside a call of what is loaded meanwhile. */
bool ag_real_opening(void);

/* True when the driver exports the function: AG_REAL_HAS(cuLaunchKernelEx). */
#define AG_REAL_HAS(symbol) ag_real_has(offsetof(struct ag_driver, symbol))
bool ag_real_has(unsigned long offset);

/* The version the driver answers (13000 for 13.0), 0 before it was found. */
int ag_real_version(void);

/* Whether the driver has everything that holding needs: version 12.4 or newer, and each call that graphs are made and
 * launched with. Finds the driver. */
bool ag_real_suffices(void);

/* dlsym of libc itself, also where another preloaded library has one of its own in front: that one would answer with
 * its own functions, which call us, or look for the next one in line behind itself instead of behind us. */
void *ag_real_symbol(void *handle, const char *name);

/* The path of the library that a tool has put in the driver's place, when the tool takes this library for it: its
 * dlopen answers the driver's name with this library. NULL when there is no such thing. Lives as long as that library
 * is loaded. */
const char *ag_real_stand_in(const char *file);

/* The next dlopen in line after this library's own. Never NULL: libc has one. */
typedef void *(*ag_dlopen_function)(const char *file, int mode);
ag_dlopen_function ag_real_dlopen(void);

#endif
