#include "shim/hook/unknown.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/log.h"
#include "shim/hook/stubs.h"
#include "shim/trace/trace.h"
#include "shim/window/order.h"

struct unknown {
    void *real;
    struct ag_caller caller;
    bool stops;  /* holding ends with its first call */
    char name[]; /* of the function; the caller's symbol */
};

/* Entry i is stub i's. Entries are filled from the first on and never change: no lock, so no care in a fork's child. */
static struct unknown *_Atomic pool[AG_STUB_COUNT];

/* Whether submitting first is not enough: the function may make handles void, change what graphs were built under,
 * begin a capture, or lead past the hooks. The words are those of the listed functions that do. */
static bool may_void(const char *name)
{
    static const char *const words[] = {"Destroy",     "Detach",     "Unload",   "Release", "Reset",
                                        "Set",         "Disable",    "Restore",  "Enable",  "CopyAttributes",
                                        "Capture",     "Green",      "TexRef",   "SurfRef", "ProcAddress",
                                        "ExportTable", "Unregister", "FreeHost", "Unmap"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strstr(name, words[i]) != NULL)
            return true;
    return false;
}

static struct unknown *make(void *real, const char *name)
{
    size_t size = strlen(name) + 1;
    struct unknown *made = malloc(sizeof *made + size);
    if (made == NULL)
        return NULL;
    memcpy(made->name, name, size);
    made->real = real;
    made->stops = may_void(name);
    memset(&made->caller, 0, sizeof made->caller);
    return made;
}

void *ag_unknown_stub(void *real, const char *name)
{
    struct unknown *made = NULL;
    for (unsigned i = 0; i < AG_STUB_COUNT; i++) {
        struct unknown *there = atomic_load(&pool[i]);
        if (there == NULL) {
            if (made == NULL && (made = make(real, name)) == NULL)
                return NULL;
            if (atomic_compare_exchange_strong(&pool[i], &there, made)) {
                ag_log(AG_LOG_INFO, "%s is not in the hook table: %s", name,
                       made->stops ? "nothing is held once it is called" : "everything is submitted before its calls");
                return (void *)(uintptr_t)(ag_stubs + (size_t)i * AG_STUB_BYTES);
            }
        }
        if (there->real == real) {
            free(made);
            return (void *)(uintptr_t)(ag_stubs + (size_t)i * AG_STUB_BYTES);
        }
    }
    free(made);
    return NULL;
}

void *ag_unknown_before(unsigned index)
{
    struct unknown *called = atomic_load(&pool[index]);
    if (ag_trace_on())
        ag_trace_call(called->name);
    if (atomic_load(&ag_window_open) != 0) {
        ag_stats_caller(&called->caller, called->name);
        ag_order_all(AG_FLUSH_other, AG_WAIT_SOME);
    }
    if (called->stops && ag_order_stop(AG_BYPASS_blind))
        ag_log(AG_LOG_INFO, "%s was called: nothing is held", called->name);
    ag_lock_expect(AG_RANK_NONE);
    return called->real;
}
