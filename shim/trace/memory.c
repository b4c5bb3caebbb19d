#include "shim/trace/memory.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <utlist.h>

#include "shim/base/lock.h"
#include "shim/base/options.h"
#include "shim/trace/file.h"

bool ag_memory_active;

static struct ag_lock lock = AG_LOCK_INIT(AG_RANK_LEAF);
/* under the lock: */
static struct ag_memory_block *blocks;
static int file = -1;
static bool finished, failed;

static uint64_t began_ns;
static atomic_uint threads;
static _Thread_local __attribute__((tls_model("initial-exec"))) uint32_t thread, ordinal;

static void release(struct ag_memory_block *block)
{
    free(block->name);
    free(block->hashes);
    free(block);
}

static void release_list(struct ag_memory_block *list)
{
    struct ag_memory_block *block, *next;
    LL_FOREACH_SAFE(list, block, next)
    {
        release(block);
    }
}

/* ---- the file; the caller has the lock ---- */

static void give_up(int error)
{
    failed = true;
    ag_file_complain("what memory held", ag_options.memory, error);
}

static void put(const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    while (!failed && size > 0) {
        ssize_t n = write(file, at, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            give_up(n < 0 ? errno : EIO);
            return;
        }
        at += n;
        size -= (size_t)n;
    }
}

static bool ready(void)
{
    if (file >= 0 || failed)
        return !failed;
    int error = ag_file_open(ag_options.memory, &file);
    if (error != 0) {
        give_up(error);
        return false;
    }
    struct ag_memory_header header = {.magic = AG_MEMORY_MAGIC,
                                      .version = AG_MEMORY_VERSION,
                                      .byte_order = AG_MEMORY_BYTE_ORDER,
                                      .began_ns = began_ns};
    put(&header, sizeof header);
    return !failed;
}

static void write_block(const struct ag_memory_block *block)
{
    struct ag_memory_record record = {.kind = (uint16_t)block->kind,
                                      .when = (uint16_t)block->when,
                                      .state = (uint16_t)block->state,
                                      .shift = (uint16_t)ag_memory_shift(block->bytes),
                                      .thread = block->thread,
                                      .ordinal = block->ordinal,
                                      .bytes = block->bytes};
    if (block->state == AG_MEMORY_READ)
        record.pieces = ag_memory_pieces(record.bytes, record.shift);
    size_t hashes = record.pieces * sizeof *block->hashes;
    size_t name = block->name != NULL ? (strlen(block->name) + 8) & ~(size_t)7 : 0;
    record.size = sizeof record + hashes + name;
    unsigned char *bytes = ready() ? calloc(1, record.size) : NULL;
    if (bytes == NULL) {
        if (!failed)
            give_up(ENOMEM);
        return;
    }
    memcpy(bytes, &record, sizeof record);
    if (hashes > 0)
        memcpy(bytes + sizeof record, block->hashes, hashes);
    if (block->name != NULL)
        memcpy(bytes + sizeof record + hashes, block->name, strlen(block->name));
    put(bytes, record.size);
    free(bytes);
}

/* ---- the table ---- */

void ag_memory_start(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    began_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    ag_memory_active = ag_options.memory[0] != '\0';
}

/* The caller has the lock. */
static struct ag_memory_block *find(CUdeviceptr address)
{
    struct ag_memory_block *block;
    HASH_FIND(hh, blocks, &address, sizeof address, block);
    return block;
}

static struct ag_memory_block *copy_of(const struct ag_memory_block *block)
{
    struct ag_memory_block *copy = malloc(sizeof *copy);
    if (copy == NULL)
        return NULL;
    *copy = *block;
    if (block->name != NULL && (copy->name = strdup(block->name)) == NULL) {
        free(copy);
        return NULL;
    }
    return copy;
}

void ag_memory_add(const struct ag_memory_block *block)
{
    ag_lock_take(&lock);
    struct ag_memory_block *old = finished ? NULL : find(block->address);
    bool known = old != NULL && block->kind == AG_MEMORY_VARIABLE && old->kind == block->kind;
    struct ag_memory_block *own = finished || known ? NULL : copy_of(block);
    if (old != NULL && !known) {
        HASH_DEL(blocks, old);
        old->state = AG_MEMORY_UNSEEN;
        old->when = AG_MEMORY_FREED;
        write_block(old);
        release(old);
    }
    if (own != NULL) {
        if (thread == 0)
            thread = atomic_fetch_add(&threads, 1) + 1;
        own->thread = thread;
        own->ordinal = ++ordinal;
        HASH_ADD(hh, blocks, address, sizeof own->address, own);
    }
    ag_lock_release(&lock);
}

struct ag_memory_block *ag_memory_take(CUdeviceptr address)
{
    ag_lock_take(&lock);
    struct ag_memory_block *block = find(address);
    if (block != NULL) {
        HASH_DEL(blocks, block);
        block->next = NULL;
    }
    ag_lock_release(&lock);
    return block;
}

static int in_order(const struct ag_memory_block *a, const struct ag_memory_block *b)
{
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return a->ordinal < b->ordinal ? -1 : a->ordinal > b->ordinal;
}

struct ag_memory_block *ag_memory_take_all(bool (*ends)(const struct ag_memory_block *block, const void *what),
                                           const void *what)
{
    struct ag_memory_block *block, *following, *list = NULL;
    ag_lock_take(&lock);
    HASH_ITER(hh, blocks, block, following)
    {
        if (ends(block, what)) {
            HASH_DEL(blocks, block);
            LL_PREPEND(list, block);
        }
    }
    ag_lock_release(&lock);
    LL_SORT(list, in_order);
    return list;
}

void ag_memory_put_back(struct ag_memory_block *list)
{
    struct ag_memory_block *block, *following;
    ag_lock_take(&lock);
    LL_FOREACH_SAFE(list, block, following)
    {
        free(block->hashes);
        block->hashes = NULL;
        block->visited = false;
        if (finished || find(block->address) != NULL)
            release(block);
        else
            HASH_ADD(hh, blocks, address, sizeof block->address, block);
    }
    ag_lock_release(&lock);
}

void ag_memory_write(struct ag_memory_block *list)
{
    struct ag_memory_block *block;
    ag_lock_take(&lock);
    LL_FOREACH(list, block)
    {
        if (!finished)
            write_block(block);
    }
    ag_lock_release(&lock);
    release_list(list);
}

void ag_memory_finish(void)
{
    struct ag_memory_record end = {.size = sizeof end, .kind = AG_MEMORY_END};
    ag_lock_take(&lock);
    finished = true;
    if (file >= 0) {
        put(&end, sizeof end);
        close(file);
        file = -1;
    }
    ag_lock_release(&lock);
}

void ag_memory_in_child(void)
{
    /* another thread of the parent may have had it */
    ag_lock_setup(&lock, AG_RANK_LEAF);
    if (file >= 0 || blocks != NULL)
        finished = true;
    if (file >= 0)
        close(file);
    file = -1;
    /* half changed perhaps: given up, not freed */
    blocks = NULL;
    atomic_store(&threads, 0);
    thread = ordinal = 0;
    ag_memory_start();
}
