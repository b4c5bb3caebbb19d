/* pinned_again registered|allocated: host memory ends being pinned and is pinned again at the same address, and a known
 * loop goes on with the copies that it had before. Copies from other pinned memory, on a stream of their own, go on
 * throughout. */
#include "tests/reports/reports.h"

#define BYTES 65536
#define ROUNDS 30
#define TURNS 40

static bool allocated;

static unsigned *pin(void *own)
{
    void *memory = own;
    if (allocated)
        CHECK(cuMemHostAlloc(&memory, BYTES, 0));
    else
        CHECK(cuMemHostRegister(own, BYTES, CU_MEMHOSTREGISTER_DEVICEMAP));
    return memory;
}

static void unpin(void *memory)
{
    CHECK(allocated ? cuMemFreeHost(memory) : cuMemHostUnregister(memory));
}

int main(int argc, char **argv)
{
    allocated = argc > 1 && strcmp(argv[1], "allocated") == 0;
    report_open();
    CUfunction step = report_kernel(module, "step");
    CUdeviceptr data = report_memory(4096), other = report_memory(4096);
    CUstream stream, beside;
    void *own = aligned_alloc(4096, BYTES);
    unsigned *keep, *first = NULL, wrong = 0, again = 0;
    if (own == NULL)
        return 97;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&beside, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemHostAlloc((void **)&keep, BYTES, 0));
    keep[0] = 7;
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned *pinned = pin(own), expected = 0, beside_expected = 0;
        again += pinned == first;
        first = round == 0 ? pinned : first;
        for (unsigned k = 0; k < 8; k++)
            pinned[64 * k] = round * 1000 + k;
        for (unsigned k = 0; k < TURNS; k++) {
            CHECK(cuMemcpyHtoDAsync(data, pinned + k % 8 * 64, 128 + k % 2 * 64, stream));
            CHECK(cuMemcpyHtoDAsync(other, keep, 64, beside));
            for (unsigned i = 0; i < 3; i++) {
                CHECK(report_step(step, stream, data, i));
                CHECK(report_step(step, beside, other, i));
            }
        }
        expected = (round * 1000 + (TURNS - 1) % 8) * 27 + 5;
        beside_expected = 7 * 27 + 5;
        CUresult code = cuStreamSynchronize(stream);
        CUresult beside_code = cuStreamSynchronize(beside);
        if (code != CUDA_SUCCESS || beside_code != CUDA_SUCCESS) {
            printf("round %u: %d %d\n", round, (int)code, (int)beside_code);
            return 1;
        }
        wrong += report_word(data) != expected || report_word(other) != beside_expected;
        unpin(pinned);
    }
    printf("%u wrong, the address came back: %s\n", wrong, again > 0 ? "yes" : "no");
    free(own);
    return wrong == 0 && again > 0 ? 0 : 1;
}
