/* Which kernels may launch kernels themselves (dynamic parallelism).
 *
 * As a graph node such a kernel is over before the kernels are that it launched into streams made on the device, so it
 * must never become one. Code linked with the device runtime (cudadevrt) carries that runtime's own kernels and
 * variables; the driver knows them by name. Whether this kernel or only another of the same code launches any is not
 * known. Thread rule: any thread.
 */
#ifndef AG_SHIM_HOOK_NESTED_H
#define AG_SHIM_HOOK_NESTED_H

#include <stdbool.h>

#include "shim/base/cuda.h"

/* Whether the code of a function (or kernel), which was just launched in the current context, holds the device runtime.
 * Asks the driver once for each module or library, which may take a while for one of many kernels; loads no code. What
 * the driver does not answer is taken for no. At most a lock of observe mode's table is held. */
bool ag_nested(CUfunction function);

#endif
