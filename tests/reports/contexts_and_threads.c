/* Threads with a context each, one without any, one that pushes and pops between launches: codes, results and every
 * thread's current context are as ever. */
#include "tests/reports/reports.h"

static CUcontext contexts[2];
static CUstream streams[2];
static CUfunction steps[2];
static CUdeviceptr data[2];
static unsigned expected[2];
static atomic_bool ended;
static atomic_uint moved;

static void *loop(void *which)
{
    unsigned k = *(unsigned *)which;
    CUcontext now;
    CHECK(cuCtxSetCurrent(contexts[k]));
    for (unsigned i = 0; i < 3000; i++) {
        CHECK(report_step(steps[k], streams[k], data[k], i));
        expected[k] = expected[k] * 3 + i;
    }
    CHECK(cuCtxGetCurrent(&now));
    if (now != contexts[k])
        atomic_fetch_add(&moved, 1);
    return NULL;
}

static void *push_and_pop(void *memory)
{
    CUcontext now;
    CUdeviceptr *own = memory;
    for (unsigned i = 0; !atomic_load(&ended); i++) {
        unsigned k = i % 2;
        CUstream stream;
        CHECK(cuCtxPushCurrent(contexts[k]));
        CHECK(cuStreamCreate(&stream, 0));
        for (unsigned n = 0; n < 5; n++)
            CHECK(report_step(steps[k], stream, own[k], n));
        CHECK(cuCtxPushCurrent(contexts[1 - k]));
        CHECK(cuCtxSynchronize());
        CHECK(cuCtxPopCurrent(&now));
        if (now != contexts[1 - k])
            atomic_fetch_add(&moved, 1);
        CHECK(cuStreamDestroy(stream));
        CHECK(cuCtxPopCurrent(&now));
        if (now != contexts[k] || cuCtxGetCurrent(&now) != CUDA_SUCCESS || now != NULL)
            atomic_fetch_add(&moved, 1);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[3];
    unsigned which[2] = {0, 1}, wrong = 0;
    CUdeviceptr own[2];
    report_open();
    contexts[0] = context;
    CHECK(report_context(&contexts[1]));
    for (unsigned k = 0; k < 2; k++) {
        CUmodule image;
        CHECK(cuCtxSetCurrent(contexts[k]));
        CHECK(cuModuleLoad(&image, report_image()));
        steps[k] = report_kernel(image, "step");
        data[k] = report_memory(4);
        own[k] = report_memory(4);
        CHECK(cuStreamCreate(&streams[k], CU_STREAM_NON_BLOCKING));
    }
    for (CUcontext top = context; top != NULL;) { /* until this thread has none */
        CHECK(cuCtxSetCurrent(NULL));
        CHECK(cuCtxGetCurrent(&top));
    }
    for (unsigned k = 0; k < 2; k++)
        if (pthread_create(&threads[k], NULL, loop, &which[k]) != 0)
            return 98;
    if (pthread_create(&threads[2], NULL, push_and_pop, own) != 0)
        return 98;
    CUresult without = report_step(steps[0], streams[0], own[0], 1);
    for (unsigned k = 0; k < 2; k++)
        pthread_join(threads[k], NULL);
    atomic_store(&ended, true);
    pthread_join(threads[2], NULL);
    CHECK(cuCtxSetCurrent(contexts[0]));
    CUresult other = cuStreamSynchronize(streams[0]);
    for (unsigned k = 0; k < 2; k++) {
        CHECK(cuCtxSetCurrent(contexts[k]));
        CHECK(cuCtxSynchronize());
        wrong += report_word(data[k]) != expected[k];
    }
    printf("without a context %d, synchronise %d, %u wrong, %u moved\n", without, other, wrong, atomic_load(&moved));
    return wrong == 0 && atomic_load(&moved) == 0 ? 0 : 1;
}
