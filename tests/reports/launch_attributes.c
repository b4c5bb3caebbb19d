/* Launches with attributes in a known loop: clusters, priorities, overlap, cooperative ones; those that are wrong are
 * refused at the call, whatever was accepted before. */
#include "tests/reports/reports.h"

int main(void)
{
    report_open();
    CUfunction step = report_kernel(module, "step");
    CUdeviceptr data = report_memory(4);
    CUstream stream;
    unsigned value, count = 1, expected = 0, refused = 0;
    void *args[] = {&data, &value, &count};
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < 3000; i++) {
        CUlaunchAttribute attributes[2];
        memset(attributes, (int)i, sizeof attributes); /* what no attribute means is not equal from call to call */
        CUlaunchConfig config = {.gridDimX = 4,
                                 .gridDimY = 1,
                                 .gridDimZ = 1,
                                 .blockDimX = 1,
                                 .blockDimY = 1,
                                 .blockDimZ = 1,
                                 .hStream = stream,
                                 .attrs = attributes,
                                 .numAttrs = 1};
        bool wrong = i % 100 == 99;
        value = i;
        switch (i % 4) {
        case 0:
            attributes[0].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
            attributes[0].value.clusterDim.x = wrong ? 3 : 2;
            attributes[0].value.clusterDim.y = attributes[0].value.clusterDim.z = 1;
            break;
        case 1:
            attributes[0].id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
            attributes[0].value.priority = 0;
            attributes[1].id = CU_LAUNCH_ATTRIBUTE_IGNORE;
            config.numAttrs = 2;
            break;
        case 2:
            attributes[0].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
            attributes[0].value.programmaticStreamSerializationAllowed = 1;
            break;
        default:
            attributes[0].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
            attributes[0].value.cooperative = 1;
            config.gridDimX = wrong ? 1u << 20 : 4;
        }
        CUresult result = cuLaunchKernelEx(&config, step, args, NULL);
        if (result == CUDA_SUCCESS)
            expected = expected * 3 + i;
        else
            refused++;
        if (i % 500 == 499)
            CHECK(cuStreamSynchronize(stream));
    }
    bool same = report_word(data) == expected;
    printf("%u refused, %s\n", refused, same ? "sum right" : "sum WRONG");
    return same ? 0 : 1;
}
