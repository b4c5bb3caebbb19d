/* Names and prototypes of the simulated driver's functions, all made from the hook table.
 *
 * For every driver function `cuX` of the table there is a function `sim_cuX` with the same signature, called with the
 * simulator's lock held and after the common checks of entry.c; missing.c holds a weak version of each that answers
 * CUDA_ERROR_NOT_SUPPORTED, so a module that implements one only has to define it.
 * Refuses to know: what any function does.
 */
#ifndef SIM_API_H
#define SIM_API_H

/* Every version of every function is wanted, under its own name. */
#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL
#endif
#include <cuda.h>
#include <cudaProfiler.h>
#include <cudaTypedefs.h>

#define AG_NO_STREAM ((CUstream)(-1))

#define AG_HOOK(impl, symbol, api, since, variant, class, scope, blocking, rules, stream, type, params, args, reason)  \
    SIM_FN_##symbol,
enum sim_fn {
#include "shim/hook/table.def"
    SIM_FN_COUNT
};
#undef AG_HOOK

#define AG_HOOK(impl, symbol, api, since, variant, class, scope, blocking, rules, stream, type, params, args, reason)  \
    CUresult sim_##symbol params;
#include "shim/hook/table.def"
#undef AG_HOOK

enum sim_variant { SIM_LEGACY, SIM_PTSZ, SIM_PTDS };

struct sim_fn_info {
    const char *symbol;
    const char *api;
    int since;
    enum sim_variant variant;
    void *address;
};
extern const struct sim_fn_info sim_fn_table[SIM_FN_COUNT];

/* A function that the hook table does not list (unlisted.h); NULL when the driver has none of this name. */
void *sim_unlisted(const char *symbol);

/* The same implementation under another name: a `_ptsz` twin (the wrapper has set the thread's stream-zero meaning) or
 * a version with the same signature. Must stand in the file that defines the original. */
#define SIM_ALSO(alias_symbol, symbol)                                                                                 \
    extern __typeof__(sim_##symbol) sim_##alias_symbol __attribute__((alias("sim_" #symbol)))

#endif
