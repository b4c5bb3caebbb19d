/* pass_through KERNELS.ptx [ROUNDS]: what a mode that holds nothing adds to a launch (AUTOGRAPH_MODE=observe or off).
 *
 * Launches an empty kernel through the door that programs use and straight through the driver, 2000 launches of each in
 * turn, within one process: two runs differ by more than what is to be seen. Prints the medians in nanoseconds a
 * launch, and the median of the ratios of neighbours with its quartiles. Without the shim both ways are the driver's.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "tests/bench/driver_loop.h"

#define LAUNCHES 2000

typedef CUresult launch_type(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
                             void **, void **);

/* The driver itself among the loaded libraries. A handle of dlopen is a link map, once the library was opened. */
static void *driver(void)
{
    struct link_map *map;
    void *own = dlopen(NULL, RTLD_LAZY);
    if (own == NULL || dlopen("libcuda.so.1", RTLD_LAZY) == NULL || dlinfo(own, RTLD_DI_LINKMAP, &map) != 0)
        return NULL;
    for (; map != NULL; map = map->l_next)
        if (strstr(map->l_name, "/libcuda.so") != NULL)
            return map;
    return NULL;
}

static double block(launch_type *launch, CUfunction function, CUstream stream, CUdeviceptr data)
{
    unsigned value = 1, count = 1;
    void *arguments[] = {&data, &value, &count};
    CHECK(cuStreamSynchronize(stream));
    double begin = now_ns();
    for (int i = 0; i < LAUNCHES; i++)
        CHECK(launch(function, 1, 1, 1, 32, 1, 1, 0, stream, arguments, NULL));
    double end = now_ns();
    CHECK(cuStreamSynchronize(stream));
    return (end - begin) / LAUNCHES;
}

int main(int argc, char **argv)
{
    static double door[ROUNDS_MAX], straight[ROUNDS_MAX], ratio[ROUNDS_MAX];
    long rounds = argc > 2 ? strtol(argv[2], NULL, 10) : 200;
    if (argc < 2 || rounds < 4 || rounds > ROUNDS_MAX) {
        fprintf(stderr, "usage: pass_through KERNELS.ptx [ROUNDS]; ROUNDS from 4 to %d\n", ROUNDS_MAX);
        return 2;
    }
    CUfunction function;
    CUstream stream;
    CUdeviceptr data;
    open_kernel(argv[1], "step", &function, &stream);
    CHECK(cuMemAlloc(&data, 4096));
    CHECK(cuMemsetD8(data, 0, 4096));
    void *library = driver();
    launch_type *real = library != NULL ? (launch_type *)dlsym(library, "cuLaunchKernel") : NULL;
    if (real == NULL) {
        fprintf(stderr, "pass_through: no driver among the loaded libraries\n");
        return 1;
    }
    for (int i = 0; i < 10; i++)
        block(cuLaunchKernel, function, stream, data);
    for (long i = 0; i < rounds; i++) {
        /* who comes first changes, since the second of two finds the device awake */
        if (i % 2 == 0) {
            door[i] = block(cuLaunchKernel, function, stream, data);
            straight[i] = block(real, function, stream, data);
        } else {
            straight[i] = block(real, function, stream, data);
            door[i] = block(cuLaunchKernel, function, stream, data);
        }
        ratio[i] = door[i] / straight[i];
    }
    qsort(door, (size_t)rounds, sizeof door[0], by_size);
    qsort(straight, (size_t)rounds, sizeof straight[0], by_size);
    qsort(ratio, (size_t)rounds, sizeof ratio[0], by_size);
    printf("door_ns=%.0f driver_ns=%.0f ratio=%.4f quartiles=%.4f-%.4f\n", door[rounds / 2], straight[rounds / 2],
           ratio[rounds / 2], ratio[rounds / 4], ratio[rounds * 3 / 4]);
    return 0;
}
