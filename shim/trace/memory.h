/* The memory record (AUTOGRAPH_MEMORY): which device memory the program has, and the file in which is written what it
 * held at its end (analysis/memory.h).
 *
 * Knows no driver call; who adds, takes and reads is hook/memory.c. The file is opened with the first record, so that
 * processes without device memory leave none. Thread rule: any thread, whatever locks it holds; what was taken belongs
 * to the thread that took it.
 */
#ifndef AG_SHIM_TRACE_MEMORY_H
#define AG_SHIM_TRACE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include <uthash.h>

#include "analysis/memory.h"
#include "shim/base/cuda.h"

/* Some memory of the program's, from its allocation to its end. */
struct ag_memory_block {
    UT_hash_handle hh;
    CUdeviceptr address;
    size_t bytes;
    enum ag_memory_kind kind;
    CUcontext ctx; /* current when it was allocated */
    CUdevice device;
    const void *owner;        /* of a variable: its module or library */
    uint32_t thread, ordinal; /* given by ag_memory_add() */
    char *name;               /* of a variable; owned */
    enum ag_memory_when when; /* from here on: once it was taken */
    enum ag_memory_state state;
    bool visited;     /* reading it was tried */
    uint64_t *hashes; /* of its pieces, when it was read; owned */
    struct ag_memory_block *next;
};

extern bool ag_memory_active;

static inline bool ag_memory_on(void)
{
    return __builtin_expect(ag_memory_active, 0);
}

/* Begins, when the options ask for it. Runs once, before any thread can allocate. */
void ag_memory_start(void);

/* Adds a copy of the block, whose name is copied too. What has its address has ended unseen, and is written so; a
 * variable that is known already is left as it is. */
void ag_memory_add(const struct ag_memory_block *block);

/* Takes out what begins at the address, or NULL. */
struct ag_memory_block *ag_memory_take(CUdeviceptr address);

/* Takes out all that ends with `what`, as a list in the order of the allocations' threads and numbers. */
struct ag_memory_block *ag_memory_take_all(bool (*ends)(const struct ag_memory_block *block, const void *what),
                                           const void *what);

/* It did not end after all: nothing is written. */
void ag_memory_put_back(struct ag_memory_block *list);

/* Writes what was taken, and gives it up. */
void ag_memory_write(struct ag_memory_block *list);

/* Completes the file. Nothing is added or written any more. */
void ag_memory_finish(void);

/* In a fork's child: what is known, and a file that was opened, are the parent's. */
void ag_memory_in_child(void);

#endif
