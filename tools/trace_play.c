/* Playing a trace: its events as the shim would see them. */
#include "tools/trace.h"

#include "analysis/token.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

/* A call's name and what it does, looked up once. */
struct known_call {
    UT_hash_handle hh;
    struct ag_trace_call call;
    char name[];
};

/* What the program set a function's attribute to, or that a handle was asked about (attribute ASKED). */
struct known_handle {
    UT_hash_handle hh;
    struct {
        uint64_t handle, attribute;
    } id;
    uint64_t value;
};

#define ASKED UINT64_MAX

/* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: lowering it is only noted. */
#define SHARED_LIMIT 8

struct ag_trace_player {
    struct ag_sim sim;
    struct ag_sampling *sampling; /* NULL: every op is shown */
    double hold_us;
    uint64_t seed;
    unsigned captures;
    struct known_call *calls;
    struct known_handle *handles;
    unsigned char *record;
    uint32_t capacity;
};

/* The identity of a kernel op. */
struct kernel_key {
    uint64_t function;
    uint32_t block[3];
    uint32_t count;
    struct ag_trace_attribute attributes[AG_TRACE_ATTRIBUTES];
};

struct kernel_record {
    uint32_t grid[3];
    uint32_t shared;
};

struct ag_trace_player *ag_trace_player_make(const struct ag_sim_params *params, double hold_us, uint64_t seed,
                                             struct ag_sampling *sampling)
{
    struct ag_trace_player *player = calloc(1, sizeof *player);
    if (!player)
        return NULL;
    player->hold_us = hold_us;
    player->seed = seed;
    player->sampling = sampling;
    ag_sim_init(&player->sim, params);
    return player;
}

struct ag_sim *ag_trace_player_sim(struct ag_trace_player *player)
{
    return &player->sim;
}

void ag_trace_player_free(struct ag_trace_player *player)
{
    if (!player)
        return;
    struct known_call *call, *next_call;
    HASH_ITER(hh, player->calls, call, next_call)
    {
        HASH_DEL(player->calls, call);
        free(call);
    }
    struct known_handle *handle, *next_handle;
    HASH_ITER(hh, player->handles, handle, next_handle)
    {
        HASH_DEL(player->handles, handle);
        free(handle);
    }
    ag_sim_clear(&player->sim);
    free(player->record);
    free(player);
}

/* NULL: memory is short. */
static const struct ag_trace_call *call_of(struct ag_trace_player *player, const char *name)
{
    struct known_call *known;
    size_t length = strlen(name);
    HASH_FIND(hh, player->calls, name, length, known);
    if (known)
        return &known->call;
    known = calloc(1, sizeof *known + length + 1);
    if (!known)
        return NULL;
    memcpy(known->name, name, length);
    known->call = ag_trace_call_of(name);
    HASH_ADD_KEYPTR(hh, player->calls, known->name, length, known);
    return &known->call;
}

/* NULL: memory is short. *known says whether it was there before. */
static struct known_handle *handle_of(struct ag_trace_player *player, uint64_t handle, uint64_t attribute, bool *known)
{
    struct known_handle *entry, key = {.id = {handle, attribute}};
    HASH_FIND(hh, player->handles, &key.id, sizeof key.id, entry);
    *known = entry != NULL;
    if (!entry && (entry = calloc(1, sizeof *entry))) {
        entry->id = key.id;
        HASH_ADD(hh, player->handles, id, sizeof entry->id, entry);
    }
    return entry;
}

/* Attributes that a held launch may have: cluster shape and policy, programmatic serialization, priority, domain. */
static bool attribute_held(struct ag_trace_attribute attribute)
{
    return attribute.id == 4 || attribute.id == 5 || attribute.id == 6 || attribute.id == 8 || attribute.id == 10;
}

/* Attributes that mean nothing: "ignore", and "cooperative" set to no. */
static bool attribute_void(struct ag_trace_attribute attribute)
{
    return attribute.id == 0 || (attribute.id == 2 && attribute.value == 0);
}

/* Another seed makes cuts fall elsewhere. */
static uint64_t seeded(const struct ag_trace_player *player, uint64_t mix)
{
    return player->seed != 0 ? ag_mix64(mix + player->seed) : mix;
}

/* Shows an op to the simulation, unless it is one of a rest. NULL: one that cannot be held. */
static int show(struct ag_trace_player *player, uint64_t stream, uint32_t thread, const struct ag_sim_op *op)
{
    struct ag_sampling *sampling = player->sampling;
    if (sampling != NULL && sampling->resting) {
        ag_sampling_skip(sampling, 1);
        return 0;
    }
    int result = 0;
    if (op != NULL)
        result = ag_sim_launch(&player->sim, stream, thread, op);
    else
        ag_sim_pass(&player->sim);
    if (sampling != NULL && ag_sampling_saw(sampling, &player->sim.totals))
        ag_sim_drop(&player->sim);
    return result;
}

static int launch(struct ag_trace_player *player, const struct ag_trace_event *event)
{
    struct kernel_key key;
    memset(&key, 0, sizeof key);
    key.function = event->function;
    memcpy(key.block, event->block, sizeof key.block);
    bool holdable = player->captures == 0;
    for (unsigned i = 0; i < event->attribute_count; i++) {
        holdable = holdable && (attribute_held(event->attributes[i]) || attribute_void(event->attributes[i]));
        if (!attribute_void(event->attributes[i]))
            key.attributes[key.count++] = event->attributes[i];
    }
    if (!holdable) {
        ag_sim_flush_all(&player->sim, event->thread);
        return show(player, event->stream, event->thread, NULL);
    }
    struct kernel_record head = {.shared = event->shared};
    memcpy(head.grid, event->grid, sizeof head.grid);
    uint32_t size = ag_record_round(sizeof head + event->argument_bytes);
    if (size > player->capacity) {
        unsigned char *record = realloc(player->record, 2 * size);
        if (!record)
            return -ENOMEM;
        player->record = record;
        player->capacity = 2 * size;
    }
    memset(player->record + size - AG_RECORD_ALIGN, 0, AG_RECORD_ALIGN);
    memcpy(player->record, &head, sizeof head);
    if (event->argument_bytes > 0)
        memcpy(player->record + sizeof head, event->arguments, event->argument_bytes);
    uint32_t attributes[2 * AG_TRACE_ATTRIBUTES];
    for (unsigned i = 0; i < key.count; i++) {
        attributes[2 * i] = key.attributes[i].id;
        attributes[2 * i + 1] = key.attributes[i].value;
    }
    struct ag_sim_op op = {.kind = AG_OP_KERNEL,
                           .mix = seeded(player, ag_token_kernel_mix(event->name, key.block, attributes, key.count)),
                           .key = &key,
                           .key_size = sizeof key,
                           .record = player->record,
                           .record_size = size,
                           .argument_bytes = event->argument_bytes,
                           .plain = key.count == 0,
                           .shared = event->shared};
    return show(player, event->stream, event->thread, &op);
}

/* Whether an address may be of pinned or device memory, in traces that do not say what could be held. The program's
 * heap and its stack are neither, where the system places them as it usually does. */
static bool address_mapped(uint64_t address)
{
    return address >= 0x7e0000000000u && address < 0x7ff000000000u;
}

static int transfer(struct ag_trace_player *player, const struct ag_trace_event *event,
                    const struct ag_trace_call *call)
{
    struct {
        uint64_t element, from_host;
    } key = {call->element, 0};
    uint64_t record[3] = {event->call[0], event->call[1], event->call[2]};
    uint64_t stream = call->stream >= 0 ? event->call[call->stream] : 0;
    bool copy = call->effect == AG_TRACE_EFFECT_COPY;
    bool holdable = player->captures == 0 && record[2] != 0 && !(stream == 0 && call->per_thread) && stream != 2;
    if (event->hold != AG_TRACE_HOLD_UNSAID) {
        key.from_host = event->hold == AG_TRACE_HOLD_FROM_HOST;
        holdable = event->hold != AG_TRACE_HOLD_NO;
    } else if (copy && call->host_possible) {
        key.from_host = !strncmp(event->name, "cuMemcpyHtoD", 12);
        holdable = holdable && address_mapped(record[0]) && address_mapped(record[1]);
    }
    if (!copy) /* as a record has it: target, count, value */
        record[1] = event->call[2], record[2] = event->call[1] & (call->element == 4   ? 0xffffffffu
                                                                  : call->element == 2 ? 0xffffu
                                                                                       : 0xffu);
    if (!holdable) {
        ag_sim_flush_all(&player->sim, event->thread);
        /* without the shim's word it may be a copy that no shim would hold, which is no launch */
        bool counts = player->captures > 0 || event->hold != AG_TRACE_HOLD_UNSAID;
        return counts ? show(player, stream, event->thread, NULL) : 0;
    }
    enum ag_op_kind kind = copy ? AG_OP_COPY : AG_OP_MEMSET;
    struct ag_sim_op op = {.kind = kind,
                           .mix = seeded(player, ag_token_transfer_mix(kind, call->element, key.from_host != 0)),
                           .key = &key,
                           .key_size = sizeof key,
                           .record = record,
                           .record_size = sizeof record};
    return show(player, stream, event->thread, &op);
}

/* An attribute of a function is set. The real limit of shared memory is only ever raised, and what is set to the value
 * that it has is not set again. */
static int attribute(struct ag_trace_player *player, const struct ag_trace_event *event,
                     const struct ag_trace_call *call)
{
    unsigned name = call->handle == 0 ? 1 : 0, value = call->handle == 0 ? 2 : 1;
    bool known;
    struct known_handle *entry = handle_of(player, event->call[call->handle], event->call[name], &known);
    if (!entry)
        return -ENOMEM;
    uint64_t wanted = event->call[value];
    if (known && (event->call[name] == SHARED_LIMIT ? wanted <= entry->value : wanted == entry->value))
        return 0;
    entry->value = wanted;
    ag_sim_flush_all(&player->sim, event->thread);
    if (event->call[name] != SHARED_LIMIT)
        ag_sim_forget(&player->sim);
    return 0;
}

static int asked(struct ag_trace_player *player, const struct ag_trace_event *event, const struct ag_trace_call *call)
{
    bool known;
    if (!handle_of(player, event->call[call->handle], ASKED, &known))
        return -ENOMEM;
    if (!known)
        ag_sim_flush_all(&player->sim, event->thread);
    return 0;
}

static int other_call(struct ag_trace_player *player, const struct ag_trace_event *event)
{
    struct ag_sim *sim = &player->sim;
    const struct ag_trace_call *call = call_of(player, event->name);
    if (!call)
        return -ENOMEM;
    switch (call->effect) {
    case AG_TRACE_EFFECT_NONE:
        break;
    case AG_TRACE_EFFECT_STREAM:
        if (call->stream < AG_TRACE_CALL_ARGUMENTS)
            ag_sim_flush(sim, event->call[call->stream], event->thread);
        if (call->blocking || call->stream >= AG_TRACE_CALL_ARGUMENTS)
            ag_sim_flush_all(sim, event->thread);
        break;
    case AG_TRACE_EFFECT_CAPTURE_BEGIN:
        player->captures++;
        ag_sim_flush_all(sim, event->thread);
        break;
    case AG_TRACE_EFFECT_CAPTURE_END:
        player->captures -= player->captures > 0;
        break;
    case AG_TRACE_EFFECT_ALL:
        ag_sim_flush_all(sim, event->thread);
        break;
    case AG_TRACE_EFFECT_FORGET:
        ag_sim_flush_all(sim, event->thread);
        ag_sim_forget(sim);
        break;
    case AG_TRACE_EFFECT_ONCE:
        return asked(player, event, call);
    case AG_TRACE_EFFECT_ATTRIBUTE:
        return attribute(player, event, call);
    case AG_TRACE_EFFECT_MEMSET:
    case AG_TRACE_EFFECT_COPY:
        return transfer(player, event, call);
    }
    return 0;
}

int ag_trace_player_play(struct ag_trace_player *player, const struct ag_trace_file *file)
{
    int result = 0;
    uint32_t thread = 0;
    for (size_t i = 0; i < file->count && result == 0; i++) {
        const struct ag_trace_event *event = &file->events[i];
        if (player->hold_us > 0 && event->kind != AG_TRACE_FUNCTION)
            ag_sim_advance(&player->sim, event->time_us, player->hold_us);
        if (event->kind == AG_TRACE_LAUNCH)
            result = launch(player, event);
        else if (event->kind == AG_TRACE_CALL)
            result = other_call(player, event);
        if (event->kind == AG_TRACE_LAUNCH || event->kind == AG_TRACE_CALL)
            thread = event->thread;
    }
    ag_sim_flush_all(&player->sim, thread);
    player->captures = 0;
    return result;
}
