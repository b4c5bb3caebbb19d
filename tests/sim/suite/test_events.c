/* Events: what a record stands for, and when. */
#include "tests/sim/suite/tap.h"

static CUstream a, b;
static CUevent event;
static unsigned int *flag;
static CUdeviceptr data;

static void set_up(void)
{
    tap_context();
    OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&event, 0));
    flag = tap_mapped(2);
    data = tap_words(2);
}

static void orders_streams(void)
{
    set_up();
    OK(tap_wait_for(flag, 1, data, a));
    OK(cuEventRecord(event, a));
    OK(cuStreamWaitEvent(b, event, 0));
    OK(tap_step(data, 5, b));
    tap_sleep_ms(10);
    FAILS(CUDA_ERROR_NOT_READY, cuStreamQuery(b));
    tap_raise(flag, 1);
    OK(cuStreamSynchronize(b));
    EXPECT(tap_word(data) == 8);
}

/* A wait uses the record that stands at the call, not a later one. */
static void wait_binds_at_call(void)
{
    set_up();
    OK(tap_step(data, 1, a));
    OK(cuEventRecord(event, a));
    OK(cuStreamWaitEvent(b, event, 0));
    OK(tap_wait_for(flag, 1, data + 4, a));
    OK(cuEventRecord(event, a));
    OK(tap_step(data, 5, b));
    OK(cuStreamSynchronize(b)); /* would hang if the wait had moved to the second record */
    EXPECT(tap_word(data) == 8);
    FAILS(CUDA_ERROR_NOT_READY, cuEventQuery(event));
    tap_raise(flag, 1);
    OK(cuEventSynchronize(event));
    OK(cuEventQuery(event));
}

static void never_recorded_is_complete(void)
{
    float ms;
    CUevent other;
    set_up();
    OK(cuEventQuery(event));
    OK(cuEventSynchronize(event));
    OK(cuStreamWaitEvent(a, event, 0));
    OK(tap_step(data, 1, a));
    OK(cuStreamSynchronize(a));
    OK(cuEventCreate(&other, 0));
    OK(cuEventRecord(other, a));
    OK(cuEventSynchronize(other));
    FAILS(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&ms, event, other));
}

static void elapsed(void)
{
    CUevent end, silent;
    float ms = 0;
    unsigned long long ns = 20000000;
    set_up();
    OK(cuEventCreate(&end, 0));
    OK(cuEventCreate(&silent, CU_EVENT_DISABLE_TIMING));
    void *args[] = {&ns, &data};
    OK(cuEventRecord(event, a));
    OK(tap_launch(tap_function("spin"), a, args));
    OK(cuEventRecord(end, a));
    FAILS(CUDA_ERROR_NOT_READY, cuEventElapsedTime(&ms, event, end));
    OK(cuEventSynchronize(end));
    OK(cuEventElapsedTime(&ms, event, end));
    EXPECT(ms >= 19.9f && ms < 5000);
    OK(cuEventRecord(silent, a));
    OK(cuEventSynchronize(silent));
    FAILS(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&ms, event, silent));
}

static void queries_turn_ready(void)
{
    set_up();
    OK(tap_step(data, 1, a));
    OK(cuEventRecord(event, a));
    int tries = 0;
    while (cuEventQuery(event) == CUDA_ERROR_NOT_READY && tries++ < 5000)
        tap_sleep_ms(1);
    OK(cuEventQuery(event));
}

static void handle_comes_back(void)
{
    CUevent again;
    set_up();
    OK(tap_wait_for(flag, 1, data, a));
    OK(cuEventRecord(event, a));
    OK(cuStreamWaitEvent(b, event, 0));
    OK(tap_step(data, 5, b));
    OK(cuEventDestroy(event)); /* the wait keeps its meaning */
    OK(cuEventCreate(&again, 0));
    EXPECT(again == event);
    OK(cuEventQuery(again));
    tap_raise(flag, 1);
    OK(cuStreamSynchronize(b));
    EXPECT(tap_word(data) == 8);
    OK(cuEventDestroy(again));
    FAILS(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(again, a));
}

static void other_context(void)
{
    CUcontext ctx;
    set_up();
    CUstream elsewhere;
#if CUDA_VERSION >= 13000
    OK(cuCtxCreate(&ctx, NULL, 0, 0));
#else
    OK(cuCtxCreate(&ctx, 0, 0));
#endif
    OK(cuStreamCreate(&elsewhere, 0));
    FAILS(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(event, elsewhere));
    OK(cuStreamWaitEvent(elsewhere, event, 0));
    OK(cuCtxDestroy(ctx));
}

/* A callback keeps its place, and no call is legal in it. */
static CUresult in_callback;
static void callback(void *text)
{
    CUcontext ctx;
    in_callback = cuCtxGetCurrent(&ctx);
    __atomic_store_n((int *)text, 1, __ATOMIC_RELEASE);
}

static void host_function(void)
{
    static int called;
    set_up();
    OK(tap_wait_for(flag, 1, data, a));
    OK(cuLaunchHostFunc(a, callback, &called));
    tap_sleep_ms(10);
    EXPECT(!__atomic_load_n(&called, __ATOMIC_ACQUIRE));
    tap_raise(flag, 1);
    OK(cuStreamSynchronize(a));
    EXPECT(__atomic_load_n(&called, __ATOMIC_ACQUIRE));
    EXPECT(in_callback == CUDA_ERROR_NOT_PERMITTED);
}

static const struct tap_case cases[] = {
        {"a wait orders two streams", NULL, orders_streams},
        {"a wait binds to the record that stands at the call", NULL, wait_binds_at_call},
        {"an event never recorded counts as complete", NULL, never_recorded_is_complete},
        {"elapsed time, and its errors", NULL, elapsed},
        {"queries turn ready", NULL, queries_turn_ready},
        {"a destroyed event's waits stay; its handle comes back", NULL, handle_comes_back},
        {"records belong to the event's context", NULL, other_context},
        {"host functions run in order and may not call", NULL, host_function},
};
TAP_MAIN(cases)
