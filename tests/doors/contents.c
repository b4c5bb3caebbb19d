/* Device memory that ends in every way there is, with contents that nothing prints: for what `autograph verify
 * --memory` says (tests/bats/verify_memory.bats).
 *
 *   contents WAY...   each in turn, see below; prints the codes of calls that are not success, and "done"
 *
 * KERNELS names the image. With BREAK=MODE, in runs with AUTOGRAPH_MODE=MODE, one word becomes another.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORDS 1024u
#define BYTES (WORDS * sizeof(unsigned))
#define ROUNDS 200u

static void note(CUresult code, const char *call)
{
    if (code != CUDA_SUCCESS)
        printf("%s: code %d\n", call, (int)code);
}
#define DO(call) note((call), #call)

static CUdevice device;
static CUcontext context;
static CUmodule module;
static CUfunction step, scaled, next_scale, wait_for;
static CUstream stream;

static void open_device(void)
{
    DO(cuInit(0));
    DO(cuDeviceGet(&device, 0));
    DO(cuDevicePrimaryCtxRetain(&context, device));
    DO(cuCtxSetCurrent(context));
}

static void open_code(void)
{
    DO(cuModuleLoad(&module, getenv("KERNELS")));
    DO(cuModuleGetFunction(&step, module, "step"));
    DO(cuModuleGetFunction(&scaled, module, "scaled"));
    DO(cuModuleGetFunction(&next_scale, module, "next_scale"));
    DO(cuModuleGetFunction(&wait_for, module, "wait_for"));
    DO(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
}

static bool broken(void)
{
    const char *wanted = getenv("BREAK"), *mode = getenv("AUTOGRAPH_MODE");
    return wanted != NULL && mode != NULL && strcmp(wanted, mode) == 0;
}

/* Work that repeats; its result depends on every launch, and on the seed. The last launch reaches the last word only.
 */
static void work(CUdeviceptr data, CUstream in, unsigned seed)
{
    unsigned count = WORDS, one = 1;
    CUdeviceptr last = data + BYTES - sizeof(unsigned);
    DO(cuMemsetD32Async(data, seed, WORDS, in));
    for (unsigned i = 0; i < ROUNDS; i++) {
        void *arguments[] = {&data, &i, &count};
        DO(cuLaunchKernel(step, WORDS / 64, 1, 1, 64, 1, 1, 0, in, arguments, NULL));
    }
    unsigned value = broken() ? 8 : 7;
    void *arguments[] = {&last, &value, &one};
    DO(cuLaunchKernel(step, 1, 1, 1, 1, 1, 1, 0, in, arguments, NULL));
}

static CUdeviceptr allocate(void)
{
    CUdeviceptr data = 0;
    DO(cuMemAlloc(&data, BYTES));
    return data;
}

static void freed(void)
{
    CUdeviceptr data = allocate();
    work(data, stream, 1);
    DO(cuMemFree(data));
}

static void live(void)
{
    work(allocate(), stream, 2);
}

static void pitched(void)
{
    CUdeviceptr data = 0;
    size_t pitch = 0;
    DO(cuMemAllocPitch(&data, &pitch, BYTES / 4 - 4, 4, 4));
    work(data, stream, 3);
    DO(cuMemFree(data));
}

static void managed(void)
{
    CUdeviceptr data = 0;
    DO(cuMemAllocManaged(&data, BYTES, CU_MEM_ATTACH_GLOBAL));
    work(data, stream, 4);
    DO(cuMemFree(data));
}

static void pooled(void)
{
    CUdeviceptr data = 0;
    DO(cuMemAllocAsync(&data, BYTES, stream));
    work(data, stream, 5);
    DO(cuMemFreeAsync(data, stream));
    DO(cuStreamSynchronize(stream));
}

static void from_pool(void)
{
    CUdeviceptr data = 0;
    CUmemoryPool pool = NULL;
    DO(cuDeviceGetDefaultMemPool(&pool, device));
    DO(cuMemAllocFromPoolAsync(&data, BYTES, pool, NULL));
    work(data, NULL, 6);
    DO(cuMemFreeAsync(data, NULL));
}

static const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                         .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};

static CUdeviceptr map(size_t *size, CUmemAccess_flags flags)
{
    CUdeviceptr data = 0;
    CUmemGenericAllocationHandle memory = 0;
    CUmemAccessDesc access = {.location = prop.location, .flags = flags};
    DO(cuMemGetAllocationGranularity(size, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    DO(cuMemAddressReserve(&data, *size, 0, 0, 0));
    DO(cuMemCreate(&memory, *size, &prop, 0));
    DO(cuMemMap(data, *size, 0, memory, 0));
    DO(cuMemRelease(memory));
    DO(cuMemSetAccess(data, *size, &access, 1));
    return data;
}

static void mapped(void)
{
    size_t size = 0;
    CUdeviceptr data = map(&size, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    work(data, stream, 17);
    DO(cuMemUnmap(data, size));
    DO(cuMemAddressFree(data, size));
}

/* One that nothing may touch, and that nothing has touched. */
static void untouchable(void)
{
    size_t size = 0;
    CUdeviceptr data = map(&size, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    DO(cuMemUnmap(data, size));
    freed();
}

static void ended_context(void)
{
    CUcontext own;
#if CUDA_VERSION >= 13000
    DO(cuCtxCreate(&own, NULL, 0, device));
#else
    DO(cuCtxCreate(&own, 0, device));
#endif
    open_code();
    work(allocate(), stream, 7);
    DO(cuCtxDestroy(own));
    DO(cuCtxSetCurrent(context));
    open_code();
}

static void ended_primary(bool reset)
{
    work(allocate(), stream, 8);
    if (reset)
        DO(cuDevicePrimaryCtxReset(device));
    else
        DO(cuDevicePrimaryCtxRelease(device));
    open_device();
    open_code();
}

static void reset(void)
{
    ended_primary(true);
}

static void released(void)
{
    ended_primary(false);
}

/* Retained twice: the first release ends nothing. */
static void still_retained(void)
{
    CUdeviceptr data = allocate();
    DO(cuDevicePrimaryCtxRetain(&context, device));
    DO(cuDevicePrimaryCtxRelease(device));
    work(data, stream, 9);
    DO(cuMemFree(data));
}

static void use_variable(CUdeviceptr at)
{
    unsigned one = 1;
    void *arguments[] = {&at, &one};
    for (unsigned i = 0; i < ROUNDS; i++) {
        DO(cuLaunchKernel(next_scale, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
        DO(cuLaunchKernel(scaled, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
    }
    if (broken())
        DO(cuLaunchKernel(next_scale, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
}

static void variable(void)
{
    CUdeviceptr at = 0, other = allocate();
    size_t bytes = 0;
    DO(cuModuleGetGlobal(&at, &bytes, module, "scale"));
    DO(cuModuleGetGlobal(&at, &bytes, module, "scale"));
    use_variable(other);
    DO(cuMemFree(other));
    DO(cuModuleUnload(module));
    DO(cuCtxSetCurrent(context));
    open_code();
}

static void library_variable(void)
{
    CUlibrary library;
    CUkernel kernels[2];
    CUdeviceptr at = 0, other = allocate();
    size_t bytes = 0;
    DO(cuLibraryLoadFromFile(&library, getenv("KERNELS"), NULL, NULL, 0, NULL, NULL, 0));
    DO(cuLibraryGetGlobal(&at, &bytes, library, "scale"));
    DO(cuLibraryGetKernel(&kernels[0], library, "next_scale"));
    DO(cuLibraryGetKernel(&kernels[1], library, "scaled"));
    next_scale = (CUfunction)(void *)kernels[0];
    scaled = (CUfunction)(void *)kernels[1];
    use_variable(other);
    DO(cuMemFree(other));
    DO(cuLibraryUnload(library));
    open_code();
}

/* Threads that allocate the same at the same time, with contents of their own. */
static void *beside(void *seed)
{
    CUstream own;
    DO(cuCtxSetCurrent(context));
    DO(cuStreamCreate(&own, CU_STREAM_NON_BLOCKING));
    CUdeviceptr first = allocate(), second = allocate();
    work(first, own, 100 + (unsigned)(uintptr_t)seed);
    work(second, own, 200 + (unsigned)(uintptr_t)seed);
    DO(cuMemFree(first));
    DO(cuMemFree(second));
    return NULL;
}

static void threads(void)
{
    pthread_t all[4];
    for (uintptr_t i = 0; i < 4; i++)
        if (pthread_create(&all[i], NULL, beside, (void *)i) != 0)
            exit(98);
    for (int i = 0; i < 4; i++)
        pthread_join(all[i], NULL);
}

/* The first words are others in every run. */
static void noise_in(CUdeviceptr data, unsigned words)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    DO(cuMemsetD32Async(data, (unsigned)now.tv_nsec ^ (unsigned)getpid() << 16, words, stream));
}

static void some_noise(void)
{
    CUdeviceptr data = allocate();
    work(data, stream, 10);
    noise_in(data, 10);
    DO(cuMemFree(data));
}

static void all_noise(void)
{
    CUdeviceptr data = allocate();
    work(data, stream, 10);
    noise_in(data, WORDS);
    DO(cuMemFree(data));
}

/* What memory holds that was given back before and is given out again: the simulated driver leaves no zeros there. */
static void begins(void)
{
    CUdeviceptr data = allocate();
    unsigned words[2] = {1, 1};
    DO(cuMemFree(data));
    DO(cuMemAlloc(&data, BYTES));
    DO(cuMemcpyDtoH(&words[0], data + BYTES - 4, 4));
    DO(cuMemFree(data));
    DO(cuMemAllocAsync(&data, BYTES, stream));
    DO(cuMemFreeAsync(data, stream));
    DO(cuMemAllocAsync(&data, BYTES, stream));
    DO(cuStreamSynchronize(stream));
    DO(cuMemcpyDtoH(&words[1], data + BYTES - 4, 4));
    DO(cuMemFreeAsync(data, stream));
    printf("begins with %08x, from a pool with %08x\n", words[0], words[1]);
}

/* Freed while another stream captures. */
static void captured(void)
{
    CUstream other;
    CUgraph graph;
    CUdeviceptr data = 0;
    DO(cuMemAllocAsync(&data, BYTES, stream));
    work(data, stream, 12);
    DO(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    DO(cuStreamBeginCapture(other, CU_STREAM_CAPTURE_MODE_RELAXED));
    DO(cuMemFreeAsync(data, stream));
    DO(cuStreamEndCapture(other, &graph));
}

/* Freed behind a kernel that waits for what the host does after that. */
static void busy(void)
{
    CUdeviceptr data = 0, flag, out = allocate();
    unsigned *host, value = 1;
    unsigned long long limit = 20000000000u;
    DO(cuMemHostAlloc((void **)&host, 64, CU_MEMHOSTALLOC_DEVICEMAP));
    DO(cuMemHostGetDevicePointer(&flag, host, 0));
    __atomic_store_n(host, 0, __ATOMIC_RELEASE);
    DO(cuMemAllocAsync(&data, BYTES, stream));
    work(data, stream, 13);
    void *arguments[] = {&flag, &value, &out, &limit};
    DO(cuLaunchKernel(wait_for, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
    DO(cuMemFreeAsync(data, stream));
    __atomic_store_n(host, 1, __ATOMIC_RELEASE);
    DO(cuMemFree(out));
}

static void refused(void)
{
    CUdeviceptr data = allocate();
    work(data, stream, 14);
    DO(cuMemFree(data + 4));
    DO(cuMemFree(data));
    DO(cuMemFree(data));
    DO(cuMemFree(0));
    DO(cuMemFreeAsync(data, stream));
    DO(cuMemAlloc(&data, 0));
    DO(cuModuleGetGlobal(&data, NULL, module, "nothing"));
}

/* With the break, another allocation is made. */
static void one_more(void)
{
    CUdeviceptr data = 0;
    freed();
    if (broken())
        DO(cuMemAlloc(&data, 64));
    freed();
}

static void fault(void)
{
    CUfunction f;
    int code = 700;
    void *arguments[] = {&code};
    CUdeviceptr data = allocate();
    work(data, stream, 15);
    DO(cuModuleGetFunction(&f, module, "fault"));
    DO(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
    DO(cuMemFree(data));
    DO(cuCtxSynchronize());
}

static void left_at_once(void)
{
    work(allocate(), stream, 16);
    DO(cuStreamSynchronize(stream));
    puts("done");
    fflush(stdout);
    _exit(0);
}

static void forked(void)
{
    live();
    DO(cuStreamSynchronize(stream));
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        exit(0); /* with its exit handlers */
    int status = 0;
    (void)!nanosleep(&(struct timespec){0, 1000000}, NULL);
    if (child < 0 || wait(&status) != child || status != 0)
        printf("the child ended with %d\n", status);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } ways[] = {
#define WAY(name) {#name, name}
            WAY(freed),         WAY(live),
            WAY(pitched),       WAY(managed),
            WAY(pooled),        WAY(from_pool),
            WAY(reset),         WAY(released),
            WAY(variable),      WAY(still_retained),
            WAY(threads),       WAY(some_noise),
            WAY(all_noise),     WAY(begins),
            WAY(captured),      WAY(busy),
            WAY(refused),       WAY(one_more),
            WAY(fault),         WAY(left_at_once),
            WAY(ended_context), WAY(library_variable),
            WAY(forked),        WAY(mapped),
            WAY(untouchable),
    };
    setvbuf(stdout, NULL, _IOLBF, 0);
    open_device();
    open_code();
    for (int i = 1; i < argc; i++)
        for (size_t k = 0; k < sizeof ways / sizeof ways[0]; k++)
            if (strcmp(argv[i], ways[k].name) == 0)
                ways[k].run();
    CUcontext now = NULL;
    DO(cuCtxGetCurrent(&now));
    printf("done%s\n", now == context ? "" : ", in another context");
    return 0;
}
