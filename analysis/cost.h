/* The cost model: what an operation of the driver is taken to cost, and sums of it.
 *
 * Serves comparisons of policies on recorded traces; measures nothing. Costs are in microseconds of CPU time and are
 * listed in cost.def. Thread rule: each structure belongs to its caller.
 */
#ifndef AG_ANALYSIS_COST_H
#define AG_ANALYSIS_COST_H

#include <stddef.h>
#include <stdint.h>

struct ag_cost {
#define AG_COST(name, us, what) double name;
#include "analysis/cost.def"
#undef AG_COST
};

/* What happened, as counts. Every launch is either replayed or eager. */
struct ag_cost_counts {
    uint64_t launches;
    uint64_t held;     /* of the launches, those that waited in a window */
    uint64_t replayed; /* of the launches, those that went out inside a graph */
    uint64_t eager;
    uint64_t graph_launches;
    uint64_t patched;       /* nodes patched, retargeted ones included */
    uint64_t retargeted;    /* of the patched, those that got another function */
    uint64_t patched_bytes; /* of arguments, of nodes patched without another function */
    uint64_t builds;        /* graphs */
    uint64_t built_nodes;
};

/* The model as listed. */
struct ag_cost ag_cost_defaults(void);

/* Microseconds that these events cost. */
double ag_cost_of(const struct ag_cost *cost, const struct ag_cost_counts *counts);

/* The same for one launch; 0 when there was none. */
double ag_cost_per_launch(const struct ag_cost *cost, const struct ag_cost_counts *counts);

/* The share of launches that were replayed, 0 to 1; 0 when there was none. */
double ag_cost_coverage(const struct ag_cost_counts *counts);

/* The model's entries in the order of cost.def: name, microseconds and text of entry i; NULL past the last one. */
const char *ag_cost_entry(size_t i, double *us, const char **what);

#endif
