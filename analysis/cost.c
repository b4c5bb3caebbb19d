#include "analysis/cost.h"

struct ag_cost ag_cost_defaults(void)
{
    return (struct ag_cost){
#define AG_COST(name, us, what) .name = (us),
#include "analysis/cost.def"
#undef AG_COST
    };
}

double ag_cost_of(const struct ag_cost *cost, const struct ag_cost_counts *counts)
{
    uint64_t same_function = counts->patched - counts->retargeted;
    return cost->eager * (double)counts->eager + cost->held * (double)counts->held +
           cost->launch * (double)counts->graph_launches +
           (cost->patch + cost->launch_patched) * (double)same_function +
           cost->patch_kib * ((double)counts->patched_bytes / 1024) +
           (cost->retarget + cost->launch_retargeted) * (double)counts->retargeted +
           cost->build * (double)counts->built_nodes;
}

double ag_cost_per_launch(const struct ag_cost *cost, const struct ag_cost_counts *counts)
{
    return counts->launches != 0 ? ag_cost_of(cost, counts) / (double)counts->launches : 0;
}

double ag_cost_coverage(const struct ag_cost_counts *counts)
{
    return counts->launches != 0 ? (double)counts->replayed / (double)counts->launches : 0;
}

const char *ag_cost_entry(size_t i, double *us, const char **what)
{
    static const struct {
        const char *name;
        double us;
        const char *what;
    } entries[] = {
#define AG_COST(name, us, what) {#name, us, what},
#include "analysis/cost.def"
#undef AG_COST
    };
    if (i >= sizeof entries / sizeof entries[0])
        return NULL;
    *us = entries[i].us;
    *what = entries[i].what;
    return entries[i].name;
}
