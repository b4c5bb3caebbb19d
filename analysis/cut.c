#include "analysis/cut.h"

#include "analysis/op.h"

struct ag_cut_params ag_cut_defaults(void)
{
    return (struct ag_cut_params){.min = 20, .max = 64, .bits = 3, .ramp = 8};
}
