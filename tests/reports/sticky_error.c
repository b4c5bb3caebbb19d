/* sticky_error first|known stream|context|event|query|copy: a kernel faults in the middle of a loop that is known, at
 * its first launch or after many that did nothing. The call that is asked for tells it, then every call does, until the
 * context is reset; then it is of use again. */
#include "tests/reports/reports.h"

#define ROUNDS 20u

static CUresult told_by(const char *how, CUstream stream, CUevent event, CUdeviceptr data)
{
    CUresult result = CUDA_ERROR_NOT_READY;
    unsigned word;
    if (strcmp(how, "stream") == 0)
        return cuStreamSynchronize(stream);
    if (strcmp(how, "context") == 0)
        return cuCtxSynchronize();
    if (strcmp(how, "copy") == 0)
        return (result = cuMemcpyDtoHAsync(&word, data, sizeof word, stream)) != CUDA_SUCCESS
                       ? result
                       : cuStreamSynchronize(stream);
    /* the record itself tells it when the fault is over by then */
    if (strcmp(how, "event") == 0)
        return (result = cuEventRecord(event, stream)) != CUDA_SUCCESS ? result : cuEventSynchronize(event);
    if (strcmp(how, "query") == 0)
        while ((result = cuStreamQuery(stream)) == CUDA_ERROR_NOT_READY)
            report_sleep_ms(1);
    return result;
}

static CUresult launch_fault(CUfunction fault, CUstream stream, int code)
{
    void *args[] = {&code};
    return cuLaunchKernel(fault, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    bool known = strcmp(argv[1], "known") == 0;
    report_open();
    CUfunction step = report_kernel(module, "step"), fault = report_kernel(module, "fault");
    CUdeviceptr data = report_memory(4), more;
    CUstream stream;
    CUevent event;
    unsigned sum = 0, other = 0, accepted = 0;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < 5; i++, sum = sum * 3 + round)
            CHECK(report_step(step, stream, data, round));
        if (known)
            CHECK(launch_fault(fault, stream, 0));
        for (unsigned i = 0; i < 5; i++, sum = sum * 3 + round)
            CHECK(report_step(step, stream, data, round));
        CHECK(cuStreamSynchronize(stream));
    }
    bool right = report_word(data) == sum;

    /* the same round once more; what comes after the fault may be told already */
    for (unsigned i = 0; i < 5; i++)
        CHECK(report_step(step, stream, data, ROUNDS));
    CHECK(launch_fault(fault, stream, CUDA_ERROR_ILLEGAL_ADDRESS));
    for (unsigned i = 0; i < 5; i++) {
        CUresult result = report_step(step, stream, data, ROUNDS);
        other += result != CUDA_SUCCESS && result != CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    CUresult first = told_by(argv[2], stream, event, data);
    for (unsigned i = 0; i < 123; i++)
        accepted += report_step(step, stream, data, i) == CUDA_SUCCESS;
    printf("%s, told %d, %u others, launches accepted afterwards %u, then %d %d %d %d\n", right ? "right" : "WRONG",
           first, other, accepted, cuEventCreate(&event, 0), cuMemAlloc(&more, 4), cuStreamSynchronize(stream),
           cuStreamQuery(stream));

    CHECK(cuDevicePrimaryCtxReset(device));
    report_open();
    step = report_kernel(module, "step");
    data = report_memory(4);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    sum = 0;
    for (unsigned i = 0; i < 100; i++, sum = sum * 3 + i)
        CHECK(report_step(step, stream, data, i + 1));
    CHECK(cuStreamSynchronize(stream));
    bool again = report_word(data) == sum;
    printf("after a reset %s\n", again ? "right" : "WRONG");
    return right && again && first == CUDA_ERROR_ILLEGAL_ADDRESS && other == 0 && accepted == 0 ? 0 : 1;
}
