#define _GNU_SOURCE
#include "shim/trace/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <uthash.h>

#include "analysis/trace_binary.h"
#include "shim/base/lock.h"
#include "shim/base/options.h"
#include "shim/base/real.h"
#include "shim/trace/file.h"

#define BUFFER_BYTES ((size_t)256 << 10)

/* Streams other than the legacy default stream are numbered from here, so that no number looks like a special handle.
 */
#define STREAM_FIRST 16

atomic_bool ag_trace_active;

/* A handle and the number that stands for it. Functions have one number with arguments and one without. */
struct number {
    UT_hash_handle hh;
    struct {
        uint64_t handle;
        uint64_t kind;
    } key;
    uint32_t id;
    uint32_t param_count, argument_bytes; /* as declared */
};

enum { STREAM, FUNCTION_READ, FUNCTION_UNREAD };

static struct ag_lock lock = AG_LOCK_INIT(AG_RANK_LEAF);
/* under the lock: */
static int file = -1;
static off_t written; /* bytes of whole records in the file */
static unsigned char *buffer;
static size_t used;
static struct number *numbers;
static uint32_t streams, functions;

static struct timespec began;
static atomic_uint threads;
static _Thread_local __attribute__((tls_model("initial-exec"))) uint32_t thread;

static void give_up(const char *what, int error)
{
    atomic_store(&ag_trace_active, false);
    ag_file_complain("the trace", what, error);
}

/* Writes the buffer. A file that cannot take all of it is cut back to whole records. */
static void drain(void)
{
    size_t done = 0;
    while (done < used) {
        ssize_t n = write(file, buffer + done, used - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            int error = n < 0 ? errno : EIO;
            if (ftruncate(file, written) == 0 || errno == EINVAL)
                give_up(ag_options.trace, error);
            else
                give_up(ag_options.trace, errno);
            break;
        }
        done += (size_t)n;
    }
    if (done == used)
        written += (off_t)used;
    used = 0;
}

static bool open_file(void)
{
    int error = (buffer = malloc(BUFFER_BYTES)) == NULL ? ENOMEM : ag_file_open(ag_options.trace, &file);
    if (error != 0) {
        give_up(ag_options.trace, error);
        return false;
    }
    struct ag_trace_header header = {
            .magic = AG_TRACE_MAGIC, .version = AG_TRACE_VERSION, .byte_order = AG_TRACE_BYTE_ORDER};
    memcpy(buffer, &header, sizeof header);
    used = sizeof header;
    return true;
}

/* Room for a record, cleared and with its head filled in; NULL: there is no trace. The caller has the lock. */
static void *reserve(enum ag_trace_record_kind kind, size_t size)
{
    struct timespec now;
    size = (size + 7) & ~(size_t)7;
    if (!ag_trace_on() || size > BUFFER_BYTES - sizeof(struct ag_trace_header) || (file < 0 && !open_file()))
        return NULL;
    if (used + size > BUFFER_BYTES)
        drain();
    if (!ag_trace_on())
        return NULL;
    if (thread == 0)
        thread = atomic_fetch_add(&threads, 1) + 1;
    clock_gettime(CLOCK_MONOTONIC, &now);
    unsigned char *at = buffer + used;
    memset(at, 0, size);
    struct ag_trace_head head = {.size = (uint32_t)size, .kind = (uint16_t)kind, .thread = thread};
    head.time_ns =
            (uint64_t)(now.tv_sec - began.tv_sec) * 1000000000u + (uint64_t)now.tv_nsec - (uint64_t)began.tv_nsec;
    memcpy(at, &head, sizeof head);
    used += size;
    return at;
}

/* The entry of a handle, made when it is new (id 0 then); NULL when memory is short. The caller has the lock. */
static struct number *number_of(uint64_t handle, uint64_t kind)
{
    struct number *entry, wanted;
    memset(&wanted, 0, sizeof wanted);
    wanted.key.handle = handle;
    wanted.key.kind = kind;
    HASH_FIND(hh, numbers, &wanted.key, sizeof wanted.key, entry);
    if (entry == NULL && (entry = calloc(1, sizeof *entry)) != NULL) {
        entry->key = wanted.key;
        HASH_ADD(hh, numbers, key, sizeof entry->key, entry);
    }
    return entry;
}

static uint64_t stream_number(CUstream stream, bool ptsz)
{
    if (stream == NULL)
        stream = ptsz ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
    if (stream == CU_STREAM_LEGACY)
        return 0;
    struct number *entry = number_of((uint64_t)(uintptr_t)stream, STREAM);
    if (entry == NULL)
        return 0;
    if (entry->id == 0)
        entry->id = STREAM_FIRST + streams++;
    return entry->id;
}

static const char *name_of(CUfunction function)
{
    const char *name = NULL;
    if (ag_real.cuFuncGetName(&name, function) == CUDA_SUCCESS && name != NULL)
        return name;
    if (ag_real.cuKernelGetName(&name, (CUkernel)(void *)function) == CUDA_SUCCESS && name != NULL)
        return name;
    return "unknown";
}

/* The function's number, declared as its launches will be written. The caller has the lock. */
static uint32_t function_number(CUfunction function, const struct ag_site *site)
{
    struct number *entry = number_of((uint64_t)(uintptr_t)function, site != NULL ? FUNCTION_READ : FUNCTION_UNREAD);
    uint32_t params = site != NULL ? site->param_count : 0, bytes = site != NULL ? site->argument_bytes : 0;
    if (entry == NULL || (entry->id != 0 && entry->param_count == params && entry->argument_bytes == bytes))
        return entry != NULL ? entry->id : 0;
    const char *name = name_of(function);
    size_t length = strlen(name) + 1;
    struct ag_trace_record_function *r =
            reserve(AG_TRACE_RECORD_FUNCTION, sizeof *r + params * sizeof(struct ag_trace_param) + length);
    if (r == NULL)
        return 0;
    if (entry->id == 0)
        entry->id = ++functions;
    entry->param_count = params;
    entry->argument_bytes = bytes;
    r->function = entry->id;
    r->param_count = params;
    struct ag_trace_param *param = (struct ag_trace_param *)(r + 1);
    for (uint32_t i = 0; i < params; i++)
        param[i] = (struct ag_trace_param){site->params[i].offset, site->params[i].size};
    memcpy(param + params, name, length);
    return entry->id;
}

static void write_launch(CUstream stream, bool ptsz, CUfunction function, const struct ag_site *site,
                         const struct ag_kernel_record *kernel, const uint32_t block[3],
                         const CUlaunchAttribute *attributes, unsigned attribute_count, const unsigned char *arguments)
{
    uint32_t bytes = site != NULL ? site->argument_bytes : 0;
    if (attribute_count > 16)
        attribute_count = 16;
    ag_lock_take(&lock);
    uint32_t id = function_number(function, site);
    struct ag_trace_record_launch *r =
            id != 0 ? reserve(AG_TRACE_RECORD_LAUNCH, sizeof *r + attribute_count * 8 + bytes) : NULL;
    if (r != NULL) {
        r->stream = stream_number(stream, ptsz);
        r->function = id;
        memcpy(r->grid, kernel->grid, sizeof r->grid);
        memcpy(r->block, block, sizeof r->block);
        r->shared = kernel->shared;
        r->attribute_count = attribute_count;
        r->argument_bytes = bytes;
        uint32_t *words = (uint32_t *)(r + 1);
        for (unsigned i = 0; i < attribute_count; i++) {
            words[2 * i] = (uint32_t)attributes[i].id;
            memcpy(&words[2 * i + 1], &attributes[i].value, sizeof words[0]);
        }
        if (bytes > 0)
            memcpy(words + 2 * attribute_count, arguments, bytes);
    }
    ag_lock_release(&lock);
}

void ag_trace_launch(CUstream stream, bool ptsz, const struct ag_site *site, const unsigned char *record)
{
    struct ag_kernel_record kernel;
    memcpy(&kernel, record, sizeof kernel);
    write_launch(stream, ptsz, site->function, site, &kernel, site->block, site->attributes, site->attribute_count,
                 record + sizeof kernel);
}

void ag_trace_launch_unread(CUstream stream, bool ptsz, CUfunction function, const unsigned grid[3],
                            const unsigned block[3], unsigned shared, const CUlaunchAttribute *attributes,
                            unsigned attribute_count)
{
    struct ag_kernel_record kernel = {.grid = {grid[0], grid[1], grid[2]}, .shared = shared};
    write_launch(stream, ptsz, function, NULL, &kernel, block, attributes, attribute_count, NULL);
}

static void write_call(const char *symbol, bool has_stream, CUstream stream, bool ptsz, const void *handle,
                       const uint64_t *values, unsigned count, enum ag_trace_hold hold)
{
    size_t length = strlen(symbol) + 1;
    ag_lock_take(&lock);
    struct ag_trace_record_call *r = reserve(AG_TRACE_RECORD_CALL, sizeof *r + length);
    if (r != NULL) {
        r->has_stream = has_stream;
        r->stream = has_stream ? stream_number(stream, ptsz) : 0;
        r->has_handle = handle != NULL;
        r->handle = (uint64_t)(uintptr_t)handle;
        r->value_count = (uint16_t)count;
        r->hold = (uint16_t)hold;
        for (unsigned i = 0; i < count; i++)
            r->values[i] = values[i];
        memcpy(r + 1, symbol, length);
    }
    ag_lock_release(&lock);
}

void ag_trace_call(const char *symbol)
{
    write_call(symbol, false, NULL, false, NULL, NULL, 0, AG_TRACE_HOLD_UNSAID);
}

void ag_trace_call_stream(const char *symbol, CUstream stream, bool ptsz)
{
    write_call(symbol, true, stream, ptsz, NULL, NULL, 0, AG_TRACE_HOLD_UNSAID);
}

void ag_trace_transfer(const char *symbol, CUstream stream, bool ptsz, const uint64_t values[3],
                       enum ag_trace_hold hold)
{
    write_call(symbol, true, stream, ptsz, NULL, values, 3, hold);
}

void ag_trace_call_handle(const char *symbol, const void *handle, const uint64_t *values, unsigned count)
{
    write_call(symbol, false, NULL, false, handle, values, count, AG_TRACE_HOLD_UNSAID);
}

void ag_trace_flush(CUstream stream, const char *reason, unsigned ops)
{
    size_t length = strlen(reason) + 1;
    ag_lock_take(&lock);
    struct ag_trace_record_flush *r = reserve(AG_TRACE_RECORD_FLUSH, sizeof *r + length);
    if (r != NULL) {
        r->stream = stream_number(stream, false);
        r->ops = ops;
        memcpy(r + 1, reason, length);
    }
    ag_lock_release(&lock);
}

void ag_trace_start(void)
{
    clock_gettime(CLOCK_MONOTONIC, &began);
    if (ag_options.trace[0] != '\0' && ag_options.mode != AG_MODE_OFF)
        atomic_store(&ag_trace_active, true);
}

void ag_trace_write(bool last)
{
    if (!ag_trace_on())
        return;
    ag_lock_take(&lock);
    if (file >= 0 && used > 0)
        drain();
    if (last) {
        atomic_store(&ag_trace_active, false);
        if (file >= 0)
            close(file);
        file = -1;
    }
    ag_lock_release(&lock);
}

void ag_trace_in_child(void)
{
    /* another thread of the parent may have had it */
    ag_lock_setup(&lock, AG_RANK_LEAF);
    if (file >= 0)
        atomic_store(&ag_trace_active, false);
}
