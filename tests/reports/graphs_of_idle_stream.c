/* Two loops after each other, on two streams, whose graphs do not fit into their memory together: those of the stream
 * that is idle by then make room. */
#include "tests/reports/reports.h"

enum { ROUNDS = 60, LAUNCHES = 150 };

int main(void)
{
    CUstream streams[2];
    report_open();
    CUfunction step = report_kernel(module, "step");
    CUdeviceptr data = report_memory(4);
    for (int s = 0; s < 2; s++)
        CHECK(cuStreamCreate(&streams[s], CU_STREAM_NON_BLOCKING));
    for (int s = 0; s < 2; s++) {
        for (unsigned round = 0; round < ROUNDS; round++)
            for (unsigned i = 0; i < LAUNCHES; i++)
                CHECK(report_step(step, streams[s], data, i));
        CHECK(cuStreamSynchronize(streams[s]));
        printf("%u\n", report_word(data));
    }
    return 0;
}
