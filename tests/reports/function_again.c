/* A function's handle comes back for another kernel after its module was unloaded with work pending. The simulated
 * driver gives the handle that was freed last; where it does not come back this shows nothing, and fails. */
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
    CUfunction old = report_kernel(loaded, "step");
    for (unsigned i = 0; i < 200; i++) {
        CHECK(report_step(old, stream, data, 7));
        expected = expected * 3 + 7;
    }
    CHECK(cuModuleUnload(loaded));
    bool first = report_word(data) == expected;
    /* others come first where something has asked for all functions of the module: those handles are free as well */
    static const char *const others[] = {"mix", "spin", "fault"};
    CUfunction kernel = NULL;
    bool again = false;
    for (unsigned before = 0; before < 4 && !again; before++) {
        if (before > 0)
            CHECK(cuModuleUnload(loaded));
        CHECK(cuModuleLoad(&loaded, report_image()));
        for (unsigned i = 0; i < before; i++)
            report_kernel(loaded, others[i]);
        kernel = report_kernel(loaded, "fill");
        again = kernel == old;
    }
    /* fill: data[i] = value, with the same parameters; the same arguments, so that a graph of the old one would match
     */
    for (unsigned i = 0; i < 200; i++)
        CHECK(report_step(kernel, stream, data, 7));
    CHECK(cuStreamSynchronize(stream));
    bool second = report_word(data) == 7;
    printf("%s %s%s\n", first ? "old right" : "old WRONG", second ? "new right" : "new WRONG",
           again ? "" : ", the handle did not come back");
    return first && second && again ? 0 : 1;
}
