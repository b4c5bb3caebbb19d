#include "analysis/simulate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/token.h"

/* What is known of a token: the user pointer. */
struct site {
    uint32_t argument_bytes;
    uint32_t shared_accepted;
    bool plain;
};

struct ag_sim_window {
    struct ag_sim_window *next;
    uint64_t stream;
    uint32_t owner;     /* the thread that added the last op */
    bool open;          /* some op is held */
    double progress_us; /* when that was */
    unsigned length, submitted;
    uint32_t used, submitted_used, capacity; /* bytes of records; of the submitted ones; of their room */
    unsigned char *records;
    const struct ag_token *tokens[AG_CHUNK_MAX];
    struct ag_cutter cutter;
    struct ag_book book;
    struct ag_templates templates;
    struct ag_token_table table;
};

struct ag_sim_params ag_sim_defaults(void)
{
    return (struct ag_sim_params){.cut = ag_cut_defaults(), .book = ag_book_defaults()};
}

void ag_sim_init(struct ag_sim *sim, const struct ag_sim_params *params)
{
    memset(sim, 0, sizeof *sim);
    sim->params = *params;
}

/* Nothing was built, so nothing is freed. */
static void keep(void *owner, void *exec)
{
    (void)owner;
    (void)exec;
}

static void window_drop(struct ag_sim *sim, struct ag_sim_window *w)
{
    if (w->open)
        sim->open--;
    w->open = false;
    w->length = w->submitted = 0;
    w->used = w->submitted_used = 0;
    memset(&w->cutter, 0, sizeof w->cutter);
}

static void window_reset(struct ag_sim *sim, struct ag_sim_window *w)
{
    window_drop(sim, w);
    ag_book_clear(&w->book);
    ag_template_clear(&w->templates, keep, NULL);
    ag_token_clear(&w->table, free);
}

void ag_sim_clear(struct ag_sim *sim)
{
    while (sim->windows != NULL) {
        struct ag_sim_window *w = sim->windows;
        sim->windows = w->next;
        window_reset(sim, w);
        free(w->records);
        free(w);
    }
}

void ag_sim_forget(struct ag_sim *sim)
{
    for (struct ag_sim_window *w = sim->windows; w != NULL; w = w->next)
        window_reset(sim, w);
}

static struct ag_sim_window *window_find(const struct ag_sim *sim, uint64_t stream)
{
    for (struct ag_sim_window *w = sim->windows; w != NULL; w = w->next)
        if (w->stream == stream)
            return w;
    return NULL;
}

static struct ag_sim_window *window_of(struct ag_sim *sim, uint64_t stream)
{
    struct ag_sim_window *w = window_find(sim, stream);
    if (w != NULL || (w = calloc(1, sizeof *w)) == NULL)
        return w;
    w->stream = stream;
    w->next = sim->windows;
    sim->windows = w;
    struct ag_book_params params = sim->params.book;
    if (sim->books++ >= AG_BOOK_ADVANCED)
        params.advance = 0;
    ag_book_init(&w->book, &params, NULL, NULL);
    return w;
}

static void count_eager(struct ag_sim *sim, uint64_t ops, enum ag_sim_eager why)
{
    sim->totals.counts.eager += ops;
    sim->totals.eager[why] += ops;
}

/* What is held of a window: a chunk. */
struct part {
    const struct ag_token *const *tokens;
    const unsigned char *records;
    unsigned length;
};

static void count_launch(struct ag_sim *sim, const struct part *part, const struct ag_book_choice *choice)
{
    struct ag_cost_counts *counts = &sim->totals.counts;
    for (unsigned i = 0; i < choice->differing; i++)
        counts->patched_bytes += ((const struct site *)part->tokens[choice->differs[i]]->user)->argument_bytes;
    counts->patched += choice->differing;
    counts->replayed += part->length;
    counts->graph_launches++;
    sim->totals.exact += choice->differing == 0;
    sim->totals.lengths[part->length]++;
}

/* The beginning of a chunk without an instance; returns how many ops went out. */
static unsigned launch_template(struct ag_sim *sim, struct ag_sim_window *w, const struct ag_token *const *tokens,
                                unsigned ops)
{
    static char exec; /* stands for every graph */
    struct ag_cost_counts *counts = &sim->totals.counts;
    int kind = ag_template_for(ops);
    unsigned length = kind >= 0 ? ag_template_length(kind) : 0;
    for (unsigned i = 0; i < length; i++)
        if (!((const struct site *)tokens[i]->user)->plain)
            return 0;
    enum ag_template_action action = kind >= 0 ? ag_template_choose(&w->templates, kind) : AG_TEMPLATE_NONE;
    if (action == AG_TEMPLATE_NONE)
        return 0;
    if (action == AG_TEMPLATE_BUILD) {
        ag_template_add(&w->templates, kind, &exec);
        counts->builds++;
        counts->built_nodes += length;
    } else {
        counts->patched += length;
        counts->retargeted += length;
    }
    counts->replayed += length;
    counts->graph_launches++;
    sim->totals.lengths[length]++;
    return length;
}

static void submit_part(struct ag_sim *sim, struct ag_sim_window *w, const struct part *part)
{
    struct ag_book_choice choice;
    sim->totals.chunks++;
    ag_book_choose(&w->book, part->tokens, part->length, part->records, &choice);
    if (choice.action == AG_BOOK_BUILD) {
        choice.instance = ag_book_add(&w->book, choice.chunk, part->records, NULL, 0);
        choice.differing = 0;
        if (choice.instance != NULL) {
            sim->totals.counts.builds++;
            sim->totals.counts.built_nodes += part->length;
        }
    } else if (choice.action == AG_BOOK_LAUNCH) {
        ag_book_patched(choice.instance, &choice, part->records);
    }
    if (choice.action == AG_BOOK_EAGER || choice.instance == NULL) {
        w->book.previous = NULL;
        unsigned ops = 0, more = 1;
        for (; choice.instance == NULL && more > 0; ops += more)
            more = launch_template(sim, w, part->tokens + ops, part->length - ops);
        count_eager(sim, part->length - ops, AG_SIM_UNKNOWN);
        return;
    }
    ag_book_used(&w->book, choice.instance);
    count_launch(sim, part, &choice);
}

/* ended: the cutter starts anew; flushed: because of a call of the program, not because of its content. */
static void submit(struct ag_sim *sim, struct ag_sim_window *w, bool ended, bool flushed)
{
    struct part part = {w->tokens + w->submitted, w->records + w->submitted_used, w->length - w->submitted};
    if (part.length > 0) {
        sim->totals.flushes += flushed;
        submit_part(sim, w, &part);
        w->submitted = w->length;
        w->submitted_used = w->used;
        if (w->open)
            sim->open--;
        w->open = false;
    }
    if (!ended)
        return;
    if (w->length > part.length)
        ag_book_learn(&w->book, w->tokens, w->length);
    w->length = w->submitted = 0;
    w->used = w->submitted_used = 0;
    if (flushed)
        ag_cut_flush(&w->cutter, &sim->params.cut);
    else
        ag_cut_next(&w->cutter, &sim->params.cut);
}

void ag_sim_flush(struct ag_sim *sim, uint64_t stream, uint32_t thread)
{
    struct ag_sim_window *w = window_find(sim, stream);
    if (w != NULL && w->open)
        submit(sim, w, w->owner == thread, true);
}

void ag_sim_flush_all(struct ag_sim *sim, uint32_t thread)
{
    for (struct ag_sim_window *w = sim->windows; w != NULL && sim->open > 0; w = w->next)
        if (w->open)
            submit(sim, w, w->owner == thread, true);
}

void ag_sim_drop(struct ag_sim *sim)
{
    for (struct ag_sim_window *w = sim->windows; w != NULL; w = w->next)
        window_drop(sim, w);
}

void ag_sim_advance(struct ag_sim *sim, double now_us, double hold_us)
{
    sim->now_us = now_us;
    for (struct ag_sim_window *w = sim->windows; w != NULL && sim->open > 0; w = w->next)
        if (w->open && now_us - w->progress_us > hold_us)
            submit(sim, w, false, true);
}

void ag_sim_pass(struct ag_sim *sim)
{
    sim->totals.counts.launches++;
    count_eager(sim, 1, AG_SIM_PASSED);
}

static bool record_write(struct ag_sim_window *w, const struct ag_sim_op *op)
{
    if (w->used + op->record_size > w->capacity) {
        uint32_t capacity = w->capacity != 0 ? w->capacity : 8192;
        while (capacity < w->used + op->record_size)
            capacity *= 2;
        unsigned char *records = realloc(w->records, capacity);
        if (records == NULL)
            return false;
        w->records = records;
        w->capacity = capacity;
    }
    memcpy(w->records + w->used, op->record, op->record_size);
    return true;
}

int ag_sim_launch(struct ag_sim *sim, uint64_t stream, uint32_t thread, const struct ag_sim_op *op)
{
    struct ag_sim_window *w = window_of(sim, stream);
    if (w == NULL)
        return -ENOMEM;
    struct ag_token *token = ag_token_intern(&w->table, op->kind, op->key, op->key_size, op->record_size, NULL);
    if (token == NULL)
        return -ENOMEM;
    struct site *site = token->user;
    bool first = site == NULL || op->shared > site->shared_accepted;
    if (first) {
        ag_sim_flush_all(sim, thread);
        if (site == NULL && (site = calloc(1, sizeof *site)) == NULL)
            return -ENOMEM;
        site->plain = op->plain;
        site->argument_bytes = op->argument_bytes;
        site->shared_accepted = op->shared;
        token->user = site;
        if (op->mix != 0)
            token->mix = op->mix;
    }
    if (!record_write(w, op))
        return -ENOMEM;
    w->tokens[w->length++] = token;
    w->used += op->record_size;
    w->owner = thread;
    w->progress_us = sim->now_us;
    sim->totals.counts.launches++;
    if (first) {
        w->submitted = w->length;
        w->submitted_used = w->used;
        count_eager(sim, 1, AG_SIM_FIRST);
    } else {
        sim->totals.counts.held++;
        if (!w->open)
            sim->open++;
        w->open = true;
    }
    if (ag_cut_push(&w->cutter, &sim->params.cut, token->mix))
        submit(sim, w, true, false);
    return 0;
}
