#include "shim/window/submit.h"

#include <string.h>

#include "analysis/price.h"
#include "shim/base/clock.h"
#include "shim/base/log.h"
#include "shim/base/options.h"
#include "shim/base/real.h"
#include "shim/base/visit.h"
#include "shim/graph/verify.h"
#include "shim/window/budget.h"

/* A graph launch costs at most so many ops submitted one by one. */
#define LAUNCH_OPS_MAX 2

/* Ops of a window that go out together: what is held, or its beginning. */
struct part {
    const struct ag_token *const *tokens;
    const unsigned char *records;
    unsigned length;
    uint32_t size; /* bytes of records */
};

/* Draws a price of the book towards what each of n nodes has cost since start. */
static void measured(double *price, uint64_t start, unsigned n)
{
    if (ag_options.costs != AG_COSTS_MEASURED)
        return;
    ag_price_draw(price, (double)(ag_clock_ns() - start) / 1e3 / n);
}

/* The same for the price of a launch, of a graph of n nodes. Never far above the price of an op. */
static void measured_launch(struct ag_book_params *params, uint64_t start, unsigned n)
{
    if (ag_options.costs == AG_COSTS_MEASURED)
        ag_price_draw_launch(&params->launch_us, (double)(ag_clock_ns() - start) / 1e3 - params->node_us * n,
                             LAUNCH_OPS_MAX * params->saved_us);
}

/* Submits one op; where memory is short the window's graphs go first. */
static CUresult submit_one(struct ag_window *w, const struct ag_token *token, const unsigned char *record)
{
    CUresult result = ag_graph_submit(&w->target, token, record);
    if (result != CUDA_ERROR_OUT_OF_MEMORY || w->book.instance_count + w->templates.count == 0)
        return result;
    ag_budget_drop(w);
    return ag_graph_submit(&w->target, token, record);
}

/* One by one. Returns the first refusal. */
static CUresult submit_eagerly(struct ag_window *w, struct ag_held *h)
{
    CUresult first = CUDA_SUCCESS;
    unsigned count = h->length - h->submitted;
    if (count == 0)
        return first;
    uint64_t start = ag_clock_ns();
    while (h->submitted < h->length) {
        const struct ag_token *token = h->tokens[h->submitted];
        CUresult result = submit_one(w, token, h->records + h->submitted_used);
        /* inside a host function of the program nothing can be submitted: it stays held */
        if (result == CUDA_ERROR_NOT_PERMITTED)
            return result;
        if (result != CUDA_SUCCESS && first == CUDA_SUCCESS)
            first = result;
        w->submit_stats.count[AG_STAT_eager]++;
        w->submit_stats.count[AG_STAT_driver_calls]++;
        h->submitted++;
        h->submitted_used += token->record_size;
    }
    /* nearly all of it is saved by replaying */
    measured(&w->book.params.saved_us, start, count);
    return first;
}

/* Builds an executable graph of what is held; NULL when memory for graphs is short or the driver refuses, which
 * *result tells. */
static struct ag_exec *build_exec(struct ag_window *w, const struct part *part, CUresult *result)
{
    *result = CUDA_SUCCESS;
    if (!ag_budget_room(w, (size_t)part->length * AG_GRAPH_NODE_BYTES))
        return NULL;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    ag_real.cuThreadExchangeStreamCaptureMode(&mode);
    struct ag_exec *exec = NULL;
    uint64_t start = ag_clock_ns();
    *result = ag_graph_build(&w->target, part->tokens, part->length, part->records, &exec);
    measured(&w->book.params.build_us, start, part->length);
    ag_real.cuThreadExchangeStreamCaptureMode(&mode);
    if (*result != CUDA_SUCCESS) {
        w->submit_stats.count[AG_STAT_failures]++;
        ag_log(AG_LOG_WARN, "a graph of %u operations could not be built (%d); they are launched one by one",
               part->length, (int)*result);
        return NULL;
    }
    w->submit_stats.count[AG_STAT_builds]++;
    ag_budget_take(w, exec);
    return exec;
}

/* Builds an instance for the chunk of a choice; false: submit eagerly. */
static bool build(struct ag_window *w, const struct part *part, struct ag_book_choice *choice)
{
    CUresult result;
    struct ag_exec *exec = build_exec(w, part, &result);
    if (exec == NULL) {
        if (result != CUDA_SUCCESS)
            ag_book_refused(choice->chunk);
        return false;
    }
    choice->instance =
            ag_book_add(&w->book, choice->chunk, part->records, exec, (size_t)part->length * AG_GRAPH_NODE_BYTES);
    if (choice->instance == NULL) {
        w->book.release(w->book.owner, exec);
        return false;
    }
    choice->differing = 0;
    return true;
}

static void drop(struct ag_window *w, struct ag_instance *instance)
{
    ag_book_drop(&w->book, instance);
    w->submit_stats.count[AG_STAT_failures]++;
}

/* Counts a graph launch of the part. */
static void launched(struct ag_window *w, struct ag_held *h, const struct part *part, struct ag_exec *exec,
                     unsigned patched, unsigned retargeted)
{
    ag_budget_used(exec);
    w->submit_stats.count[AG_STAT_graph_launches]++;
    w->submit_stats.count[AG_STAT_driver_calls]++;
    w->submit_stats.count[AG_STAT_replayed] += part->length;
    w->submit_stats.count[AG_STAT_patched] += patched;
    w->submit_stats.count[AG_STAT_retargeted] += retargeted;
    h->submitted += part->length;
    h->submitted_used += part->size;
}

/* In verify mode: compares the nodes of a graph, and the book's image of them unless it is NULL, with what is held.
 * False: it must not be launched; *code is then CUDA_ERROR_NOT_PERMITTED inside a host function of the program. */
static bool verified(struct ag_window *w, const struct part *part, const struct ag_exec *exec,
                     const unsigned char *image, CUresult *code)
{
    unsigned differences = 0;
    CUresult result = ag_verify_nodes(exec, part->tokens, part->records, &differences);
    if (result == CUDA_ERROR_NOT_PERMITTED) {
        *code = result;
        return false;
    }
    if (image != NULL)
        ag_verify_image(part->tokens, part->length, part->records, image, &differences);
    w->submit_stats.count[AG_STAT_divergences] += differences;
    w->submit_stats.count[AG_STAT_failures] += result != CUDA_SUCCESS;
    return result == CUDA_SUCCESS && differences == 0;
}

/* Patches what differs and launches; false: nothing was launched. */
static bool launch(struct ag_window *w, struct ag_held *h, const struct part *part, struct ag_book_choice *choice,
                   CUresult *code)
{
    struct ag_exec *exec = choice->instance->exec;
    uint64_t start = choice->differing > 0 ? ag_clock_ns() : 0;
    uint32_t offset = 0;
    unsigned next = 0;
    for (unsigned i = 0; i < part->length && next < choice->differing; i++) {
        if (choice->differs[next] == i) {
            CUresult result = ag_graph_patch(&w->target, exec, i, part->tokens[i], part->records + offset);
            if (result != CUDA_SUCCESS) {
                ag_log(AG_LOG_INFO, "patching node %u failed (%d)", i, (int)result);
                ag_book_refused(choice->chunk);
                drop(w, choice->instance);
                return false;
            }
            next++;
        }
        offset += part->tokens[i]->record_size;
    }
    if (choice->differing > 0) {
        measured(&w->book.params.patch_us, start, choice->differing);
        ag_book_patched(choice->instance, choice, part->records);
    }
    if (ag_verify_on() && !verified(w, part, exec, choice->instance->records, code)) {
        if (*code == CUDA_ERROR_NOT_PERMITTED)
            return true;
        ag_book_drop(&w->book, choice->instance);
        return false;
    }
    start = ag_clock_ns();
    *code = ag_graph_launch(&w->target, exec);
    if (*code == CUDA_ERROR_NOT_PERMITTED)
        return true;
    measured_launch(&w->book.params, start, part->length);
    if (*code != CUDA_SUCCESS) {
        ag_log(AG_LOG_INFO, "launching a graph failed (%d)", (int)*code);
        ag_book_refused(choice->chunk);
        drop(w, choice->instance);
        return false;
    }
    ag_book_used(&w->book, choice->instance);
    launched(w, h, part, exec, choice->differing, 0);
    return true;
}

/* Whether a node of any template takes the op. */
static bool is_plain(const struct ag_token *token)
{
    const struct ag_site *site = token->user;
    return token->kind == AG_OP_KERNEL && site->attribute_count == 0;
}

/* The beginning of what is held goes out through a template; false: nothing was launched. */
static bool launch_template(struct ag_window *w, struct ag_held *h, const struct part *part, int kind, CUresult *code)
{
    struct ag_exec *exec = NULL;
    CUresult result = CUDA_SUCCESS;
    bool fresh = false;
    switch (ag_template_choose(&w->templates, kind)) {
    case AG_TEMPLATE_NONE:
        return false;
    case AG_TEMPLATE_BUILD:
        exec = build_exec(w, part, &result);
        if (exec == NULL) {
            ag_template_refuse(&w->templates, kind);
            return false;
        }
        ag_template_add(&w->templates, kind, exec);
        fresh = true;
        break;
    case AG_TEMPLATE_USE:
        exec = w->templates.exec[kind];
        break;
    }
    uint32_t offset = 0;
    for (unsigned i = 0; !fresh && i < part->length && result == CUDA_SUCCESS; i++) {
        result = ag_graph_patch(&w->target, exec, i, part->tokens[i], part->records + offset);
        offset += part->tokens[i]->record_size;
    }
    if (result == CUDA_SUCCESS && ag_verify_on() && !verified(w, part, exec, NULL, code)) {
        if (*code == CUDA_ERROR_NOT_PERMITTED)
            return true;
        w->book.release(w->book.owner, ag_template_refuse(&w->templates, kind));
        return false;
    }
    if (result == CUDA_SUCCESS) {
        *code = result = ag_graph_launch(&w->target, exec);
        if (result == CUDA_ERROR_NOT_PERMITTED)
            return true;
    }
    if (result != CUDA_SUCCESS) {
        ag_log(AG_LOG_INFO, "retargeting a graph of %u operations failed (%d)", part->length, (int)result);
        w->submit_stats.count[AG_STAT_failures]++;
        w->book.release(w->book.owner, ag_template_refuse(&w->templates, kind));
        *code = CUDA_SUCCESS;
        return false;
    }
    launched(w, h, part, exec, fresh ? 0 : part->length, fresh ? 0 : part->length);
    return true;
}

/* What is held has no instance: as much of it as templates take goes out through them. Returns CUDA_ERROR_NOT_PERMITTED
 * when nothing can be submitted just now. */
static CUresult submit_by_templates(struct ag_window *w, struct ag_held *h)
{
    CUresult code = CUDA_SUCCESS;
    for (int kind; (kind = ag_template_for(h->length - h->submitted)) >= 0;) {
        struct part part = {h->tokens + h->submitted, h->records + h->submitted_used, ag_template_length(kind), 0};
        for (unsigned i = 0; i < part.length; i++) {
            if (!is_plain(part.tokens[i]))
                return CUDA_SUCCESS;
            part.size += part.tokens[i]->record_size;
        }
        if (!launch_template(w, h, &part, kind, &code) || code != CUDA_SUCCESS)
            break;
    }
    return code;
}

CUresult ag_submit_held(struct ag_window *w, struct ag_held *h)
{
    ag_lock_expect(AG_RANK_SUBMIT);
    struct part part = {h->tokens + h->submitted, h->records + h->submitted_used, h->length - h->submitted,
                        h->used - h->submitted_used};
    struct ag_book_choice choice;
    CUresult code = CUDA_SUCCESS;
    ag_book_choose(&w->book, part.tokens, part.length, part.records, &choice);
    bool ready = choice.action == AG_BOOK_LAUNCH || (choice.action == AG_BOOK_BUILD && build(w, &part, &choice));
    if (ready && launch(w, h, &part, &choice, &code))
        return code;
    w->book.previous = NULL;
    if (choice.action == AG_BOOK_EAGER && part.length < AG_BOOK_SHORT && ag_options.costs == AG_COSTS_MEASURED)
        ag_price_declined(&w->book.params.launch_us);
    bool blocked = choice.chunk != NULL && ag_book_blocked(choice.chunk);
    if (choice.action == AG_BOOK_EAGER && choice.instance == NULL && !blocked &&
        (code = submit_by_templates(w, h)) == CUDA_ERROR_NOT_PERMITTED)
        return code;
    return submit_eagerly(w, h);
}
