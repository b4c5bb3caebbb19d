#include "analysis/cut.h"

#include "analysis/op.h"

struct ag_cut_params ag_cut_defaults(void)
{
    return (struct ag_cut_params){.min = 8, .max = 32, .bits = 3, .ramp = 4};
}
