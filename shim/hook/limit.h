/* The dynamic shared memory limit of functions, virtualised.
 *
 * Libraries raise and lower the limit before nearly every launch. The real limit is kept at the largest value asked
 * for, so that graphs built under another value stay valid; the program sees its own value, and a launch beyond it is
 * still refused by the driver. Other attributes are forwarded, and flush only when they change. Thread rule: any
 * thread.
 */
#ifndef AG_SHIM_HOOK_LIMIT_H
#define AG_SHIM_HOOK_LIMIT_H

#include "shim/graph/site.h"

/* The limit of a function (or kernel) on a device; lives for ever, never NULL. */
struct ag_limit *ag_limit_of(CUfunction function, CUdevice device);

/* Whether the function (or kernel) was launched or asked about in the current context, so that it is certainly loaded;
 * and the note that it was. */
bool ag_limit_loaded(void *handle);
void ag_limit_set_loaded(void *handle);

/* Notes a cache configuration that the program gives to a function or kernel; false when it had the same already. */
bool ag_limit_config_changes(void *handle, CUfunc_cache config);

/* Handles may mean other functions from now on: nothing is known of them. */
void ag_limit_forget(void);

/* Before a launch of which the shim is not certain: brings the real limit down to the program's when the launch asks
 * for more than that, so that the driver gives its own answer. */
void ag_limit_enforce(CUfunction function, unsigned shared);

#endif
