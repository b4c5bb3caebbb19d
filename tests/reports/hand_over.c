/* Two threads hand over through mapped memory alone: each waits for its number, and launches the kernel that writes the
 * other's. After its launch a thread makes no driver call until its turn comes again. */
#include "tests/reports/reports.h"

enum { TURNS = 200 };

static volatile unsigned *host;
static CUdeviceptr flag;
static CUfunction set;
static atomic_bool stuck;

static void *player(void *first)
{
    CUstream stream;
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned turn = first == NULL ? 0 : 1; turn < TURNS; turn += 2) {
        for (unsigned i = 0; i < 100000 && report_peek(host) != turn && !stuck; i++)
            usleep(100);
        if (report_peek(host) != turn)
            stuck = true;
        if (stuck)
            break;
        unsigned next = turn + 1;
        void *args[] = {&flag, &next};
        CHECK(cuLaunchKernel(set, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL));
    }
    return NULL;
}

int main(void)
{
    pthread_t other;
    report_open();
    set = report_kernel(module, "set_flag");
    CHECK(cuMemHostAlloc((void **)&host, 64, CU_MEMHOSTALLOC_DEVICEMAP));
    CHECK(cuMemHostGetDevicePointer(&flag, (void *)host, 0));
    report_poke(host, 0);
    if (pthread_create(&other, NULL, player, (void *)host) != 0)
        return 97;
    player(NULL);
    pthread_join(other, NULL);
    for (unsigned i = 0; i < 100000 && report_peek(host) != TURNS && !stuck; i++)
        usleep(100);
    printf("%u of %u turns\n", report_peek(host), (unsigned)TURNS);
    return report_peek(host) == TURNS ? 0 : 1;
}
