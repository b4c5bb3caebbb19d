/* Streams: order, independence, the legacy stream, destruction, schedules. */
#include "tests/sim/suite/tap.h"

#include <pthread.h>

static void in_order(void)
{
    CUstream stream;
    tap_context();
    CUdeviceptr data = tap_words(1);
    unsigned int want = 0;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned int i = 0; i < 300; i++, want = want * 3 + i - 1)
        OK(tap_step(data, i, stream));
    OK(cuStreamSynchronize(stream));
    EXPECT(tap_word(data) == want);
}

/* A kernel that spins in one stream does not hold up another. */
static void run_together(void)
{
    CUstream a, b;
    tap_context();
    unsigned int *flag = tap_mapped(1);
    CUdeviceptr out = tap_words(1);
    OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
    OK(tap_wait_for(flag, 1, out, a));
    unsigned int one = 1;
    void *args[] = {&flag, &one};
    OK(tap_launch(tap_function("set_flag"), b, args));
    OK(cuStreamSynchronize(a));
    EXPECT(tap_word(out) == 1);
}

static void legacy_after_blocking(void)
{
    CUstream stream;
    tap_context();
    unsigned int *flag = tap_mapped(1);
    CUdeviceptr out = tap_words(2);
    OK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    OK(tap_wait_for(flag, 1, out, stream));
    OK(tap_step(out, 5, NULL)); /* must run after: 1 * 3 + 5 */
    tap_sleep_ms(20);
    FAILS(CUDA_ERROR_NOT_READY, cuStreamQuery(NULL));
    tap_raise(flag, 1);
    OK(cuStreamSynchronize(NULL));
    EXPECT(tap_word(out) == 8);
}

static void blocking_after_legacy(void)
{
    CUstream blocking, independent;
    tap_context();
    unsigned int *flag = tap_mapped(1);
    CUdeviceptr out = tap_words(2);
    OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    OK(cuStreamCreate(&independent, CU_STREAM_NON_BLOCKING));
    OK(tap_wait_for(flag, 1, out, CU_STREAM_LEGACY));
    OK(tap_step(out, 5, blocking));
    OK(tap_step(out + 4, 7, independent)); /* need not wait */
    OK(cuStreamSynchronize(independent));
    FAILS(CUDA_ERROR_NOT_READY, cuStreamQuery(blocking));
    tap_raise(flag, 1);
    OK(cuStreamSynchronize(blocking));
    EXPECT(tap_word(out) == 8);
    EXPECT(tap_word(out + 4) == 7);
}

static void *other_thread(void *ctx)
{
    CUstream stream = CU_STREAM_PER_THREAD;
    unsigned long long id = 0;
    OK(cuCtxSetCurrent(ctx));
    OK(cuStreamGetId(stream, &id));
    return (void *)(uintptr_t)id;
}

static void per_thread(void)
{
    CUcontext ctx = tap_context();
    unsigned int *flag = tap_mapped(1);
    CUdeviceptr out = tap_words(1);
    unsigned long long id = 0, legacy = 0;
    pthread_t thread;
    void *other = NULL;
    OK(cuStreamGetId(CU_STREAM_PER_THREAD, &id));
    OK(cuStreamGetId(NULL, &legacy));
    EXPECT(id != legacy);
    pthread_create(&thread, NULL, other_thread, ctx);
    pthread_join(thread, &other);
    EXPECT((uintptr_t)other && (uintptr_t)other != id);
    /* It is a blocking stream: the legacy stream waits for it. */
    OK(tap_wait_for(flag, 1, out, CU_STREAM_PER_THREAD));
    OK(tap_step(out, 5, NULL));
    tap_raise(flag, 1);
    OK(cuStreamSynchronize(NULL));
    EXPECT(tap_word(out) == 8);
}

static void destroyed_with_work(void)
{
    CUstream first, second;
    tap_context();
    unsigned int *flag = tap_mapped(1);
    CUdeviceptr out = tap_words(2);
    OK(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
    OK(tap_wait_for(flag, 1, out, first));
    OK(tap_step(out, 5, first));
    OK(cuStreamDestroy(first));
    OK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
    EXPECT(second == first); /* the same handle, another stream */
    OK(tap_step(out + 4, 9, second));
    OK(cuStreamSynchronize(second));
    tap_raise(flag, 1);
    OK(cuCtxSynchronize());
    EXPECT(tap_word(out) == 8);
    EXPECT(tap_word(out + 4) == 9);
    OK(cuStreamDestroy(second));
    FAILS(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize(second));
    FAILS(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy((CUstream)(uintptr_t)0x1234));
}

static void stored_properties(void)
{
    CUstream stream;
    CUcontext ctx = tap_context(), got = NULL;
    int priority = 0;
    unsigned int flags = 0;
    OK(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, -3));
    OK(cuStreamGetPriority(stream, &priority));
    OK(cuStreamGetFlags(stream, &flags));
    OK(cuStreamGetCtx(stream, &got));
    EXPECT(priority == -3 && flags == CU_STREAM_NON_BLOCKING && got == ctx);
    FAILS(CUDA_ERROR_INVALID_VALUE, cuStreamCreate(&stream, 8));
}

/* ---- schedules ---- */
static void lazy_waits(void)
{
    CUstream stream;
    tap_context();
    unsigned int *flag = tap_mapped(1);
    unsigned int one = 1;
    void *args[] = {&flag, &one};
    CUfunction set = tap_function("set_flag");
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(tap_launch(set, stream, args));
    /* Calls keep it busy, so nothing runs in the meantime. */
    for (int i = 0; i < 20; i++) {
        tap_sleep_ms(1);
        OK(cuCtxGetFlags(&one));
    }
    one = 1;
    EXPECT(tap_read(flag) == 0);
    FAILS(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
    EXPECT(tap_read(flag) == 0);
    FAILS(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
    for (int i = 0; i < 2000 && cuStreamQuery(stream) == CUDA_ERROR_NOT_READY; i++)
        tap_sleep_ms(1);
    OK(cuStreamQuery(stream));
    EXPECT(tap_read(flag) == 1);
}

/* A host that polls memory and calls nothing must see progress, and so must one that never stops calling. */
static void starts_by_itself(void)
{
    tap_context();
    unsigned int *flag = tap_mapped(1);
    unsigned int one = 1, flags;
    void *args[] = {&flag, &one};
    CUfunction set = tap_function("set_flag");
    OK(tap_launch(set, NULL, args));
    EXPECT(tap_becomes(flag, 1, 5000));
    one = 2;
    OK(tap_launch(set, NULL, args));
    for (int i = 0; i < 5000 && tap_read(flag) != 2; i++) {
        OK(cuCtxGetFlags(&flags));
        tap_sleep_ms(1);
    }
    EXPECT(tap_read(flag) == 2);
}

static void eager_starts(void)
{
    tap_context();
    unsigned int *flag = tap_mapped(1);
    unsigned int one = 1;
    void *args[] = {&flag, &one};
    OK(tap_launch(tap_function("set_flag"), NULL, args));
    EXPECT(tap_becomes(flag, 1, 5000));
}

static void *raise_later(void *flag)
{
    tap_sleep_ms(50);
    tap_raise(flag, 1);
    return NULL;
}

/* With a queue of eight, the call after the eighth waits until there is room. */
static void full_queue(void)
{
    CUstream stream;
    pthread_t thread;
    tap_context();
    unsigned int *flag = tap_mapped(1);
    CUdeviceptr out = tap_words(1);
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(tap_wait_for(flag, 1, out, stream));
    for (int i = 0; i < 7; i++)
        OK(tap_step(out, 0, stream));
    EXPECT(tap_read(flag) == 0);
    pthread_create(&thread, NULL, raise_later, flag);
    OK(tap_step(out, 0, stream));
    EXPECT(tap_read(flag) == 1);
    pthread_join(thread, NULL);
    OK(cuStreamSynchronize(stream));
    EXPECT(tap_word(out) == 6561);
}

static const struct tap_case cases[] = {
        {"ops of a stream run in order", NULL, in_order},
        {"two submitted kernels run together", NULL, run_together},
        {"the legacy stream waits for blocking streams", NULL, legacy_after_blocking},
        {"blocking streams wait for the legacy stream, others do not", NULL, blocking_after_legacy},
        {"the per-thread stream is the thread's own and blocking", NULL, per_thread},
        {"a destroyed stream finishes its work; its handle comes back", NULL, destroyed_with_work},
        {"flags, priority and context are kept", NULL, stored_properties},
        {"lazy: nothing runs before the third not-ready answer", "schedule=lazy,idle_ms=1000", lazy_waits},
        {"lazy: work starts when no call comes, or after a while", "schedule=lazy,idle_ms=3", starts_by_itself},
        {"eager: work starts at once", "schedule=eager", eager_starts},
        {"a full queue makes the call wait", "queue=8", full_queue},
        {"a full queue makes the call wait", "schedule=lazy,queue=8", full_queue},
};
TAP_MAIN(cases)
