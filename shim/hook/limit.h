/* The dynamic shared memory limit of functions, virtualised.
 *
 * Libraries raise and lower the limit before nearly every launch. The real limit is kept at the largest value asked
 * for, so that graphs built under another value stay valid; the program sees its own value, and a launch beyond it is
 * still refused by the driver. Other attributes are forwarded, and flush only when they change. Thread rule: any
 * thread.
 */
#ifndef AG_SHIM_HOOK_LIMIT_H
#define AG_SHIM_HOOK_LIMIT_H

#include <stdbool.h>

#include "shim/hook/known.h"

/* The limit of a function (or kernel) on a device; lives for ever, never NULL. */
struct ag_limit *ag_limit_of(CUfunction function, CUdevice device);

/* Before handles end and may come to mean other functions: where the driver's limit is not the program's it is brought
 * to it, then nothing is known of any function. Calls the driver; every handle known here must still be alive. */
void ag_limit_forget(void);

/* The same for the functions that end with a module or library, and those whose owner is not known. */
void ag_limit_forget_owner(const void *owner);

/* In a child of fork: the lock and the table may have been another thread's just then, so both are made anew. */
void ag_limit_in_child(void);

/* Before a launch of which the shim is not certain: brings the real limit down to the program's when the launch asks
 * for more than that, so that the driver gives its own answer. */
void ag_limit_enforce(CUfunction function, unsigned shared);

#endif
