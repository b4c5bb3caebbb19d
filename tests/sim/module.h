/* Modules and libraries: what module.c, library.c and function.c share. Thread rule: sim_lock. */
#ifndef SIM_MODULE_H
#define SIM_MODULE_H

#include "tests/sim/core.h"

struct sim_image {
    unsigned char *bytes; /* owned */
    size_t size;
};

struct sim_library {
    CUlibrary handle;
    struct sim_image image;
    struct sim_module *in_ctx[64]; /* one instance a context, made on first use */
    size_t n_in_ctx;
    struct sim_kernel **kernels; /* handles given out */
    size_t n_kernels;
};

CUresult sim_image_read(const char *path, struct sim_image *out);
CUresult sim_image_copy(const void *image, struct sim_image *out);
CUresult sim_module_make(struct sim_ctx *ctx, const struct sim_image *image, struct sim_library *library,
                         struct sim_module **out);
void sim_module_unload(struct sim_module *module);
/* cuFuncSetAttribute, or what cuKernelSetAttribute does to a function. */
CUresult sim_func_set(CUfunction handle, CUfunction_attribute attribute, int value, bool through_kernel);
struct sim_func *sim_module_func(struct sim_module *module, const char *name); /* NULL: no such kernel */
CUresult sim_module_global(struct sim_module *module, const char *name, CUdeviceptr *address, size_t *size);
void sim_library_forget(struct sim_module *module); /* its context died */

#endif
