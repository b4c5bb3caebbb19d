#include "shim/hook/known.h"

#include <stdlib.h>
#include <string.h>

#include "shim/base/real.h"

struct ag_lock ag_known_lock = AG_LOCK_INIT(AG_RANK_LEAF);
struct ag_known *ag_known_all;

static bool any_same; /* there are SAME entries */

/* ---- kinds of entries, beside attributes: no attribute has these numbers ---- */

/* Whether a function is loaded in the context `where`, by its `real`. */
#define LOADED (-1)

/* The cache configuration, by its `real`. */
#define CONFIG (-2)

/* Of which kernel a function is, by its `handle`: both mean one limit, and one code that is loaded. */
#define SAME (-3)

/* With which module or library code ends, by its `handle`. */
#define OWNER (-4)

/* Whether a module was loaded for itself, by its `real`. */
#define MODULE (-5)

/* Whether a function's, module's or library's code may launch kernels, by its `real`. */
#define NESTED (-6)

/* The caller has the lock. */
static struct ag_known *find(void *function, uintptr_t where, int attribute, bool make)
{
    struct ag_known_id id;
    struct ag_known *entry;
    memset(&id, 0, sizeof id);
    id.function = function;
    id.where = where;
    id.attribute = attribute;
    HASH_FIND(hh, ag_known_all, &id, sizeof id, entry);
    if (entry == NULL && make && (entry = calloc(1, sizeof *entry)) != NULL) {
        entry->id = id;
        atomic_store(&entry->limit.program, -1);
        atomic_store(&entry->limit.real, -1);
        atomic_store(&entry->limit.told, -1);
        HASH_ADD(hh, ag_known_all, id, sizeof entry->id, entry);
    }
    return entry;
}

struct ag_known *ag_known(void *code, uintptr_t where, int attribute, bool make)
{
    static struct ag_known none = {.limit = {.program = -1, .real = -1, .told = -1}};
    ag_lock_take(&ag_known_lock);
    bool of_code = attribute == AG_KNOWN_SHARED || attribute == LOADED;
    const struct ag_known *same = any_same && of_code ? find(code, 0, SAME, false) : NULL;
    if (same != NULL && same->handle != NULL)
        code = same->handle;
    struct ag_known *entry = find(code, where, attribute, make);
    ag_lock_release(&ag_known_lock);
    return entry != NULL ? entry : make ? &none : NULL;
}

static atomic_int *value(void *code, uintptr_t where, int attribute)
{
    return &ag_known(code, where, attribute, true)->limit.real;
}

/* -1 when nothing is noted. */
static int noted(void *code, uintptr_t where, int attribute)
{
    const struct ag_known *entry = ag_known(code, where, attribute, false);
    return entry != NULL ? atomic_load(&entry->limit.real) : -1;
}

bool ag_known_loaded(void *handle)
{
    CUcontext ctx = NULL;
    return ag_real.cuCtxGetCurrent(&ctx) == CUDA_SUCCESS && noted(handle, (uintptr_t)ctx, LOADED) > 0;
}

void ag_known_set_loaded(void *handle)
{
    CUcontext ctx = NULL;
    if (ag_real.cuCtxGetCurrent(&ctx) == CUDA_SUCCESS)
        atomic_store(value(handle, (uintptr_t)ctx, LOADED), 1);
}

bool ag_known_config_changes(void *handle, CUfunc_cache config)
{
    return atomic_exchange(value(handle, 0, CONFIG), (int)config) != (int)config;
}

/* The kernel that a function is of, NULL when it is not known to be of one. */
static void *kernel_of(CUfunction function)
{
    ag_lock_take(&ag_known_lock);
    const struct ag_known *same = any_same ? find(function, 0, SAME, false) : NULL;
    void *kernel = same != NULL ? same->handle : NULL;
    ag_lock_release(&ag_known_lock);
    return kernel;
}

static void note_owner(void *handle, const void *owner)
{
    ag_lock_take(&ag_known_lock);
    struct ag_known *entry = find(handle, 0, OWNER, true);
    if (entry != NULL)
        entry->handle = (void *)(uintptr_t)owner;
    ag_lock_release(&ag_known_lock);
}

/* The library of a kernel, noted; NULL when it is not known. */
static const void *library_of(void *kernel)
{
    const void *owner = NULL;
#if CUDA_VERSION >= 12050
    CUlibrary library;
    if (ag_real.cuKernelGetLibrary(&library, (CUkernel)kernel) == CUDA_SUCCESS)
        owner = library;
#endif
    note_owner(kernel, owner);
    return owner;
}

void ag_known_same(CUfunction function, CUkernel kernel)
{
    ag_lock_take(&ag_known_lock);
    struct ag_known *entry = find(function, 0, SAME, true);
    bool is_new = entry != NULL && entry->handle != kernel;
    if (is_new) {
        entry->handle = kernel;
        any_same = true;
    }
    ag_lock_release(&ag_known_lock);
    if (is_new)
        note_owner(function, library_of(kernel));
}

const void *ag_known_owner(CUfunction function, bool is_kernel)
{
    void *kernel = is_kernel ? (void *)function : kernel_of(function);
    const void *owner = NULL;
    if (kernel != NULL) {
        owner = library_of(kernel);
    } else {
        /* the module of a library's function ends with the library, which it does not tell */
        CUmodule module;
        if (ag_real.cuFuncGetModule(&module, function) == CUDA_SUCCESS && noted(module, 0, MODULE) > 0)
            owner = module;
    }
    note_owner(function, owner);
    return owner;
}

void ag_known_module_loaded(CUmodule module)
{
    atomic_store(value(module, 0, MODULE), 1);
}

int ag_known_nested(void *code)
{
    return noted(code, 0, NESTED);
}

void ag_known_set_nested(void *code, const void *owner, bool nested)
{
    note_owner(code, owner);
    atomic_store(value(code, 0, NESTED), nested);
}

bool ag_known_outlives(const struct ag_known *entry, const void *owner)
{
    if (entry->id.attribute == MODULE)
        return entry->id.function != owner;
    const struct ag_known *own = find(entry->id.function, 0, OWNER, false);
    return own != NULL && own->handle != NULL && own->handle != owner;
}

void ag_known_forget(const void *owner)
{
    struct ag_known *entry, *next;
    ag_lock_take(&ag_known_lock);
    HASH_ITER(hh, ag_known_all, entry, next)
    {
        if (owner != NULL && ag_known_outlives(entry, owner))
            continue;
        /* first of all: a thread may launch meanwhile, with a site that is forgotten after this */
        atomic_fetch_add(&entry->limit.forgotten, 1);
        atomic_store(&entry->limit.program, -1);
        atomic_store(&entry->limit.real, -1);
        atomic_store(&entry->limit.told, -1);
        entry->unsure = entry->unsure || (entry->handle != NULL && !entry->is_kernel);
        entry->driven = entry->pending = false;
        entry->handle = NULL;
    }
    any_same = any_same && owner != NULL;
    ag_lock_release(&ag_known_lock);
}

void ag_known_in_child(void)
{
    ag_lock_setup(&ag_known_lock, AG_RANK_LEAF);
    ag_known_all = NULL;
    any_same = false;
}
