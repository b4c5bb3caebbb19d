/* One small program for every door to the driver that cudart has: it is built with the static and the shared runtime
 * and with a default stream for each thread.
 */
#include "gpu.h"
#include <thread>

static int door(void)
{
    unsigned *state = device_zeros<unsigned>(64);
    train(state, 0, 200);
    print_hash("state", state, 256);
    return 0;
}

/* With --default-stream per-thread the threads' default streams are independent of each other. */
static int threads(void)
{
    unsigned *states[4];
    std::thread all[4];
    for (unsigned *&s : states)
        s = device_zeros<unsigned>(64);
    OK(cudaDeviceSynchronize());
    for (int t = 0; t < 4; t++)
        all[t] = std::thread([=] {
            for (int k = 0; k < 50; k++) {
                train(states[t], 0, 3);
                OK(cudaMemsetAsync(states[t], k, 64, 0));
                train(states[t], cudaStreamPerThread, 2);
                OK(cudaStreamSynchronize(cudaStreamPerThread));
                train(states[t], cudaStreamLegacy, 1);
                OK(cudaStreamSynchronize(cudaStreamLegacy));
            }
        });
    for (std::thread &t : all)
        t.join();
    for (unsigned *s : states)
        print_hash("state", s, 256);
    return 0;
}

static const struct test tests[] = {{"door", door}, {"threads", threads}};
TESTS_MAIN(tests)
