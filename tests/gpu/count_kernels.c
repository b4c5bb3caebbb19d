/* Counts kernels by name with CUPTI, as a profiler does. A program opens it and calls count_begin() and count_end(), or
 * the driver loads it (CUDA_INJECTION64_PATH): then it counts from the start and prints at exit.
 */
#include <cupti.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if CUPTI_API_VERSION >= 130000
typedef CUpti_ActivityKernel10 kernel_record;
#else
typedef CUpti_ActivityKernel9 kernel_record;
#endif

#define BUFFER_BYTES (1u << 20)
#define NAMES_MAX 64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    char *name;
    unsigned count;
} kernels[NAMES_MAX];
static unsigned names, dropped;

static void count(const char *name)
{
    unsigned k = 0;
    while (k < names && strcmp(kernels[k].name, name) != 0)
        k++;
    if (k == NAMES_MAX) {
        dropped++;
        return;
    }
    if (k == names)
        kernels[names++].name = strdup(name);
    kernels[k].count++;
}

static void CUPTIAPI give(uint8_t **buffer, size_t *size, size_t *records)
{
    *buffer = aligned_alloc(ACTIVITY_RECORD_ALIGNMENT, BUFFER_BYTES);
    *size = *buffer ? BUFFER_BYTES : 0;
    *records = 0;
}

static void CUPTIAPI take(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    CUpti_Activity *record = NULL;
    size_t lost = 0;
    (void)size;
    pthread_mutex_lock(&lock);
    while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
        if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
            count(((const kernel_record *)(const void *)record)->name);
    if (cuptiActivityGetNumDroppedRecords(context, stream, &lost) == CUPTI_SUCCESS)
        dropped += (unsigned)lost;
    pthread_mutex_unlock(&lock);
    free(buffer);
}

__attribute__((visibility("default"))) int count_begin(void)
{
    if (cuptiActivityRegisterCallbacks(give, take) != CUPTI_SUCCESS)
        return 0;
    return cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == CUPTI_SUCCESS;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Prints what was counted since count_begin(). The caller has waited for its work. */
__attribute__((visibility("default"))) void count_end(void)
{
    cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    pthread_mutex_lock(&lock);
    qsort(kernels, names, sizeof kernels[0], by_name);
    for (unsigned k = 0; k < names; k++) {
        printf("kernel %s %u\n", kernels[k].name, kernels[k].count);
        free(kernels[k].name);
        kernels[k].count = 0;
    }
    printf("records dropped %u\n", dropped);
    names = dropped = 0;
    pthread_mutex_unlock(&lock);
}

__attribute__((visibility("default"))) int InitializeInjection(void)
{
    if (count_begin())
        atexit(count_end);
    else
        printf("CUPTI counts nothing\n");
    return 1;
}
