/* A loop of which one launch writes past the end of its memory, by too little for the device to notice: for
 * compute-sanitizer to find, with the name of the kernel.
 */
#include "gpu.h"

__global__ static void store_past(unsigned *p, unsigned past)
{
    p[threadIdx.x + past] = past; /* no read before it: the tool would tell that one, and stop the kernel */
}

int main(void)
{
    unsigned *state = device_zeros<unsigned>(64);
    for (unsigned k = 0; k < 600; k++) {
        step<<<1, 64>>>(state, k % 10);
        store_past<<<1, 32>>>(state, k == 577 ? 40 : k % 2 * 32);
    }
    cudaError_t code = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorName(code));
    return 0;
}
