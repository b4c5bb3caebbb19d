/* Comparing what device memory held in two plain runs and a checked one. */
#include "tools/memory.h"
#include "tools/tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Differences that are printed one by one. */
#define AG_MEMORY_PRINTED 10

/* What is known of an allocation of the first plain run. */
struct comparison {
    const struct ag_memory_run *plain;
    /* the thread of each run that is taken for one of plain's, its number; SIZE_MAX: none */
    size_t *again, *checked;
    unsigned char **noise; /* of an allocation: a byte for each piece, 1 where the plain runs differ; NULL: nowhere */
};

static bool readable(const struct ag_memory_allocation *a, const struct ag_memory_allocation *b)
{
    return a->record.state == AG_MEMORY_READ && b->record.state == AG_MEMORY_READ && a->record.when == b->record.when &&
           a->record.shift == b->record.shift && a->record.pieces == b->record.pieces;
}

/* How many pieces differ, those left out that are noise; *first: the number of the first. */
static uint64_t differences(const struct ag_memory_allocation *a, const struct ag_memory_allocation *b,
                            const unsigned char *noise, uint64_t *first)
{
    uint64_t count = 0;
    for (uint64_t i = a->record.pieces; i-- > 0;)
        if (a->hashes[i] != b->hashes[i] && (!noise || !noise[i])) {
            count++;
            *first = i;
        }
    return count;
}

/* In how many pieces two threads, which allocate the same, differ; more where an allocation ended in another way. */
static uint64_t distance(const struct comparison *c, const struct ag_memory_run *run,
                         const struct ag_memory_thread *mine, const struct ag_memory_thread *other)
{
    uint64_t count = 0;
    for (size_t i = 0; i < mine->count; i++) {
        const struct ag_memory_allocation *a = &c->plain->allocations[mine->first + i];
        const struct ag_memory_allocation *b = &run->allocations[other->first + i];
        uint64_t first;
        if (readable(a, b))
            count += differences(a, b, c->noise[mine->first + i], &first);
        else if (a->record.when != b->record.when || a->record.state != b->record.state)
            count += ag_memory_pieces(a->record.bytes, a->record.shift) + 1;
    }
    return count;
}

/* Finds the thread of the run that is taken for each of the plain run's. */
static int match(const struct comparison *c, const struct ag_memory_run *run, size_t *partners)
{
    bool *taken = calloc(run->thread_count + 1, sizeof *taken);
    if (!taken)
        return ag_tool_fail(AG_TOOL_FAILED, "out of memory");
    for (size_t t = 0; t < c->plain->thread_count; t++) {
        const struct ag_memory_thread *mine = &c->plain->threads[t];
        size_t best = SIZE_MAX;
        uint64_t least = UINT64_MAX;
        for (size_t k = 0; k < run->thread_count && least > 0; k++) {
            const struct ag_memory_thread *other = &run->threads[k];
            if (taken[k] || other->signature != mine->signature || other->count != mine->count)
                continue;
            uint64_t now = distance(c, run, mine, other);
            if (now < least) {
                best = k;
                least = now;
            }
        }
        partners[t] = best;
        if (best != SIZE_MAX)
            taken[best] = true;
    }
    /* those that allocate otherwise than any: in their order */
    for (size_t t = 0, k = 0; t < c->plain->thread_count; t++) {
        if (partners[t] != SIZE_MAX)
            continue;
        while (k < run->thread_count && taken[k])
            k++;
        if (k < run->thread_count) {
            partners[t] = k;
            taken[k] = true;
        }
    }
    free(taken);
    return 0;
}

/* The allocation of the run that is the plain run's i-th of its thread t. */
static const struct ag_memory_allocation *partner(const struct comparison *c, const struct ag_memory_run *run,
                                                  const size_t *partners, size_t t, size_t i)
{
    if (partners[t] == SIZE_MAX)
        return NULL;
    return ag_memory_find(run, &run->threads[partners[t]], &c->plain->allocations[c->plain->threads[t].first + i]);
}

static int find_noise(struct comparison *c, const struct ag_memory_run *again)
{
    for (size_t t = 0; t < c->plain->thread_count; t++) {
        const struct ag_memory_thread *thread = &c->plain->threads[t];
        for (size_t i = 0; i < thread->count; i++) {
            const struct ag_memory_allocation *a = &c->plain->allocations[thread->first + i];
            const struct ag_memory_allocation *b = partner(c, again, c->again, t, i);
            uint64_t first;
            if (!b || !readable(a, b) || differences(a, b, NULL, &first) == 0)
                continue;
            unsigned char *noise = calloc(a->record.pieces, 1);
            if (!noise)
                return ag_tool_fail(AG_TOOL_FAILED, "out of memory");
            for (uint64_t k = 0; k < a->record.pieces; k++)
                noise[k] = a->hashes[k] != b->hashes[k];
            c->noise[thread->first + i] = noise;
        }
    }
    return 0;
}

static uint64_t piece_bytes(const struct ag_memory_record *record, uint64_t piece)
{
    uint64_t begin = piece << record->shift, size = (uint64_t)1 << record->shift;
    return record->bytes - begin < size ? record->bytes - begin : size;
}

static void print_difference(const struct comparison *c, const struct ag_memory_allocation *a, uint64_t count,
                             uint64_t first)
{
    static const char *const kinds[AG_MEMORY_KINDS] = {
            [AG_MEMORY_ALLOCATED] = "allocated",    [AG_MEMORY_POOLED] = "from a pool",
            [AG_MEMORY_MANAGED] = "managed",        [AG_MEMORY_MAPPED] = "mapped",
            [AG_MEMORY_VARIABLE] = "the variable ",
    };
    static const char *const whens[AG_MEMORY_WHENS] = {
            [AG_MEMORY_FREED] = "when it was freed",
            [AG_MEMORY_CONTEXT] = "when its context ended",
            [AG_MEMORY_CODE] = "when its code was unloaded",
            [AG_MEMORY_EXIT] = "at exit",
    };
    const struct ag_memory_record *r = &a->record;
    size_t process = 1;
    for (const struct ag_memory_allocation *b = c->plain->allocations; b < a; b++)
        process += b[0].began_ns != b[1].began_ns;
    printf("memory differs: ");
    if (c->plain->processes > 1)
        printf("process %zu, ", process);
    printf("allocation %u of thread %u (%s%s, %llu bytes), %s: %llu of %llu pieces of %llu bytes, the first at byte "
           "%llu\n",
           r->ordinal, r->thread, kinds[r->kind], a->name, (unsigned long long)r->bytes, whens[r->when],
           (unsigned long long)count, (unsigned long long)r->pieces, 1ull << r->shift,
           (unsigned long long)first << r->shift);
}

/* Compares one allocation with its partners, either of which may be NULL. */
static void judge(const struct comparison *c, size_t at, const struct ag_memory_allocation *again,
                  const struct ag_memory_allocation *checked, struct ag_memory_verdict *verdict)
{
    const struct ag_memory_allocation *a = &c->plain->allocations[at];
    const unsigned char *noise = c->noise[at];
    if (!again || !checked || a->record.when != again->record.when || a->record.when != checked->record.when) {
        verdict->missing++;
        return;
    }
    unsigned unread = a->record.state       ? a->record.state
                      : again->record.state ? again->record.state
                                            : checked->record.state;
    if (unread != AG_MEMORY_READ) {
        verdict->unread[unread]++;
        return;
    }
    uint64_t first = 0, compared = 0, left_out = 0;
    for (uint64_t k = 0; k < a->record.pieces; k++)
        *(noise && noise[k] ? &left_out : &compared) += piece_bytes(&a->record, k);
    if (compared == 0) {
        verdict->noisy++;
        return;
    }
    verdict->compared++;
    verdict->bytes += compared;
    verdict->noise += left_out;
    uint64_t count = differences(a, checked, noise, &first);
    if (count > 0 && verdict->different++ < AG_MEMORY_PRINTED)
        print_difference(c, a, count, first);
}

static void judge_all(const struct comparison *c, const struct ag_memory_run *again,
                      const struct ag_memory_run *checked, struct ag_memory_verdict *verdict)
{
    size_t found = 0;
    for (size_t t = 0; t < c->plain->thread_count; t++) {
        const struct ag_memory_thread *thread = &c->plain->threads[t];
        for (size_t i = 0; i < thread->count; i++) {
            const struct ag_memory_allocation *b = partner(c, checked, c->checked, t, i);
            found += b != NULL;
            judge(c, thread->first + i, partner(c, again, c->again, t, i), b, verdict);
        }
    }
    verdict->more = checked->count - found;
}

static void release(struct comparison *c)
{
    for (size_t i = 0; c->noise && i < c->plain->count; i++)
        free(c->noise[i]);
    free(c->noise);
    free(c->again);
    free(c->checked);
}

int ag_memory_compare(const struct ag_memory_run *plain, const struct ag_memory_run *again,
                      const struct ag_memory_run *checked, struct ag_memory_verdict *verdict)
{
    *verdict = (struct ag_memory_verdict){0};
    struct comparison c = {.plain = plain,
                           .again = calloc(plain->thread_count + 1, sizeof *c.again),
                           .checked = calloc(plain->thread_count + 1, sizeof *c.checked),
                           .noise = calloc(plain->count + 1, sizeof(unsigned char *))};
    if (!c.again || !c.checked || !c.noise) {
        release(&c);
        return ag_tool_fail(AG_TOOL_FAILED, "out of memory");
    }
    int status = match(&c, again, c.again);
    if (!status)
        status = find_noise(&c, again);
    if (!status)
        status = match(&c, checked, c.checked);
    if (!status)
        judge_all(&c, again, checked, verdict);
    release(&c);
    return status;
}

void ag_memory_print(const struct ag_memory_verdict *verdict)
{
    static const char *const reasons[AG_MEMORY_STATES] = {
            [AG_MEMORY_CAPTURE] = "ended during a capture",
            [AG_MEMORY_BUSY] = "still waited for when freed",
            [AG_MEMORY_FAILED] = "could not be read",
            [AG_MEMORY_UNSEEN] = "ended unseen",
    };
    if (verdict->different > AG_MEMORY_PRINTED)
        printf("memory differs: %zu more\n", verdict->different - AG_MEMORY_PRINTED);
    printf("memory: %zu allocations compared (%llu bytes), %zu different", verdict->compared,
           (unsigned long long)verdict->bytes, verdict->different);
    if (verdict->noise)
        printf("; %llu bytes in them differ between plain runs", (unsigned long long)verdict->noise);
    if (verdict->noisy)
        printf("; %zu not compared: differ between plain runs", verdict->noisy);
    for (unsigned i = AG_MEMORY_READ + 1; i < AG_MEMORY_STATES; i++)
        if (verdict->unread[i])
            printf("; %zu not compared: %s", verdict->unread[i], reasons[i]);
    if (verdict->missing)
        printf("; %zu not compared: not the same allocation in each run", verdict->missing);
    if (verdict->more)
        printf("; %zu not compared: only with the shim", verdict->more);
    putchar('\n');
}
