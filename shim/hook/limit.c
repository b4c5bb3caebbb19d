#include "shim/hook/limit.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "shim/base/visit.h"
#include "shim/hook/hook.h"
#include "shim/trace/trace.h"

/* An attribute of a function on a device, or LOADED and a context. */
struct id {
    void *function;
    uintptr_t where;
    int attribute;
};

struct entry {
    struct id id;
    struct ag_limit limit;
    /* how the program set it last: by which handle, in which context; of a SAME entry: the kernel; of an OWNER entry:
     * the module or library */
    void *handle;
    bool is_kernel;
    CUcontext ctx;
    UT_hash_handle hh;
};

static struct ag_lock lock = AG_LOCK_INIT(AG_RANK_LEAF);
static struct entry *entries;

/* The program's own calls that set a limit read-lock this while the driver works on it. Who lowers the driver's limit
 * to what the program has set last write-locks it, or a call of another thread could be undone. Lowering neither loads
 * code nor waits, so nobody waits for long; setting may wait, but keeps only those from going on that end code or a
 * context. Taken before any other lock. */
static pthread_rwlock_t changing = PTHREAD_RWLOCK_INITIALIZER;
static atomic_uint sets; /* of the program */

/* Tries to find the program not setting limits while what is held is submitted. */
#define LOWER_TRIES 8

/* Submits what may need a higher limit, and keeps the program from setting any until lower_end(). No lock held. */
static void lower_begin(void)
{
    ag_lock_expect(AG_RANK_NONE);
    for (int tries = 0;; tries++) {
        unsigned before = atomic_load(&sets);
        ag_order_all(AG_FLUSH_module, AG_WAIT_SOME);
        pthread_rwlock_wrlock(&changing);
        if (atomic_load(&sets) == before || tries == LOWER_TRIES)
            return;
        pthread_rwlock_unlock(&changing);
    }
}

static void lower_end(void)
{
    pthread_rwlock_unlock(&changing);
}
static bool any_same; /* there are SAME entries */

#define SHARED CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES

/* The entry that says whether a function is loaded, by its `real`; no attribute has this number. */
#define LOADED (-1)

/* The entry that says of which kernel a function is: both handles mean one limit, and one code that is loaded. */
#define SAME (-3)

/* The entry that says with which module or library a function ends. */
#define OWNER (-4)

/* The entry that says that a module was loaded for itself, by its `real`. */
#define MODULE (-5)

/* The entry that says whether a function's or module's code may launch kernels, by its `real`. */
#define NESTED (-6)

/* The caller has the lock. */
static struct entry *find(void *function, uintptr_t where, int attribute, bool make)
{
    struct id id;
    struct entry *entry;
    memset(&id, 0, sizeof id);
    id.function = function;
    id.where = where;
    id.attribute = attribute;
    HASH_FIND(hh, entries, &id, sizeof id, entry);
    if (entry == NULL && make && (entry = calloc(1, sizeof *entry)) != NULL) {
        entry->id = id;
        atomic_store(&entry->limit.program, -1);
        atomic_store(&entry->limit.real, -1);
        atomic_store(&entry->limit.told, -1);
        HASH_ADD(hh, entries, id, sizeof entry->id, entry);
    }
    return entry;
}

static struct ag_limit *lookup(void *function, uintptr_t where, int attribute, bool make)
{
    static struct entry none = {.limit = {.program = -1, .real = -1, .told = -1}};
    ag_lock_take(&lock);
    bool of_code = attribute >= 0 || attribute == LOADED;
    const struct entry *same = any_same && of_code ? find(function, 0, SAME, false) : NULL;
    if (same != NULL && same->handle != NULL)
        function = same->handle;
    struct entry *entry = find(function, where, attribute, make);
    ag_lock_release(&lock);
    return entry != NULL ? &entry->limit : make ? &none.limit : NULL;
}

/* Changes of a function's carveout for which graphs are built anew. */
#define CHANGES_MAX 4

/* Notes how the program set a limit, so that the driver can be brought to it later. */
static void note(struct ag_limit *limit, void *handle, bool is_kernel)
{
    struct entry *entry = (struct entry *)(void *)((char *)limit - offsetof(struct entry, limit));
    CUcontext ctx = NULL;
    ag_real.cuCtxGetCurrent(&ctx);
    ag_lock_take(&lock);
    entry->handle = handle;
    entry->is_kernel = is_kernel;
    entry->ctx = ctx;
    ag_lock_release(&lock);
}

void ag_limit_same(CUfunction function, CUkernel kernel)
{
    ag_lock_take(&lock);
    struct entry *entry = find(function, 0, SAME, true);
    if (entry != NULL) {
        entry->handle = kernel;
        any_same = true;
    }
    ag_lock_release(&lock);
}

struct ag_limit *ag_limit_of(CUfunction function, CUdevice device)
{
    return lookup(function, (uintptr_t)device, SHARED, true);
}

bool ag_limit_loaded(void *handle)
{
    CUcontext ctx = NULL;
    if (ag_real.cuCtxGetCurrent(&ctx) != CUDA_SUCCESS)
        return false;
    const struct ag_limit *limit = lookup(handle, (uintptr_t)ctx, LOADED, false);
    return limit != NULL && atomic_load(&limit->real) > 0;
}

void ag_limit_set_loaded(void *handle)
{
    CUcontext ctx = NULL;
    if (ag_real.cuCtxGetCurrent(&ctx) == CUDA_SUCCESS)
        atomic_store(&lookup(handle, (uintptr_t)ctx, LOADED, true)->real, 1);
}

/* The entry of the cache configuration; no attribute has this number. */
#define CONFIG (-2)

bool ag_limit_config_changes(void *handle, CUfunc_cache config)
{
    return atomic_exchange(&lookup(handle, 0, CONFIG, true)->real, (int)config) != (int)config;
}

void ag_limit_in_child(void)
{
    ag_lock_setup(&lock, AG_RANK_LEAF);
    pthread_rwlock_init(&changing, NULL);
    entries = NULL;
    any_same = false;
}

static CUresult set_real(void *handle, bool is_kernel, CUfunction_attribute attribute, int value, CUdevice device)
{
    ag_lock_expect(AG_RANK_NONE);
    return is_kernel ? ag_real.cuKernelSetAttribute(attribute, value, (CUkernel)handle, device)
                     : ag_real.cuFuncSetAttribute((CUfunction)handle, attribute, value);
}

/* Brings the driver to the program's own value, and a kernel's own answer to what it should be. */
static void restore(const struct entry *entry, int value)
{
    CUdevice device = (CUdevice)entry->id.where;
    int told = atomic_load(&entry->limit.told);
    void *handle = entry->handle;
    bool is_kernel = entry->is_kernel;
    struct ag_visit visit;
    ag_visit_begin(&visit, entry->ctx);
    if (told >= 0 && told != value) { /* the function differs from its kernel */
        CUfunction function;
        set_real(entry->id.function, true, SHARED, told, device);
        if (ag_real.cuKernelGetFunction(&function, (CUkernel)entry->id.function) == CUDA_SUCCESS) {
            handle = function;
            is_kernel = false;
        }
    }
    set_real(handle, is_kernel, SHARED, value, device);
    ag_visit_end(&visit);
}

/* The kernel that a function is of, NULL when it is not known to be of one. */
static void *kernel_of(CUfunction function)
{
    ag_lock_take(&lock);
    const struct entry *same = any_same ? find(function, 0, SAME, false) : NULL;
    void *kernel = same != NULL ? same->handle : NULL;
    ag_lock_release(&lock);
    return kernel;
}

static void note_owner(void *handle, const void *owner)
{
    ag_lock_take(&lock);
    struct entry *entry = find(handle, 0, OWNER, true);
    if (entry != NULL)
        entry->handle = (void *)(uintptr_t)owner;
    ag_lock_release(&lock);
}

const void *ag_limit_owner(CUfunction function, bool is_kernel)
{
    void *kernel = is_kernel ? (void *)function : kernel_of(function), *owner = NULL;
    if (kernel != NULL) {
#if CUDA_VERSION >= 12050
        CUlibrary library;
        if (ag_real.cuKernelGetLibrary(&library, (CUkernel)kernel) == CUDA_SUCCESS)
            owner = library;
        note_owner(kernel, owner);
#endif
    } else {
        /* the module of a library's function ends with the library, which it does not tell */
        CUmodule module;
        if (ag_real.cuFuncGetModule(&module, function) == CUDA_SUCCESS) {
            const struct ag_limit *loaded = lookup(module, 0, MODULE, false);
            if (loaded != NULL && atomic_load(&loaded->real) > 0)
                owner = module;
        }
    }
    note_owner(function, owner);
    return owner;
}

void ag_limit_module_loaded(CUmodule module)
{
    atomic_store(&lookup(module, 0, MODULE, true)->real, 1);
}

int ag_limit_nested(void *code)
{
    const struct ag_limit *noted = lookup(code, 0, NESTED, false);
    return noted != NULL ? atomic_load(&noted->real) : -1;
}

void ag_limit_set_nested(void *code, const void *owner, bool nested)
{
    note_owner(code, owner);
    atomic_store(&lookup(code, 0, NESTED, true)->real, nested);
}

/* Whether what the entry is about outlives the owner, for certain. The caller has the lock. */
static bool outlives(const struct entry *entry, const void *owner)
{
    if (entry->id.attribute == MODULE)
        return entry->id.function != owner;
    const struct entry *own = find(entry->id.function, 0, OWNER, false);
    return own != NULL && own->handle != NULL && own->handle != owner;
}

/* Brings the driver to the program's own limits, of what ends with the owner. The program sets none meanwhile. */
static void restore_all(const void *owner)
{
    struct entry *entry, *next, **apart = NULL; /* entries are never freed */
    size_t count = 0;
    ag_lock_take(&lock);
    HASH_ITER(hh, entries, entry, next)
    {
        int program = atomic_load(&entry->limit.program);
        if (entry->id.attribute != SHARED || program < 0 || atomic_load(&entry->limit.real) <= program ||
            (owner != NULL && outlives(entry, owner)))
            continue;
        struct entry **more = realloc(apart, (count + 1) * sizeof(struct entry *));
        if (more == NULL)
            break;
        apart = more;
        apart[count++] = entry;
    }
    ag_lock_release(&lock);
    for (size_t i = 0; i < count; i++)
        restore(apart[i], atomic_load(&apart[i]->limit.program));
    free(apart);
}

/* owner: NULL for everything. */
static void forget(const void *owner)
{
    struct entry *entry, *next;
    lower_begin();
    restore_all(owner);
    ag_lock_take(&lock);
    HASH_ITER(hh, entries, entry, next)
    {
        if (owner != NULL && outlives(entry, owner))
            continue;
        /* first of all: a thread may launch meanwhile, with a site that is forgotten after this */
        atomic_fetch_add(&entry->limit.forgotten, 1);
        atomic_store(&entry->limit.program, -1);
        atomic_store(&entry->limit.real, -1);
        atomic_store(&entry->limit.told, -1);
        if (entry->id.attribute == SAME || entry->id.attribute == OWNER)
            entry->handle = NULL;
    }
    any_same = any_same && owner != NULL;
    ag_lock_release(&lock);
    lower_end();
}

void ag_limit_forget(void)
{
    forget(NULL);
}

void ag_limit_forget_owner(const void *owner)
{
    forget(owner);
}

/* Lowers the limit of a function or kernel. What a kernel answers about itself stays as it was. */
static CUresult lower(struct ag_limit *limit, void *handle, int value, CUdevice device)
{
    int told;
    if (set_real(handle, false, SHARED, value, device) == CUDA_SUCCESS)
        return CUDA_SUCCESS;
    if (atomic_load(&limit->told) < 0 &&
        ag_real.cuKernelGetAttribute(&told, SHARED, (CUkernel)handle, device) == CUDA_SUCCESS)
        atomic_store(&limit->told, told);
    return set_real(handle, true, SHARED, value, device);
}

void ag_limit_enforce(CUfunction function, unsigned shared)
{
    CUdevice device;
    if (ag_real.cuCtxGetDevice(&device) != CUDA_SUCCESS)
        return;
    struct ag_limit *limit = lookup(function, (uintptr_t)device, SHARED, false);
    int program = limit != NULL ? atomic_load(&limit->program) : -1;
    if (program < 0 || shared <= (unsigned)program || atomic_load(&limit->real) == program)
        return;
    lower_begin();
    program = atomic_load(&limit->program);
    if (program >= 0 && shared > (unsigned)program && atomic_load(&limit->real) != program &&
        lower(limit, function, program, device) == CUDA_SUCCESS)
        atomic_store(&limit->real, program);
    lower_end();
}

/* Notes the program's value where the driver need not know. False: it must be told. */
static bool set_virtual(struct ag_limit *limit, CUfunction_attribute attribute, int value)
{
    int real = atomic_load(&limit->real);
    enum ag_stat why;
    if (value < 0 || real < 0 || !ag_hook_may_hold(&why) || (attribute == SHARED ? value > real : value != real))
        return false;
    atomic_store(&limit->program, value);
    atomic_fetch_add(&sets, 1);
    return true;
}

static CUresult set(void *handle, bool is_kernel, CUfunction_attribute attribute, int value, CUdevice device)
{
    struct ag_limit *limit = lookup(handle, (uintptr_t)device, attribute, true);
    ag_lock_expect(AG_RANK_NONE);
    pthread_rwlock_rdlock(&changing);
    bool done = set_virtual(limit, attribute, value);
    if (done && is_kernel && attribute == SHARED)
        atomic_store(&limit->told, value);
    pthread_rwlock_unlock(&changing);
    if (done)
        return CUDA_SUCCESS;
    static struct ag_caller caller = AG_CALLER("cuFuncSetAttribute, cuKernelSetAttribute");
    ag_stats_caller(&caller);
    ag_order_all(AG_FLUSH_module, AG_WAIT_SOME);
    pthread_rwlock_rdlock(&changing);
    CUresult result = set_real(handle, is_kernel, attribute, value, device);
    if (result == CUDA_SUCCESS) {
        atomic_store(&limit->program, value);
        atomic_store(&limit->real, value);
        if (is_kernel && attribute == SHARED)
            atomic_store(&limit->told, value);
        atomic_fetch_add(&sets, 1);
        note(limit, handle, is_kernel);
    }
    pthread_rwlock_unlock(&changing);
    /* the carveout is a wish: graphs built under another serve as well once it goes to and fro */
    if (result == CUDA_SUCCESS && attribute != SHARED &&
        (attribute != CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT || limit->changes++ < CHANGES_MAX))
        ag_window_forget_code(AG_WAIT_SOME);
    return ag_hook_late(result);
}

CUresult ag_hook_cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value)
{
    CUdevice device;
    if (ag_trace_on())
        ag_trace_call_handle("cuFuncSetAttribute", NULL, (uint64_t[]){(uintptr_t)hfunc, attrib, (unsigned)value}, 3);
    if (ag_real.cuCtxGetDevice(&device) != CUDA_SUCCESS)
        return ag_real.cuFuncSetAttribute(hfunc, attrib, value);
    return set(hfunc, false, attrib, value, device);
}
AG_HOOK_EXPORT(cuFuncSetAttribute, (CUfunction hfunc, CUfunction_attribute attrib, int value))

CUresult ag_hook_cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel, CUdevice dev)
{
    if (ag_trace_on())
        ag_trace_call_handle("cuKernelSetAttribute", NULL, (uint64_t[]){attrib, (unsigned)val, (uintptr_t)kernel}, 3);
    return set(kernel, true, attrib, val, dev);
}
AG_HOOK_EXPORT(cuKernelSetAttribute, (CUfunction_attribute attrib, int val, CUkernel kernel, CUdevice dev))

/* The program's own value where the real one may be another, -1 where the driver's is right. A function's is what was
 * set last through either handle, a kernel's what was set last through its own, as in the driver. */
static int own_value(const struct ag_limit *limit, bool is_kernel)
{
    return limit != NULL ? atomic_load(is_kernel ? &limit->told : &limit->program) : -1;
}

/* What the driver has answered becomes what the program has set. before: its own value before the driver was asked.
 * That value may be forgotten meanwhile, beside other code that ends: the driver has it by then, but may have answered
 * earlier. */
static void correct(int *value, const struct ag_limit *limit, bool is_kernel, int before)
{
    int now = own_value(limit, is_kernel);
    if (now >= 0 || before >= 0)
        *value = now >= 0 ? now : before;
}

CUresult ag_hook_cuFuncGetAttribute(int *pi, CUfunction_attribute attrib, CUfunction hfunc)
{
    CUdevice device = -1;
    if (attrib != SHARED || ag_real.cuCtxGetDevice(&device) != CUDA_SUCCESS)
        return ag_real.cuFuncGetAttribute(pi, attrib, hfunc);
    const struct ag_limit *limit = lookup(hfunc, (uintptr_t)device, SHARED, false);
    int before = own_value(limit, false);
    CUresult result = ag_real.cuFuncGetAttribute(pi, attrib, hfunc);
    if (result == CUDA_SUCCESS)
        correct(pi, limit, false, before);
    return result;
}
AG_HOOK_EXPORT(cuFuncGetAttribute, (int *pi, CUfunction_attribute attrib, CUfunction hfunc))

CUresult ag_hook_cuKernelGetAttribute(int *pi, CUfunction_attribute attrib, CUkernel kernel, CUdevice dev)
{
    /* a kernel that was never used may be loaded now, which may wait */
    if (atomic_load(&ag_window_open) != 0 && !ag_limit_loaded(kernel)) {
        static struct ag_caller caller = AG_CALLER("cuKernelGetAttribute");
        ag_stats_caller(&caller);
        ag_order_all(AG_FLUSH_module, AG_WAIT_SOME);
    }
    const struct ag_limit *limit = attrib == SHARED ? lookup(kernel, (uintptr_t)dev, SHARED, false) : NULL;
    int before = own_value(limit, true);
    CUresult result = ag_real.cuKernelGetAttribute(pi, attrib, kernel, dev);
    if (result == CUDA_SUCCESS) {
        ag_limit_set_loaded(kernel);
        correct(pi, limit, true, before);
    }
    return result;
}
AG_HOOK_EXPORT(cuKernelGetAttribute, (int *pi, CUfunction_attribute attrib, CUkernel kernel, CUdevice dev))
