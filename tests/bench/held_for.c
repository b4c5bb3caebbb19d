/* held_for KERNELS.ptx [ROUNDS]: how long launches are held when the program makes no further call.
 *
 * Three launches that are known, with block shapes by chance, or the shim would know the place where the program looks
 * after a few rounds and hold nothing there. The last one's kernel writes to memory of the host, which looks at it
 * without a call of the driver, after a pause in which the shim's threads fall asleep. Prints microseconds from the
 * return of the launch to the value: median, 90 of 100, most. Without the shim that is what the driver and the device
 * take (the simulated ones with schedule=eager).
 */
#include <stdint.h>

#include "tests/bench/driver_loop.h"

#define WARM 400
#define SHAPES 30

int main(int argc, char **argv)
{
    static double times[ROUNDS_MAX];
    long rounds = argc > 2 ? strtol(argv[2], NULL, 10) : 200;
    CUfunction set_flag;
    CUstream stream;
    CUdeviceptr flag;
    void *host;
    if (argc < 2 || argc > 3 || rounds < 1 || rounds > ROUNDS_MAX) {
        fprintf(stderr, "usage: held_for KERNELS.ptx [ROUNDS, 1 to %d]\n", ROUNDS_MAX);
        return 2;
    }
    open_kernel(argv[1], "set_flag", &set_flag, &stream);
    CHECK(cuMemHostAlloc(&host, 64, CU_MEMHOSTALLOC_DEVICEMAP));
    CHECK(cuMemHostGetDevicePointer(&flag, host, 0));
    const volatile unsigned *seen = host;
    uint64_t dice = 1;
    for (unsigned i = 1; i <= WARM + (unsigned)rounds; i++) {
        void *arguments[] = {&flag, &i};
        for (int k = 0; k < 3; k++) {
            dice = dice * 6364136223846793005u + 1442695040888963407u;
            CHECK(cuLaunchKernel(set_flag, 1, 1, 1, 1 + (unsigned)(dice >> 33) % SHAPES, 1, 1, 0, stream, arguments,
                                 NULL));
        }
        if (i <= WARM)
            continue;
        double begin = now_ns(), now = begin;
        while (*seen != i && now < begin + 5e9)
            now = now_ns();
        if (*seen != i) {
            fprintf(stderr, "launch %u did not run within five seconds\n", i);
            return 1;
        }
        times[i - WARM - 1] = (now - begin) / 1e3;
        nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
    }
    qsort(times, (size_t)rounds, sizeof times[0], by_size);
    printf("us from launch to result: median %.0f, 90%% %.0f, most %.0f\n", times[rounds / 2], times[rounds * 9 / 10],
           times[rounds - 1]);
    return 0;
}
