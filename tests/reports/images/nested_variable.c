/* Code as nvcc links it with the device runtime, by which it is known: here by that runtime's variable only, as where
 * the driver keeps the names of local kernels to itself. */
#include "samples/kernel.h"

KERNEL_GLOBAL unsigned __CNPRT_VERSION_NUMBER__;

KERNEL(step, (unsigned *, data), (unsigned, value), (unsigned, count))
{
    unsigned i = KERNEL_INDEX;
    if (i < count)
        data[i] = data[i] * 3u + value;
}

KERNEL_TABLE(KERNEL_ROW(step) KERNEL_GLOBAL_ROW(__CNPRT_VERSION_NUMBER__))
