/* Kernel launches as the program gives them, and what they are made into: shared by holding and observing. */
#ifndef AG_SHIM_HOOK_LAUNCH_H
#define AG_SHIM_HOOK_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/base/cuda.h"
#include "shim/graph/site.h"

/* A launch as the program gave it. */
struct launch {
    CUfunction function;
    unsigned grid[3], block[3], shared;
    CUstream stream;
    void **params, **extra;
    const CUlaunchAttribute *attributes;
    unsigned attribute_count;
    bool ptsz;
};

/* The identity of a kernel op. */
struct key {
    CUfunction function;
    uint32_t block[3];
    uint32_t count;
    struct {
        uint32_t id;
        uint32_t value[4];
    } attributes[AG_SITE_ATTRIBUTES];
};

/* Bytes of a key that mean something. */
static inline size_t ag_launch_key_size(const struct key *key)
{
    return offsetof(struct key, attributes) + key->count * sizeof key->attributes[0];
}

/* Fills the key; false: some attribute cannot be held. */
bool ag_launch_key(const struct launch *launch, struct key *key);

/* Asks the driver for the parameters' layout of the site's function, which it has just launched; false when that is not
 * certain. */
bool ag_launch_layout(struct ag_site *site);

/* Copies the arguments into a record; false when they cannot be read as the function's layout. */
bool ag_launch_arguments(const struct ag_site *site, const struct launch *launch, unsigned char *arguments);

/* A token's mix by what the function is called, so that cuts fall on the same places in every run; 0: it has no name.
 */
uint64_t ag_launch_mix(const struct ag_site *site, const struct key *key);

#endif
