#define _GNU_SOURCE
#include "shim/base/real.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "shim/base/log.h"

/* The parameters written in the table are those of the driver API's own types. */
#define AG_HOOK(impl, symbol, api, since, variant, class, scope, blocking, rules, stream, type, params, args, reason)  \
    _Static_assert(__builtin_types_compatible_p(type, CUresult(*) params), "hook table: " #symbol);
#include "shim/hook/table.def"
#undef AG_HOOK

#define AG_HOOK(impl, symbol, api, since, variant, class, scope, blocking, rules, stream, type, params, args, reason)  \
    static CUresult resolve_##symbol params;
#include "shim/hook/table.def"
#undef AG_HOOK

static const struct ag_driver finding = {
#define AG_HOOK(impl, symbol, api, since, variant, class, scope, blocking, rules, stream, type, params, args, reason)  \
    .symbol = resolve_##symbol,
#include "shim/hook/table.def"
#undef AG_HOOK
};

_Atomic(const struct ag_driver *) ag_real_table = &finding;

static struct ag_driver driver_found;

typedef CUresult (*any_function)(void);

#define COUNT (sizeof(struct ag_driver) / sizeof(any_function))

/* The names of the functions, in the order of struct ag_driver, each with its zero. */
static const char names[] =
#define AG_HOOK(impl, symbol, api, since, variant, class, scope, blocking, rules, stream, type, params, args, reason)  \
#symbol "\0"
#include "shim/hook/table.def"
#undef AG_HOOK
        ;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool present[COUNT];
static atomic_int driver_version;

/* The thread is finding the driver. What it calls for that may call driver functions, of which ours are found first:
 * a tool's dlopen, or a constructor of what is loaded. */
static _Thread_local __attribute__((tls_model("initial-exec"))) bool opening;
static CUresult missing = CUDA_ERROR_NO_DEVICE;

static CUresult absent(void)
{
    return missing;
}

typedef void *(*dlsym_function)(void *handle, const char *name);

/* The versions of dlopen and dlsym: glibc since 2.34, before that on aarch64, on x86-64. dlvsym is not known to be
 * interposed by anybody, but whoever interposes the others is found by it too, unless libc's own handle is searched. */
static void *versioned(void *handle, const char *name)
{
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};
    void *function = NULL;
    for (size_t i = 0; function == NULL && i < sizeof versions / sizeof versions[0]; i++)
        function = dlvsym(handle, name, versions[i]);
    return function;
}

/* A function of libc itself; NULL when that cannot be found. */
static void *of_libc(const char *name)
{
    Dl_info info;
    ag_dlopen_function next = (ag_dlopen_function)versioned(RTLD_NEXT, "dlopen");
    void *libc = NULL, *function = NULL;
    if (next != NULL && dladdr((void *)dlvsym, &info) != 0)
        libc = next(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (libc != NULL) {
        function = versioned(libc, name);
        dlclose(libc);
    }
    return function;
}

void *ag_real_symbol(void *handle, const char *name)
{
    static _Atomic(dlsym_function) real;
    dlsym_function function = atomic_load_explicit(&real, memory_order_acquire);
    if (function == NULL) {
        void *found = of_libc("dlsym");
        function = found != NULL ? (dlsym_function)found : dlsym;
        atomic_store_explicit(&real, function, memory_order_release);
    }
    return function(handle, name);
}

ag_dlopen_function ag_real_dlopen(void)
{
    static _Atomic(ag_dlopen_function) next;
    ag_dlopen_function function = atomic_load_explicit(&next, memory_order_acquire);
    if (function == NULL) {
        function = (ag_dlopen_function)ag_real_symbol(RTLD_NEXT, "dlopen");
        atomic_store_explicit(&next, function, memory_order_release);
    }
    return function;
}

/* A tool's dlopen may answer with whoever defines the driver's names first in the process: Nsight Compute preloads a
 * library that stands in for the driver, and ours is in front of it. */
static bool is_own(void *library)
{
    Dl_info own, info;
    void *function = ag_real_symbol(library, "cuGetProcAddress");
    return function != NULL && dladdr((void *)is_own, &own) != 0 && dladdr(function, &info) != 0 &&
           own.dli_fbase == info.dli_fbase;
}

/* The driver among the libraries that are loaded; NULL when it is not there. */
static void *loaded_driver(void)
{
    Dl_info info;
    struct link_map *map = NULL;
    ag_dlopen_function open = (ag_dlopen_function)of_libc("dlopen");
    if (open == NULL || dladdr1((void *)is_own, &info, (void **)&map, RTLD_DL_LINKMAP) == 0 || map == NULL)
        return NULL;
    while (map->l_prev != NULL)
        map = map->l_prev;
    for (; map != NULL; map = map->l_next) {
        const char *base = map->l_name != NULL ? strrchr(map->l_name, '/') : NULL;
        void *handle = NULL;
        if (base != NULL && strncmp(base, "/libcuda.so", 11) == 0)
            handle = open(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
        if (handle != NULL && !is_own(handle))
            return handle;
    }
    return NULL;
}

const char *ag_real_stand_in(const char *file)
{
    Dl_info info;
    void *given = ag_real_dlopen()(file, RTLD_LAZY | RTLD_NOLOAD);
    if (given == NULL)
        return NULL;
    void *next = is_own(given) ? ag_real_symbol(RTLD_NEXT, "cuGetProcAddress") : NULL;
    dlclose(given);
    return next != NULL && dladdr(next, &info) != 0 ? info.dli_fname : NULL;
}

static void open_driver(void)
{
    opening = true;
    /* a hook only runs when the driver is loaded already; loading it here as well serves symbols that a program was
     * linked to without the driver's own library at hand */
    ag_dlopen_function next = ag_real_dlopen();
    void *driver = next("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    if (driver == NULL)
        driver = next("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (driver != NULL && is_own(driver))
        driver = ag_real_symbol(RTLD_NEXT, "cuGetProcAddress") != NULL ? RTLD_NEXT : loaded_driver();
    if (driver != NULL)
        missing = CUDA_ERROR_NOT_FOUND;
    const char *name = names;
    for (size_t i = 0; i < COUNT; i++, name += strlen(name) + 1) {
        any_function function = driver != NULL ? (any_function)ag_real_symbol(driver, name) : NULL;
        present[i] = function != NULL;
        ((any_function *)(void *)&driver_found)[i] = function != NULL ? function : (any_function)absent;
    }
    atomic_store_explicit(&ag_real_table, &driver_found, memory_order_release);
    ag_log(AG_LOG_INFO, "driver %s", driver != NULL ? "found" : "not found");
    opening = false;
}

bool ag_real_opening(void)
{
    return opening;
}

bool ag_real_open(void)
{
    if (opening)
        return false;
    pthread_once(&once, open_driver);
    return missing != CUDA_ERROR_NO_DEVICE;
}

bool ag_real_has(unsigned long offset)
{
    ag_real_open();
    return present[offset / sizeof(any_function)];
}

int ag_real_version(void)
{
    return atomic_load(&driver_version);
}

/* Not while the driver is found: a tool's function may call ours. */
static int ask_version(void)
{
    int version = atomic_load(&driver_version);
    if (version == 0 && ag_real_open() && driver_found.cuDriverGetVersion(&version) == CUDA_SUCCESS) {
        atomic_store(&driver_version, version);
        ag_log(AG_LOG_INFO, "the driver's version is %d", version);
    }
    return version;
}

bool ag_real_suffices(void)
{
#define NEEDED(symbol) offsetof(struct ag_driver, symbol)
    static const unsigned long needed[] = {
            NEEDED(cuFuncGetParamInfo),
            NEEDED(cuKernelGetParamInfo),
            NEEDED(cuLaunchKernelEx),
            NEEDED(cuGraphCreate),
            NEEDED(cuGraphDestroy),
            NEEDED(cuGraphAddKernelNode_v2),
            NEEDED(cuGraphAddMemsetNode),
            NEEDED(cuGraphAddMemcpyNode),
            NEEDED(cuGraphAddDependencies),
            NEEDED(cuGraphAddDependencies_v2),
            NEEDED(cuGraphKernelNodeSetAttribute),
            NEEDED(cuGraphInstantiateWithFlags),
            NEEDED(cuGraphLaunch),
            NEEDED(cuGraphExecKernelNodeSetParams_v2),
            NEEDED(cuGraphExecMemsetNodeSetParams),
            NEEDED(cuGraphExecMemcpyNodeSetParams),
            NEEDED(cuGraphExecDestroy),
            NEEDED(cuStreamGetCtx),
            NEEDED(cuStreamGetFlags),
            NEEDED(cuPointerGetAttributes),
            NEEDED(cuThreadExchangeStreamCaptureMode),
    };
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
        if (!ag_real_has(needed[i]))
            return false;
    return ask_version() >= 12040;
}

/* What the thread that is finding the driver gets in its place: who else defines the function. */
static void *meanwhile(const char *name)
{
    void *function = ag_real_symbol(RTLD_NEXT, name);
    return function != NULL ? function : (void *)absent;
}

#define AG_HOOK(impl, symbol, api, since, variant, class, scope, blocking, rules, stream, type, params, args, reason)  \
    static CUresult resolve_##symbol params                                                                            \
    {                                                                                                                  \
        if (opening)                                                                                                   \
            return ((CUresult(*) params)meanwhile(#symbol))args;                                                       \
        ask_version();                                                                                                 \
        return ag_real.symbol args;                                                                                    \
    }
#include "shim/hook/table.def"
#undef AG_HOOK
