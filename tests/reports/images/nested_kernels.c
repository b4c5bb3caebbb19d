/* Code as nvcc links it with the device runtime, by which it is known: here by one of that runtime's own kernels. */
#include "samples/kernel.h"

KERNEL(__nv_static_52__f4510a67_22_cuda_device_runtime_cu_3ecce0c0_2317245__Z16memset_3d_deviceIjLi1ELi0ELi0EEv12MemsetParamsIT_E,
       (unsigned *, data))
{
    *data = 0;
}

KERNEL(step, (unsigned *, data), (unsigned, value), (unsigned, count))
{
    unsigned i = KERNEL_INDEX;
    if (i < count)
        data[i] = data[i] * 3u + value;
}

KERNEL_TABLE(KERNEL_ROW(step) KERNEL_ROW(
        __nv_static_52__f4510a67_22_cuda_device_runtime_cu_3ecce0c0_2317245__Z16memset_3d_deviceIjLi1ELi0ELi0EEv12MemsetParamsIT_E))
