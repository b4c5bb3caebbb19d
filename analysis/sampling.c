#include "analysis/sampling.h"

#include "analysis/op.h"

static struct ag_sampling_counts counts_of(const struct ag_sim_totals *totals)
{
    return (struct ag_sampling_counts){.ops = totals->counts.replayed + totals->counts.eager,
                                       .replayed = totals->counts.replayed,
                                       .graphs = totals->counts.graph_launches,
                                       .fresh = totals->eager[AG_SIM_FIRST] + totals->eager[AG_SIM_UNKNOWN] +
                                                totals->counts.retargeted};
}

static struct ag_sampling_counts since(const struct ag_sampling_counts *before, const struct ag_sim_totals *totals)
{
    struct ag_sampling_counts now = counts_of(totals);
    return (struct ag_sampling_counts){now.ops - before->ops, now.replayed - before->replayed,
                                       now.graphs - before->graphs, now.fresh - before->fresh};
}

static void begin_rest(struct ag_sampling *s)
{
    /* from half to one and a half times the mean */
    s->left = AG_SAMPLING_REST / 2 + (uint32_t)(ag_mix64(s->blocks + 1) % (AG_SAMPLING_REST + 1));
    s->resting = true;
    s->rest = 0;
    s->block = 0;
}

/* Whether a block goes on after a stretch. */
static bool goes_on(const struct ag_sampling *s, const struct ag_sampling_counts *last)
{
    if (s->block < (s->blocks == 0 ? AG_SAMPLING_FIRST : AG_SAMPLING_WARM + AG_SAMPLING_STRETCH))
        return true;
    if (s->block >= AG_SAMPLING_LONGEST || (last->ops > 0 && last->fresh <= last->ops / AG_SAMPLING_NEW))
        return false;
    return s->blocks == 0 || s->seen < s->rested / AG_SAMPLING_SHARE;
}

/* Takes ops that nobody saw to be as a block says. */
static void add(struct ag_sampling *s, uint64_t ops, const struct ag_sampling_counts *block)
{
    if (block->ops == 0)
        return;
    s->ops += (double)ops;
    s->replayed += (double)ops * (double)block->replayed / (double)block->ops;
    s->graphs += (double)ops * (double)block->graphs / (double)block->ops;
}

/* A stretch is over. True when the block is, too. */
static bool end_stretch(struct ag_sampling *s, const struct ag_sim_totals *totals)
{
    struct ag_sampling_counts last = since(&s->stretch, totals);
    if (goes_on(s, &last)) {
        s->left = AG_SAMPLING_STRETCH;
        s->stretch = counts_of(totals);
        /* the beginning learns: only its end says how it goes on */
        if (s->blocks == 0 || s->block == AG_SAMPLING_WARM)
            s->judged = s->stretch;
        return false;
    }
    last = since(&s->judged, totals);
    if (last.ops > 0)
        s->last = last;
    add(s, s->rest, &last);
    begin_rest(s);
    s->blocks++;
    return true;
}

bool ag_sampling_saw(struct ag_sampling *s, const struct ag_sim_totals *totals)
{
    if (!s->begun) {
        s->begun = true;
        s->left = AG_SAMPLING_STRETCH;
    }
    s->block++;
    s->seen += s->blocks > 0;
    return --s->left == 0 && end_stretch(s, totals);
}

uint32_t ag_sampling_skip(struct ag_sampling *s, uint32_t most)
{
    uint32_t ops = s->left < most ? s->left : most;
    s->left -= ops;
    s->rest += ops;
    s->rested += ops;
    if (s->left == 0) {
        s->resting = false;
        s->left = AG_SAMPLING_WARM;
    }
    return ops;
}

struct ag_sampling_forecast ag_sampling_foretell(const struct ag_sampling *sampling, const struct ag_sim_totals *totals,
                                                 uint64_t launches)
{
    struct ag_sampling all = *sampling;
    struct ag_sampling_counts seen = counts_of(totals);
    /* the rest that no block followed is like the block before it */
    add(&all, all.rest, &all.last);
    double share = all.ops > 0 && launches > seen.ops ? (double)(launches - seen.ops) / all.ops : 0;
    return (struct ag_sampling_forecast){seen.replayed + (uint64_t)(share * all.replayed + 0.5),
                                         seen.graphs + (uint64_t)(share * all.graphs + 0.5)};
}
