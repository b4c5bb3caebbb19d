/* What is known of code by its handles: which of them mean one kernel, with what it ends, whether it is loaded, and the
 * limits that the program has set (hook/limit.h). Ends with the code. Thread rule: any thread.
 */
#ifndef AG_SHIM_HOOK_KNOWN_H
#define AG_SHIM_HOOK_KNOWN_H

#include <stdbool.h>
#include <stdint.h>
#include <uthash.h>

#include "shim/base/lock.h"
#include "shim/graph/site.h"

#define AG_KNOWN_SHARED CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES

/* An attribute of a function (or kernel) on a device, or another kind of entry of known.c. */
struct ag_known_id {
    void *function;
    uintptr_t where;
    int attribute;
};

struct ag_known {
    struct ag_known_id id;
    struct ag_limit limit;
    /* of an attribute: how what is in force was set by the program, through which handle, in which context */
    void *handle;
    bool is_kernel;
    CUcontext ctx;
    bool unsure;  /* it may have been set through the function, which is forgotten */
    bool driven;  /* the driver was told through the function */
    bool pending; /* the driver may not have been told all that the program has set */
    UT_hash_handle hh;
};

/* Every entry, under the lock; none is ever freed. */
extern struct ag_lock ag_known_lock;
extern struct ag_known *ag_known_all;

/* The entry of an attribute of code on a device; the shared memory limit of a function is its kernel's. make: never
 * NULL. Takes the lock. */
struct ag_known *ag_known(void *code, uintptr_t where, int attribute, bool make);

/* Whether what the entry is about outlives the owner, for certain. The caller has the lock. */
bool ag_known_outlives(const struct ag_known *entry, const void *owner);

/* Nothing is known any more of what ends with the owner, and of what has no known owner; owner NULL: of anything. */
void ag_known_forget(const void *owner);

/* Whether the function (or kernel) was launched or asked about in the current context, so that it is certainly loaded;
 * and the note that it was. */
bool ag_known_loaded(void *handle);
void ag_known_set_loaded(void *handle);

/* Notes a cache configuration that the program gives to a function or kernel; false when it had the same already. */
bool ag_known_config_changes(void *handle, CUfunc_cache config);

/* The function is the kernel's own: both handles mean one limit, and are loaded together. Calls the driver. */
void ag_known_same(CUfunction function, CUkernel kernel);

/* The module or library that a function (or kernel) ends with, NULL when that is not known; noted for
 * ag_known_forget(). The function is in use in the current context. Calls the driver. */
const void *ag_known_owner(CUfunction function, bool is_kernel);

/* A module was loaded for itself, not as part of a library. */
void ag_known_module_loaded(CUmodule module);

/* Whether the kernels of a module or library, or a function or kernel, may launch kernels: 1, 0, or -1 when that is not
 * noted; and the note, which ends with the owner (NULL: with any code). */
int ag_known_nested(void *code);
void ag_known_set_nested(void *code, const void *owner, bool nested);

/* In a child of fork: the lock and the table may have been another thread's just then, so both are made anew. */
void ag_known_in_child(void);

#endif
