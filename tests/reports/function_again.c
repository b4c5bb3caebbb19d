/* A function's handle comes back for another kernel after its module was unloaded with work pending. */
#include "tests/reports/reports.h"

int main(void)
{
    report_open();
    CUmodule loaded;
    CUstream stream;
    CUdeviceptr data = report_memory(4);
    unsigned expected = 0;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuModuleLoad(&loaded, report_image()));
    CUfunction old = report_kernel(loaded, "step"), kernel = NULL;
    for (unsigned i = 0; i < 200; i++) {
        CHECK(report_step(old, stream, data, i));
        expected = expected * 3 + i;
    }
    CHECK(cuModuleUnload(loaded));
    bool first = report_word(data) == expected;
    bool again = false;
    for (unsigned i = 0; i < 64 && !again; i++) {
        CHECK(cuModuleLoad(&loaded, report_image()));
        for (unsigned k = 0; k < 4 && !again; k++) {
            kernel = report_kernel(loaded, k == 0 ? "mix" : k == 1 ? "spin" : k == 2 ? "fault" : "fill");
            again = kernel == old && k == 3;
        }
    }
    kernel = again ? kernel : report_kernel(loaded, "fill");
    /* fill: data[i] = value, with the same parameters */
    for (unsigned i = 0; i < 200; i++)
        CHECK(report_step(kernel, stream, data, i));
    CHECK(cuStreamSynchronize(stream));
    bool second = report_word(data) == 199;
    printf("%s %s\n", first ? "old right" : "old WRONG", second ? "new right" : "new WRONG");
    return first && second ? 0 : 1;
}
