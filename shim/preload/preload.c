/* How the shim gets into a process: what happens at load, at dlopen, at fork and at exit.
 *
 * dlopen of the driver's name is answered with the facade beside this library: a library without code whose NEEDED
 * entries are this library, then the driver. dlsym on it finds the hooks first and every other name in the driver.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/log.h"
#include "shim/hook/hook.h"
#include "shim/hook/limit.h"
#include "shim/hook/observe.h"
#include "shim/preload/locate.h"
#include "shim/trace/memory.h"
#include "shim/trace/shadow.h"
#include "shim/trace/trace.h"

/* Called by dlopen.S. They return the function to go on with. */
void *ag_preload_dlopen(const char **file, unsigned long *mode, const void *caller);
void *ag_preload_dlmopen(Lmid_t namespace);

static void go_blind(const char *why)
{
    if (ag_order_stop(AG_BYPASS_blind))
        ag_log(AG_LOG_INFO, "%s: nothing is held", why);
}

static bool names_driver(const char *file)
{
    const char *base = strrchr(file, '/');
    base = base != NULL ? base + 1 : file;
    return strcmp(base, "libcuda.so.1") == 0 || strcmp(base, "libcuda.so") == 0;
}

/* The driver and its helpers open the driver too, and must get it. */
static bool is_driver(const void *caller)
{
    Dl_info info;
    if (dladdr(caller, &info) == 0 || info.dli_fname == NULL)
        return false;
    const char *base = strrchr(info.dli_fname, '/');
    base = base != NULL ? base + 1 : info.dli_fname;
    return strncmp(base, "libcuda.so", 10) == 0 || strncmp(base, "libnvidia-", 10) == 0 ||
           strncmp(base, "libcudadebugger", 15) == 0;
}

/* A tool's own libraries lie in one folder. What stands in for the driver needs the driver itself: given itself, Nsight
 * Compute's never comes to an end. */
static bool is_beside(const void *caller, const char *library)
{
    Dl_info info;
    const char *slash = strrchr(library, '/');
    return slash != NULL && dladdr(caller, &info) != 0 && info.dli_fname != NULL &&
           strncmp(info.dli_fname, library, (size_t)(slash - library) + 1) == 0 &&
           strchr(info.dli_fname + (slash - library) + 1, '/') == NULL;
}

static char facade_path[PATH_MAX]; /* empty when it cannot be told */

static void find_facade(void)
{
    Dl_info info;
    if (dladdr((void *)find_facade, &info) == 0 || info.dli_fname == NULL)
        return;
    const char *slash = strrchr(info.dli_fname, '/');
    int length = snprintf(facade_path, sizeof facade_path, "%.*slibautograph_cuda.so",
                          slash != NULL ? (int)(slash - info.dli_fname + 1) : 0, info.dli_fname);
    if (length < 0 || (size_t)length >= sizeof facade_path)
        facade_path[0] = '\0';
}

static const char *facade(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_facade);
    return facade_path[0] != '\0' ? facade_path : NULL;
}

void *ag_preload_dlopen(const char **file, unsigned long *mode, const void *caller)
{
    ag_dlopen_function next = ag_real_dlopen();
    ag_options_load();
    if ((*mode & RTLD_DEEPBIND) != 0)
        go_blind("a library was opened with RTLD_DEEPBIND");
    if (*file == NULL || !names_driver(*file) || is_driver(caller))
        return (void *)next;
    const char *stand_in = ag_real_stand_in(*file);
    if (stand_in != NULL && is_beside(caller, stand_in))
        return (void *)next;
    if (stand_in != NULL) {
        go_blind("a tool has another library in the driver's place");
        *file = stand_in;
    }
    if (stand_in != NULL || (ag_options.mode == AG_MODE_OFF && ag_options.memory[0] == '\0'))
        return (void *)next;
    /* where the program would get nothing it gets nothing, with its own message */
    void *own = ag_locate_open(*file, *mode, caller);
    if (own == NULL) {
        dlerror();
        return (void *)next;
    }
    /* the facade needs the driver by its usual name, which must mean the one that the program would get */
    void *usual = next("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    const char *path = facade();
    if (usual == own && path != NULL && next(path, RTLD_LAZY | RTLD_LOCAL) != NULL) {
        *file = path;
        *mode &= ~(unsigned long)RTLD_NOLOAD;
    } else {
        dlerror();
        go_blind(usual == own ? "the facade is not beside this library" : "there is another driver");
    }
    if (usual != NULL)
        dlclose(usual);
    dlclose(own);
    return (void *)next;
}

void *ag_preload_dlmopen(Lmid_t namespace)
{
    if (namespace != LM_ID_BASE)
        go_blind("dlmopen was called");
    return ag_real_symbol(RTLD_NEXT, "dlmopen");
}

/* ---- the process's life ---- */

static bool written;

static void stand_aside(void)
{
    ag_order_all(AG_FLUSH_exit, AG_WAIT_SOME);
    atomic_store(&ag_window_bypass, AG_BYPASS_ended);
    ag_trace_write(false);
}

/* What cannot be submitted now stays with the parent. */
static void before_fork(void)
{
    ag_order_all(AG_FLUSH_exit, AG_WAIT_SOME);
}

/* A child has no watchdog, and the driver does not serve it when its parent used it. When the parent never came so far,
 * it is a process like any other. */
static void in_child(void)
{
    bool used = atomic_load(&ag_window_count) > 0;
    ag_window_after_fork();
    ag_limit_in_child();
    ag_trace_in_child();
    ag_memory_in_child();
    ag_observe_in_child();
    ag_shadow_in_child();
    if (used) {
        atomic_store(&ag_window_bypass, AG_BYPASS_ended);
        written = true;
    } else {
        ag_stats_restart();
        written = strstr(ag_options.stats, "%p") == NULL;
    }
}

static int reason_not_to_hold(void)
{
    const char *blocking = getenv("CUDA_LAUNCH_BLOCKING");
    if (ag_options.mode == AG_MODE_OFF || ag_options.mode == AG_MODE_OBSERVE)
        return AG_BYPASS_mode;
    if (!ag_options.force && ((blocking != NULL && strcmp(blocking, "0") != 0 && blocking[0] != '\0') ||
                              getenv("CUDA_INJECTION64_PATH") != NULL))
        return AG_BYPASS_tool;
    return AG_BYPASS_UNDECIDED;
}

__attribute__((constructor)) static void begin(void)
{
    int early = AG_BYPASS_early;
    ag_options_load();
    ag_stats_start();
    ag_trace_start();
    ag_memory_start();
    pthread_atfork(before_fork, NULL, in_child);
    atexit(stand_aside);
    atomic_compare_exchange_strong(&ag_window_bypass, &early, reason_not_to_hold());
}

__attribute__((destructor)) static void end(void)
{
    ag_trace_write(true);
    if (written || ag_options.stats[0] == '\0')
        return;
    written = true;
    struct ag_stats total = {{0}};
    ag_stats_collect(&total);
    ag_window_collect(&total);
    ag_shadow_collect(&total);
    ag_stats_write(&total, ag_options.stats, ag_real_version());
}
