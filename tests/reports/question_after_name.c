/* A function's name, module and kernel are asked for, which loads nothing; the first question that does load it comes
 * while other work is held, which must be submitted first (the statistics tell). */
#include "tests/reports/reports.h"

enum { ROUNDS = 20 };

int main(void)
{
    report_open();
    CUfunction step = report_kernel(module, "step");
    CUdeviceptr data = report_memory(4);
    CUstream stream;
    unsigned expected = 0;
    bool same = true;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned round = 0; round < ROUNDS; round++) {
        CUmodule other, of;
        const char *name;
        int blocks;
        CHECK(cuModuleLoad(&other, report_image()));
        CUfunction asked = report_kernel(other, "mix");
        CHECK(cuFuncGetName(&name, asked));
        CHECK(cuFuncGetModule(&of, asked));
        same = same && strcmp(name, "mix") == 0 && of == other;
        for (unsigned i = 0; i < 5; i++) {
            CHECK(report_step(step, stream, data, i));
            expected = expected * 3 + i;
        }
        CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, asked, 64, 0));
        CHECK(cuModuleUnload(other));
    }
    CHECK(cuStreamSynchronize(stream));
    same = same && report_word(data) == expected;
    printf("%s\n", same ? "right" : "WRONG");
    return same ? 0 : 1;
}
