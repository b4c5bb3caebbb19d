#include "shim/hook/limit.h"

#include <pthread.h>
#include <stdlib.h>

#include "shim/base/visit.h"
#include "shim/hook/hook.h"
#include "shim/hook/known.h"
#include "shim/trace/trace.h"

#define SHARED AG_KNOWN_SHARED

/* The program's own calls that set a limit read-lock this while the driver works on it. Who lowers the driver's limit
 * to what the program has set last write-locks it, or a call of another thread could be undone. Lowering neither loads
 * code nor waits, so nobody waits for long; setting may wait, but keeps only those from going on that end code or a
 * context. Taken before any other lock. */
static pthread_rwlock_t changing = PTHREAD_RWLOCK_INITIALIZER;
static atomic_uint sets; /* of the program */

/* Tries to find the program not setting limits while what is held is submitted. Then it has to wait for that, although
 * what it does meanwhile may be what a full queue waits for: rather that than a launch refused that was accepted. */
#define LOWER_TRIES 8

/* Submits what may need a higher limit, and keeps the program from setting any until lower_end(). No lock held. */
static void lower_begin(void)
{
    ag_lock_expect(AG_RANK_NONE);
    for (int tries = 0;; tries++) {
        unsigned before = atomic_load(&sets);
        ag_order_all(AG_FLUSH_module, AG_WAIT_LONG);
        pthread_rwlock_wrlock(&changing);
        if (atomic_load(&sets) == before)
            return;
        if (tries == LOWER_TRIES) {
            ag_order_all(AG_FLUSH_module, AG_WAIT_LONG);
            return;
        }
        pthread_rwlock_unlock(&changing);
    }
}

static void lower_end(void)
{
    pthread_rwlock_unlock(&changing);
}

/* Changes of a function's carveout for which graphs are built anew. */
#define CHANGES_MAX 4

/* Notes what the program has set, and through which handle: what is set through a function is in force whatever is set
 * through its kernel, before or after (cuKernelSetAttribute in cuda.h); a kernel answers what was set through itself.
 * The caller has the lock. */
static void note(struct ag_known *entry, void *handle, bool is_kernel, int value, CUcontext ctx)
{
    if (is_kernel)
        atomic_store(&entry->limit.told, value);
    if (is_kernel && entry->handle != NULL && !entry->is_kernel)
        return;
    atomic_store(&entry->limit.program, value);
    entry->handle = handle;
    entry->is_kernel = is_kernel;
    entry->ctx = ctx;
    if (!is_kernel)
        entry->unsure = false;
}

struct ag_limit *ag_limit_of(CUfunction function, CUdevice device)
{
    return &ag_known(function, (uintptr_t)device, SHARED, true)->limit;
}

void ag_limit_in_child(void)
{
    pthread_rwlock_init(&changing, NULL);
    ag_known_in_child();
}

static CUresult set_real(void *handle, bool is_kernel, CUfunction_attribute attribute, int value, CUdevice device)
{
    ag_lock_expect(AG_RANK_NONE);
    return is_kernel ? ag_real.cuKernelSetAttribute(attribute, value, (CUkernel)handle, device)
                     : ag_real.cuFuncSetAttribute((CUfunction)handle, attribute, value);
}

/* Brings the driver to what the program has set. */
static void restore(const struct ag_known *entry)
{
    CUdevice device = (CUdevice)entry->id.where;
    int told = atomic_load(&entry->limit.told);
    struct ag_visit visit;
    ag_visit_begin(&visit, entry->ctx);
    set_real(entry->handle, entry->is_kernel, SHARED, atomic_load(&entry->limit.program), device);
    if (told >= 0 && !entry->is_kernel)
        set_real(entry->id.function, true, SHARED, told, device);
    ag_visit_end(&visit);
}
/* Brings the driver to the program's own limits, of what ends with the owner. The program sets none meanwhile. */
static void restore_all(const void *owner)
{
    struct ag_known *entry, *next, **apart = NULL; /* entries are never freed */
    size_t count = 0;
    ag_lock_take(&ag_known_lock);
    HASH_ITER(hh, ag_known_all, entry, next)
    {
        if (entry->id.attribute != SHARED || !entry->pending || (owner != NULL && ag_known_outlives(entry, owner)))
            continue;
        struct ag_known **more = realloc(apart, (count + 1) * sizeof(struct ag_known *));
        if (more == NULL)
            break;
        apart = more;
        apart[count++] = entry;
    }
    ag_lock_release(&ag_known_lock);
    for (size_t i = 0; i < count; i++)
        restore(apart[i]);
    free(apart);
}

/* owner: NULL for everything. */
static void forget(const void *owner)
{
    lower_begin();
    restore_all(owner);
    ag_known_forget(owner);
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

void ag_limit_enforce(CUfunction function, unsigned shared)
{
    CUdevice device;
    if (ag_real.cuCtxGetDevice(&device) != CUDA_SUCCESS)
        return;
    struct ag_known *entry = ag_known(function, (uintptr_t)device, SHARED, false);
    if (entry == NULL)
        return;
    struct ag_limit *limit = &entry->limit;
    int program = atomic_load(&limit->program);
    if (program < 0 || shared <= (unsigned)program || atomic_load(&limit->real) == program)
        return;
    lower_begin();
    program = atomic_load(&limit->program);
    if (program >= 0 && shared > (unsigned)program && atomic_load(&limit->real) != program &&
        set_real(entry->handle, entry->is_kernel, SHARED, program, device) == CUDA_SUCCESS) {
        atomic_store(&limit->real, program);
        entry->driven = entry->driven || !entry->is_kernel;
    }
    lower_end();
}

/* Notes the program's value where the driver need not know. False: it must be told. */
static bool set_virtual(struct ag_known *entry, void *handle, bool is_kernel, int value)
{
    int real = atomic_load(&entry->limit.real);
    bool shared = entry->id.attribute == SHARED, done = false;
    enum ag_stat why;
    CUcontext ctx = NULL;
    if (value < 0 || real < 0 || !ag_hook_may_hold(&why) || (shared ? value > real : value != real))
        return false;
    ag_real.cuCtxGetCurrent(&ctx);
    ag_lock_take(&ag_known_lock);
    if (!is_kernel || !entry->unsure) {
        note(entry, handle, is_kernel, value, ctx);
        entry->pending = shared;
        done = true;
    }
    ag_lock_release(&ag_known_lock);
    if (done)
        atomic_fetch_add(&sets, 1);
    return done;
}

/* The limit of a kernel that is in force, and its function; -1 when it cannot be told. */
static int in_force(CUkernel kernel, CUdevice device, CUfunction *function)
{
    CUdevice current;
    int value;
    return ag_real.cuCtxGetDevice(&current) == CUDA_SUCCESS && current == device &&
                           ag_real.cuKernelGetFunction(function, kernel) == CUDA_SUCCESS &&
                           ag_real.cuFuncGetAttribute(&value, SHARED, *function) == CUDA_SUCCESS
                   ? value
                   : -1;
}

/* Tells the driver what the program sets. The program's other calls are not kept waiting. */
static CUresult set_told(struct ag_known *entry, void *handle, bool is_kernel, int value)
{
    CUdevice device = (CUdevice)entry->id.where;
    CUfunction_attribute attribute = (CUfunction_attribute)entry->id.attribute;
    ag_lock_take(&ag_known_lock);
    bool ask = attribute == SHARED && is_kernel && entry->unsure;
    void *untold = is_kernel && !entry->is_kernel && !entry->driven ? entry->handle : NULL;
    ag_lock_release(&ag_known_lock);
    CUcontext ctx = NULL;
    CUfunction function = NULL;
    if (attribute == SHARED)
        ag_known_owner(handle, is_kernel);
    int before = ask ? in_force((CUkernel)handle, device, &function) : -1, now = value;
    ag_real.cuCtxGetCurrent(&ctx);
    /* that the function decides must be known to the driver first */
    if (untold != NULL)
        set_real(untold, false, attribute, atomic_load(&entry->limit.real), device);
    CUresult result = set_real(handle, is_kernel, attribute, value, device);
    if (result != CUDA_SUCCESS)
        return result;
    if (ask)
        now = in_force((CUkernel)handle, device, &function);
    ag_lock_take(&ag_known_lock);
    note(entry, handle, is_kernel, value, ctx);
    if (!is_kernel || entry->is_kernel)
        atomic_store(&entry->limit.real, value);
    entry->driven = entry->driven || !is_kernel || untold != NULL;
    if (!is_kernel || entry->is_kernel) /* what the kernel answers may be pending */
        entry->pending = !is_kernel && atomic_load(&entry->limit.told) >= 0;
    if (is_kernel && now >= 0 && now != value) {
        note(entry, function, false, now, ctx); /* was set through it once */
        atomic_store(&entry->limit.real, now);
        entry->driven = true;
    } else if (ask && before != value && now == value) {
        entry->unsure = false;
    }
    ag_lock_release(&ag_known_lock);
    atomic_fetch_add(&sets, 1);
    return result;
}

static CUresult set(void *handle, bool is_kernel, CUfunction_attribute attribute, int value, CUdevice device)
{
    struct ag_known *entry = ag_known(handle, (uintptr_t)device, attribute, true);
    ag_lock_expect(AG_RANK_NONE);
    pthread_rwlock_rdlock(&changing);
    bool done = set_virtual(entry, handle, is_kernel, value);
    pthread_rwlock_unlock(&changing);
    if (done)
        return CUDA_SUCCESS;
    static struct ag_caller caller;
    ag_stats_caller(&caller, "cuFuncSetAttribute, cuKernelSetAttribute");
    ag_order_all(AG_FLUSH_module, AG_WAIT_LONG);
    pthread_rwlock_rdlock(&changing);
    CUresult result = set_told(entry, handle, is_kernel, value);
    pthread_rwlock_unlock(&changing);
    /* the carveout is a wish: graphs built under another serve as well once it goes to and fro */
    if (result == CUDA_SUCCESS && attribute != SHARED &&
        (attribute != CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT || entry->limit.changes++ < CHANGES_MAX))
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

/* The program's own value where the real one may be another, -1 where the driver's is right. A function's is what is
 * in force, a kernel's what was set last through its own handle. */
static int own_value(const struct ag_known *entry, bool is_kernel)
{
    return entry != NULL ? atomic_load(is_kernel ? &entry->limit.told : &entry->limit.program) : -1;
}

/* What the driver has answered becomes what the program has set. before: its own value before the driver was asked.
 * That value may be forgotten meanwhile, beside other code that ends: the driver has it by then, but may have answered
 * earlier. */
static void correct(int *value, const struct ag_known *entry, bool is_kernel, int before)
{
    int now = own_value(entry, is_kernel);
    if (now >= 0 || before >= 0)
        *value = now >= 0 ? now : before;
}

CUresult ag_hook_cuFuncGetAttribute(int *pi, CUfunction_attribute attrib, CUfunction hfunc)
{
    CUdevice device = -1;
    if (attrib != SHARED || ag_real.cuCtxGetDevice(&device) != CUDA_SUCCESS)
        return ag_real.cuFuncGetAttribute(pi, attrib, hfunc);
    const struct ag_known *entry = ag_known(hfunc, (uintptr_t)device, SHARED, false);
    int before = own_value(entry, false);
    CUresult result = ag_real.cuFuncGetAttribute(pi, attrib, hfunc);
    if (result == CUDA_SUCCESS)
        correct(pi, entry, false, before);
    return result;
}
AG_HOOK_EXPORT(cuFuncGetAttribute, (int *pi, CUfunction_attribute attrib, CUfunction hfunc))

CUresult ag_hook_cuKernelGetAttribute(int *pi, CUfunction_attribute attrib, CUkernel kernel, CUdevice dev)
{
    /* a kernel that was never used may be loaded now, which may wait */
    if (atomic_load(&ag_window_open) != 0 && !ag_known_loaded(kernel)) {
        static struct ag_caller caller;
        ag_stats_caller(&caller, "cuKernelGetAttribute");
        ag_order_all(AG_FLUSH_module, AG_WAIT_SOME);
    }
    const struct ag_known *entry = attrib == SHARED ? ag_known(kernel, (uintptr_t)dev, SHARED, false) : NULL;
    int before = own_value(entry, true);
    CUresult result = ag_real.cuKernelGetAttribute(pi, attrib, kernel, dev);
    if (result == CUDA_SUCCESS) {
        ag_known_set_loaded(kernel);
        correct(pi, entry, true, before);
    }
    return result;
}
AG_HOOK_EXPORT(cuKernelGetAttribute, (int *pi, CUfunction_attribute attrib, CUkernel kernel, CUdevice dev))
