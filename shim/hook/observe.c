#include "shim/hook/observe.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "shim/base/lock.h"
#include "shim/hook/hook.h"
#include "shim/hook/nested.h"
#include "shim/trace/trace.h"

/* What is known of a function. */
struct layout {
    UT_hash_handle hh;
    CUfunction function;
    bool readable; /* and a graph could hold it */
    struct ag_site site;
    uint32_t block[3]; /* of the last launch without attributes, */
    uint64_t mix;      /* and its mix */
};

static struct ag_lock lock = AG_LOCK_INIT(AG_RANK_TABLE);
/* under the lock: */
static struct layout *layouts;
static unsigned char record[sizeof(struct ag_kernel_record) + AG_SITE_ARGUMENTS + 2 * AG_RECORD_ALIGN];

static struct layout *layout_of(CUfunction function)
{
    struct layout *layout;
    HASH_FIND_PTR(layouts, &function, layout);
    if (layout != NULL || (layout = calloc(1, sizeof *layout)) == NULL)
        return layout;
    layout->function = layout->site.function = function;
    layout->readable = ag_launch_layout(&layout->site) && !ag_nested(function);
    HASH_ADD_PTR(layouts, function, layout);
    return layout;
}

static uint64_t mix_of(struct layout *layout, const struct key *key)
{
    if (key->count > 0)
        return ag_launch_mix(&layout->site, key);
    if (layout->mix == 0 || memcmp(layout->block, key->block, sizeof layout->block) != 0) {
        memcpy(layout->block, key->block, sizeof layout->block);
        layout->mix = ag_launch_mix(&layout->site, key);
    }
    return layout->mix;
}

static void trace(const struct launch *l, const struct key *key, struct ag_site *site)
{
    memcpy(site->block, l->block, sizeof site->block);
    static CUlaunchAttribute attributes[AG_SITE_ATTRIBUTES]; /* nobody looks at them later */
    site->attributes = attributes;
    site->attribute_count = (uint16_t)key->count;
    for (unsigned i = 0; i < key->count; i++) {
        site->attributes[i].id = (CUlaunchAttributeID)key->attributes[i].id;
        memcpy(&site->attributes[i].value, key->attributes[i].value, sizeof key->attributes[i].value);
    }
    ag_trace_launch(l->stream, l->ptsz, site, record);
}

/* The caller has the lock. */
static bool observe(const struct launch *l, const struct key *key)
{
    struct layout *layout = layout_of(l->function);
    struct ag_kernel_record kernel = {.grid = {l->grid[0], l->grid[1], l->grid[2]}, .shared = l->shared};
    if (layout == NULL || !layout->readable)
        return false;
    uint32_t size = ag_record_round(sizeof kernel + layout->site.argument_bytes);
    memset(record + size - AG_RECORD_ALIGN, 0, AG_RECORD_ALIGN);
    memcpy(record, &kernel, sizeof kernel);
    if (!ag_launch_arguments(&layout->site, l, record + sizeof kernel))
        return false;
    if (ag_trace_on())
        trace(l, key, &layout->site);
    struct ag_sim_op op = {.kind = AG_OP_KERNEL,
                           .key = key,
                           .key_size = ag_launch_key_size(key),
                           .mix = mix_of(layout, key),
                           .record = record,
                           .record_size = size,
                           .argument_bytes = layout->site.argument_bytes,
                           .plain = key->count == 0,
                           .shared = l->shared};
    ag_shadow_launch(l->stream, l->ptsz, &op);
    return true;
}

bool ag_observe(const struct launch *l, bool taken)
{
    struct key key;
    bool read = false;
    if (taken && atomic_load(&ag_window_bypass) == AG_BYPASS_mode && atomic_load(&ag_window_captures) == 0 &&
        ag_launch_key(l, &key)) {
        ag_lock_take(&lock);
        read = observe(l, &key);
        ag_lock_release(&lock);
    }
    if (!read)
        ag_shadow_pass();
    return read;
}

void ag_observe_forget(void)
{
    if (!ag_shadow_on())
        return;
    struct layout *layout, *next;
    ag_lock_take(&lock);
    HASH_ITER(hh, layouts, layout, next)
    {
        HASH_DEL(layouts, layout);
        free(layout->site.params);
        free(layout);
    }
    ag_lock_release(&lock);
    ag_shadow_forget();
}

void ag_observe_in_child(void)
{
    /* what was known may be half written: it is given up, not freed */
    ag_lock_setup(&lock, AG_RANK_TABLE);
    layouts = NULL;
}
