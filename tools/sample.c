#include "tools/sample.h"

/* The value at `rank` in sorted order, found by counting: samples have tens of values, and this needs no copy. */
static double ag_sample_rank(const double *values, size_t count, size_t rank)
{
    for (size_t i = 0; i < count; i++) {
        size_t below = 0, equal = 0;
        for (size_t j = 0; j < count; j++) {
            below += values[j] < values[i];
            equal += values[j] <= values[i] && values[j] >= values[i];
        }
        if (below <= rank && rank < below + equal)
            return values[i];
    }
    return values[0];
}

struct ag_sample ag_sample_of(const double *values, size_t count)
{
    return (struct ag_sample){
            .median = (ag_sample_rank(values, count, (count - 1) / 2) + ag_sample_rank(values, count, count / 2)) / 2,
            .least = ag_sample_rank(values, count, 0),
            .most = ag_sample_rank(values, count, count - 1),
    };
}

double ag_sample_ratio(double numerator, double denominator)
{
    return denominator > 0 ? numerator / denominator : 0;
}
