/* How a kernel compiled for the simulated driver describes itself: the contract between samples/kernel.h, which makes
 * the descriptions, and tests/sim, which loads them. A module exports `const struct sim_kernel_info *const
 * sim_kernel_table[]`, ended by NULL.
 */
#ifndef SAMPLES_KERNEL_INFO_H
#define SAMPLES_KERNEL_INFO_H

#include <stddef.h>

/* What one launch gives a kernel. The simulator fills it; see tests/sim/task.c. */
struct sim_grid {
    unsigned int grid[3], block[3];
    unsigned char *shared; /* dynamic shared memory of the block under way */
    size_t shared_size;
    void (*fault)(int code); /* poisons the context with a CUresult */
};

#define SIM_KERNEL_PARAMS_MAX 8
/* Description of one kernel, found by name in the module's sim_kernel_table. */
struct sim_kernel_info {
    const char *name;
    void (*run)(const struct sim_grid *grid, const unsigned char *args);
    unsigned int n_params;
    size_t args_size;
    struct {
        size_t offset, size;
    } params[SIM_KERNEL_PARAMS_MAX];
    int static_shared;
    void *global; /* a device variable instead of a kernel */
    size_t global_size;
};

#endif
