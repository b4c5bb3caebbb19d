/* A handful of measurements of one thing: median and spread. Pure arithmetic. */
#ifndef AG_SAMPLE_H
#define AG_SAMPLE_H

#include <stddef.h>

struct ag_sample {
    double median, least, most;
};

/* `count` must be at least 1; `values` keep their order. */
struct ag_sample ag_sample_of(const double *values, size_t count);

/* numerator / denominator, 0 where the denominator is not positive. */
double ag_sample_ratio(double numerator, double denominator);

#endif
