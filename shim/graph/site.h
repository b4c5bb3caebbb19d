/* Sites: what the shim knows about a token.
 *
 * A site is a token's user pointer. It says how the op is submitted and what the driver has accepted for it so far.
 * Thread rule: the lock of the window that owns the token.
 */
#ifndef AG_SHIM_GRAPH_SITE_H
#define AG_SHIM_GRAPH_SITE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "analysis/token.h"
#include "shim/base/cuda.h"

/* Most launch attributes that a held launch may have. */
#define AG_SITE_ATTRIBUTES 8

/* Largest argument block that is held, in bytes (the limit of drivers since 12.1 is 32764). */
#define AG_SITE_ARGUMENTS 32764u

struct ag_param {
    uint16_t offset; /* within the argument bytes */
    uint16_t size;
};

/* A record of a kernel; the argument bytes follow. */
struct ag_kernel_record {
    uint32_t grid[3];
    uint32_t shared; /* dynamic shared memory, bytes */
};

struct ag_memset_record {
    CUdeviceptr target;
    uint64_t count; /* elements */
    uint32_t value;
    uint32_t pad;
};

struct ag_copy_record {
    CUdeviceptr target;
    CUdeviceptr source; /* a host address for a copy from pinned memory */
    uint64_t bytes;
};

/* The dynamic shared memory limit of a function, as the program has set it (shim/graph/limit.c). */
struct ag_limit {
    atomic_int program;    /* bytes; -1 while the program has not set it */
    atomic_int real;       /* the limit in force in the driver, bytes; -1 while unknown */
    atomic_int told;       /* a kernel's own answer: what was set last through its handle; -1: the driver's */
    atomic_int changes;    /* times that another value was set */
    atomic_uint forgotten; /* times that it became unknown: what a site learned before that does not hold */
};

/* The first extent of the cluster of a kernel that may launch kernels itself, which must not become a node: no grid is
 * a multiple of it, so acceptable() refuses such a site without a question of its own. */
#define AG_SITE_NESTED UINT32_MAX

/* In an order without gaps: a process may know thousands. */
struct ag_site {
    struct ag_token *token;
    /* kernels */
    CUfunction function;
    const void *owner; /* the module or library that it ends with; NULL when that is not known */
    struct ag_limit *limit;
    unsigned limit_forgotten; /* of the limit, when the site was made */
    uint32_t shared_accepted; /* the most dynamic shared memory accepted, bytes */
    uint32_t block[3];
    uint32_t cluster[3];           /* 0, or the shape that the grid must be a multiple of; AG_SITE_NESTED */
    CUlaunchAttribute *attributes; /* owned; NULL when there are none */
    struct ag_param *params;       /* owned */
    uint16_t attribute_count, param_count;
    uint16_t argument_bytes;
    bool is_kernel; /* function is a CUkernel handle */
    bool gaps;      /* there are bytes between parameters: a record must be cleared first */
    bool overlaps;  /* programmatic stream serialization: may start before its predecessor ends */
    /* memsets and copies */
    uint8_t element; /* bytes of a memset's element */
    bool from_host;  /* copy: the source is pinned host memory */
};

_Static_assert(sizeof(struct ag_site) <= 96, "a process may know thousands");

#endif
