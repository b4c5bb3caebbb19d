/* Reading what the processes of a run wrote about device memory. */
#include "tools/memory.h"
#include "tools/folder.h"
#include "tools/tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int ag_memory_run_begin(struct ag_memory_run *run, struct ag_launch *launch)
{
    *run = (struct ag_memory_run){0};
    return ag_folder_make(run->folder, launch, "MEMORY", "memory", "memory records");
}

static int grow(void *array, size_t count, size_t size)
{
    if (count & (count - 1))
        return 0;
    void **at = array, *more = realloc(*at, (count ? 2 * count : 1) * size);
    if (!more)
        return ag_tool_fail(AG_TOOL_FAILED, "out of memory");
    *at = more;
    return 0;
}

/* Whether the record is one, with all that belongs to it inside its size. */
static bool is_sound(const struct ag_memory_record *record, size_t rest)
{
    return record->size >= sizeof *record && record->size <= rest && record->size % 8 == 0 &&
           record->kind < AG_MEMORY_KINDS && record->when < AG_MEMORY_WHENS && record->state < AG_MEMORY_STATES &&
           record->shift < 64 && record->pieces <= (record->size - sizeof *record) / sizeof(uint64_t) &&
           (record->state != AG_MEMORY_READ || record->kind == AG_MEMORY_END ||
            record->pieces == ag_memory_pieces(record->bytes, record->shift));
}

/* Adds the records of one file. One that its process did not complete is counted. */
static int add(struct ag_memory_run *run, const char *path, char *text, size_t length)
{
    struct ag_memory_header header;
    if (length < sizeof header)
        return ag_tool_fail(AG_TOOL_FAILED, "%s is no memory record", path);
    memcpy(&header, text, sizeof header);
    if (memcmp(header.magic, AG_MEMORY_MAGIC, sizeof header.magic) || header.version != AG_MEMORY_VERSION ||
        header.byte_order != AG_MEMORY_BYTE_ORDER)
        return ag_tool_fail(AG_TOOL_FAILED, "%s is no memory record of this version and machine", path);
    run->processes++;
    for (size_t at = sizeof header;;) {
        struct ag_memory_allocation new = {.began_ns = header.began_ns, .name = ""};
        if (length - at < sizeof new.record) {
            run->cut++;
            return 0;
        }
        memcpy(&new.record, text + at, sizeof new.record);
        if (!is_sound(&new.record, length - at)) {
            run->cut++;
            return 0;
        }
        if (new.record.kind == AG_MEMORY_END)
            return 0;
        size_t hashes = new.record.pieces * sizeof *new.hashes;
        new.hashes = (const uint64_t *)(const void *)(text + at + sizeof new.record);
        if (new.record.size > sizeof new.record + hashes && text[at + new.record.size - 1] == '\0')
            new.name = text + at + sizeof new.record + hashes;
        int status = grow(&run->allocations, run->count, sizeof *run->allocations);
        if (status)
            return status;
        run->allocations[run->count++] = new;
        at += new.record.size;
    }
}

static int compare_allocations(const void *left, const void *right)
{
    const struct ag_memory_allocation *a = left, *b = right;
    if (a->began_ns != b->began_ns)
        return a->began_ns < b->began_ns ? -1 : 1;
    if (a->record.thread != b->record.thread)
        return a->record.thread < b->record.thread ? -1 : 1;
    return a->record.ordinal < b->record.ordinal ? -1 : a->record.ordinal > b->record.ordinal;
}

/* The order of kinds, sizes and names. */
static int compare_keys(const struct ag_memory_allocation *a, const struct ag_memory_allocation *b)
{
    if (a->record.kind != b->record.kind)
        return a->record.kind < b->record.kind ? -1 : 1;
    if (a->record.bytes != b->record.bytes)
        return a->record.bytes < b->record.bytes ? -1 : 1;
    return strcmp(a->name, b->name);
}

static int compare_sorted(const void *left, const void *right)
{
    const struct ag_memory_allocation *a = *(const struct ag_memory_allocation *const *)left,
                                      *b = *(const struct ag_memory_allocation *const *)right;
    int keys = compare_keys(a, b);
    return keys ? keys : a < b ? -1 : a > b;
}

static int compare_repeats(const void *like, const void *element)
{
    const struct ag_memory_allocation *a = like, *b = *(const struct ag_memory_allocation *const *)element;
    int keys = compare_keys(a, b);
    return keys ? keys : a->repeat < b->repeat ? -1 : a->repeat > b->repeat;
}

const struct ag_memory_allocation *ag_memory_find(const struct ag_memory_run *run,
                                                  const struct ag_memory_thread *thread,
                                                  const struct ag_memory_allocation *like)
{
    const struct ag_memory_allocation *const *found =
            bsearch(like, run->sorted + thread->first, thread->count, sizeof(*run->sorted), compare_repeats);
    return found ? *found : NULL;
}

/* Counts the repeats of a thread's allocations and finds its signature. */
static void close_thread(struct ag_memory_run *run, struct ag_memory_thread *thread)
{
    struct ag_memory_allocation *first = run->allocations + thread->first;
    const struct ag_memory_allocation **sorted = run->sorted + thread->first;
    for (size_t i = 0; i < thread->count; i++) {
        sorted[i] = &first[i];
        uint64_t key[] = {first[i].record.kind, first[i].record.bytes};
        thread->signature = ag_memory_hash(thread->signature, key, sizeof key);
        thread->signature = ag_memory_hash(thread->signature, first[i].name, strlen(first[i].name));
    }
    qsort(sorted, thread->count, sizeof(*sorted), compare_sorted);
    for (size_t i = 1; i < thread->count; i++)
        if (!compare_keys(sorted[i - 1], sorted[i]))
            run->allocations[sorted[i] - run->allocations].repeat = sorted[i - 1]->repeat + 1;
}

static int sort(struct ag_memory_run *run)
{
    int status = 0;
    if (!run->count)
        return 0;
    run->sorted = calloc(run->count, sizeof(*run->sorted));
    if (!run->sorted)
        return ag_tool_fail(AG_TOOL_FAILED, "out of memory");
    qsort(run->allocations, run->count, sizeof *run->allocations, compare_allocations);
    for (size_t i = 0; !status && i < run->count;) {
        const struct ag_memory_allocation *first = &run->allocations[i];
        struct ag_memory_thread thread = {.first = i};
        for (; i < run->count && run->allocations[i].began_ns == first->began_ns &&
               run->allocations[i].record.thread == first->record.thread;
             i++)
            thread.count++;
        status = grow(&run->threads, run->thread_count, sizeof *run->threads);
        if (!status) {
            close_thread(run, &thread);
            run->threads[run->thread_count++] = thread;
        }
    }
    return status;
}

static int read_file(void *context, const char *path)
{
    struct ag_memory_run *run = context;
    size_t length;
    int status = grow(&run->texts, run->text_count, sizeof *run->texts);
    if (status)
        return status;
    errno = 0;
    char *text = ag_folder_load(path, &length);
    if (!text)
        return ag_tool_fail(AG_TOOL_FAILED, "cannot read %s: %s", path, strerror(errno));
    run->texts[run->text_count++] = text;
    return add(run, path, text, length);
}

int ag_memory_run_end(struct ag_memory_run *run)
{
    int status = ag_folder_empty(run->folder, read_file, run);
    return status ? status : sort(run);
}

void ag_memory_run_release(struct ag_memory_run *run)
{
    if (run->folder[0])
        ag_folder_empty(run->folder, NULL, NULL);
    for (size_t i = 0; i < run->text_count; i++)
        free(run->texts[i]);
    free(run->texts);
    free(run->allocations);
    free(run->threads);
    free(run->sorted);
    *run = (struct ag_memory_run){0};
}
