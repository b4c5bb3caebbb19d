/* Takes nearly all of the device's memory beside a loop that is replayed: in blocks until the driver refuses one, then
 * gives them back, more than once. Prints how many blocks there were, and the loop's result. */
#include "tests/doors/work.h"

#include <stdio.h>

static const struct work_driver driver = {
#define WORK_LINKED(symbol, api, params) .symbol = symbol,
        WORK_FUNCTIONS(WORK_LINKED)
#undef WORK_LINKED
};

#define BLOCK ((size_t)1 << 20)
#define BLOCKS_MAX 64

int main(void)
{
    CUdeviceptr blocks[BLOCKS_MAX];
    struct work work;
    unsigned round = 0;
    if (work_open(&work, &driver) != 0)
        return 1;
    for (unsigned turn = 0; turn < 4; turn++) {
        unsigned count = 0;
        CUresult code = CUDA_SUCCESS;
        for (unsigned i = 0; i < 20; i++) {
            if (work_round(&work, round++) != 0 || driver.cuStreamSynchronize(work.stream) != CUDA_SUCCESS)
                return 1;
        }
        while (count < BLOCKS_MAX && (code = driver.cuMemAlloc_v2(&blocks[count], BLOCK)) == CUDA_SUCCESS)
            count++;
        printf("turn %u: %u blocks, then code %d\n", turn, count, (int)code);
        for (unsigned i = 0; i < 20; i++) {
            if (work_round(&work, round++) != 0 || driver.cuStreamSynchronize(work.stream) != CUDA_SUCCESS)
                return 1;
        }
        while (count > 0)
            if (driver.cuMemFree_v2(blocks[--count]) != CUDA_SUCCESS)
                return 1;
    }
    return work_print(&work, "result") != 0 || work_close(&work) != 0;
}
