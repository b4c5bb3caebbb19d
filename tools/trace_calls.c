/* What driver calls do to held work: the hook table, and by name what the hand-written hooks do. */
#include "tools/trace.h"

#include <string.h>

struct row {
    const char *impl, *name, *variant, *class, *scope, *stream, *arguments;
    bool blocking;
};

/* Rows of functions that some toolkits lack are wanted all the same. */
#define CUDA_VERSION 1000000

static const struct row rows[] = {
#define AG_HOOK(impl, symbol, api, since, variant, class, scope, blocking, rules, stream, type, params, args, reason)  \
    {#impl, #symbol, #variant, #class, #scope, #stream, #args, (blocking) != 0},
#include "shim/hook/table.def"
#undef AG_HOOK
};

/* The place of a name in "(a, b, c)"; -1 when it is not there. */
static int argument_index(const char *arguments, const char *name)
{
    int index = 0;
    size_t length = strlen(name);
    for (const char *p = arguments + 1;; index++) {
        while (*p == ' ')
            p++;
        size_t word = strcspn(p, ",)");
        if (word == length && !strncmp(p, name, length))
            return index;
        p += word;
        if (*p++ != ',')
            return -1;
    }
}

static bool begins(const char *name, const char *with)
{
    return !strncmp(name, with, strlen(with));
}

/* Hooks written by hand. */
static void own(const struct row *row, struct ag_trace_call *call)
{
    static const struct {
        const char *name;
        enum ag_trace_effect effect;
        int handle;
    } effects[] = {
            {"cuStreamBeginCapture", AG_TRACE_EFFECT_CAPTURE_BEGIN, -1},
            {"cuStreamEndCapture", AG_TRACE_EFFECT_CAPTURE_END, -1},
            {"cuStreamDestroy", AG_TRACE_EFFECT_STREAM, -1},
            {"cuFuncSetAttribute", AG_TRACE_EFFECT_ATTRIBUTE, 0},
            {"cuKernelSetAttribute", AG_TRACE_EFFECT_ATTRIBUTE, 2},
            {"cuFuncGetAttribute", AG_TRACE_EFFECT_NONE, -1},
            {"cuKernelGetAttribute", AG_TRACE_EFFECT_ONCE, 2},
            {"cuOccupancy", AG_TRACE_EFFECT_ONCE, 1},
            {"cuKernelGetFunction", AG_TRACE_EFFECT_ONCE, 1},
            {"cuFunc", AG_TRACE_EFFECT_ONCE, 0},
            {"cuGetProcAddress", AG_TRACE_EFFECT_NONE, -1},
            {"cuMemsetD8", AG_TRACE_EFFECT_MEMSET, -1},
            {"cuMemsetD16", AG_TRACE_EFFECT_MEMSET, -1},
            {"cuMemsetD32", AG_TRACE_EFFECT_MEMSET, -1},
            {"cuMemcpy", AG_TRACE_EFFECT_COPY, -1},
    };
    for (size_t i = 0; i < sizeof effects / sizeof effects[0]; i++)
        if (begins(row->name, effects[i].name)) {
            call->effect = effects[i].effect;
            call->handle = effects[i].handle;
            break;
        }
    if (call->effect == AG_TRACE_EFFECT_MEMSET)
        call->element = begins(row->name, "cuMemsetD8") ? 1 : begins(row->name, "cuMemsetD16") ? 2 : 4;
    call->host_possible = call->effect == AG_TRACE_EFFECT_COPY && !begins(row->name, "cuMemcpyDtoD");
}

struct ag_trace_call ag_trace_call_of(const char *name)
{
    struct ag_trace_call call = {.effect = AG_TRACE_EFFECT_ALL, .stream = -1, .handle = -1};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *row = &rows[i];
        if (strcmp(row->name, name))
            continue;
        if (!strcmp(row->impl, "NONE")) {
            call.effect = AG_TRACE_EFFECT_NONE;
            return call;
        }
        call.stream = argument_index(row->arguments, row->stream);
        call.per_thread = !strcmp(row->variant, "PTSZ");
        call.blocking = row->blocking || !strcmp(row->scope, "ALL");
        if (!strcmp(row->class, "DROP") || !strcmp(row->class, "STATE"))
            call.effect = AG_TRACE_EFFECT_FORGET;
        else if (call.stream >= 0)
            call.effect = AG_TRACE_EFFECT_STREAM;
        if (!strcmp(row->impl, "OWN"))
            own(row, &call);
        return call;
    }
    return call;
}
