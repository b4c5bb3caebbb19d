/* Two mappings in one reservation, of which the second goes and comes back: a copy or memset that reaches into what is
 * not mapped is refused by its own call, and the loop beside it, in the first mapping and over both, goes on. */
#include "tests/reports/reports.h"

int main(void)
{
    report_open();
    CUfunction step = report_kernel(module, "step");
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location.type = CU_MEM_LOCATION_TYPE_DEVICE};
    CUmemAccessDesc access = {.location = prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handles[2];
    CUdeviceptr base, other = report_memory(4096);
    CUstream stream;
    size_t granule;
    unsigned wrong = 0, refused = 0, expected = 0;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemGetAllocationGranularity(&granule, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CHECK(cuMemAddressReserve(&base, 2 * granule, 0, 0, 0));
    CUdeviceptr border = base + granule;
    for (unsigned i = 0; i < 2; i++) {
        CHECK(cuMemCreate(&handles[i], granule, &prop, 0));
        CHECK(cuMemMap(base + i * granule, granule, 0, handles[i], 0));
    }
    CHECK(cuMemSetAccess(base, 2 * granule, &access, 1));
    for (unsigned round = 0; round < 8; round++) {
        bool both = round % 2 == 0;
        for (unsigned k = 0; k < 60; k++) {
            unsigned value = round * 100 + k;
            CUresult over[] = {cuMemsetD32Async(border - 512, value, 256, stream),
                               cuMemcpyDtoDAsync(border - 256, other, 512, stream),
                               cuMemcpyDtoDAsync(other + 1024, border - 256, 512, stream)};
            for (unsigned i = 0; i < 3; i++) {
                wrong += over[i] != (both ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
                refused += over[i] != CUDA_SUCCESS;
            }
            CHECK(cuMemsetD32Async(border - 64, value, 16, stream));
            CHECK(report_step(step, stream, border - 64, 1));
            CHECK(cuMemcpyDtoDAsync(other, border - 64, 64, stream));
            CHECK(report_step(step, stream, other, 2));
            expected = (value * 3 + 1) * 3 + 2;
        }
        wrong += cuStreamSynchronize(stream) != CUDA_SUCCESS || report_word(other) != expected;
        if (both)
            CHECK(cuMemUnmap(border, granule));
        else
            CHECK(cuMemMap(border, granule, 0, handles[1], 0));
        CHECK(cuMemSetAccess(base, both ? granule : 2 * granule, &access, 1));
    }
    CHECK(cuMemUnmap(base, 2 * granule));
    CHECK(cuMemAddressFree(base, 2 * granule));
    CHECK(cuMemRelease(handles[0]));
    CHECK(cuMemRelease(handles[1]));
    printf("%u refused, %u wrong\n", refused, wrong);
    return wrong == 0 ? 0 : 1;
}
