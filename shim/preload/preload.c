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

/* Called by dlopen.S. They return the function to go on with. */
void *ag_preload_dlopen(const char **file, unsigned long *mode, const void *caller);
void *ag_preload_dlmopen(Lmid_t namespace);

static void go_blind(const char *why)
{
    if (atomic_load(&ag_window_bypass) == 0) {
        atomic_store(&ag_window_bypass, AG_BYPASS_blind);
        ag_order_all(AG_FLUSH_other, AG_WAIT_SOME);
        ag_log(AG_LOG_INFO, "%s: nothing is held", why);
    }
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
    if (*file == NULL || ag_options.mode == AG_MODE_OFF || !names_driver(*file) || is_driver(caller))
        return (void *)next;
    if ((*mode & RTLD_NOLOAD) != 0) {
        void *loaded = next("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
        if (loaded == NULL)
            return (void *)next;
        dlclose(loaded);
    }
    /* no facade, or no driver that this library can find: the program gets its own answer */
    const char *path = facade();
    void *handle = path != NULL ? next(path, RTLD_LAZY | RTLD_LOCAL) : NULL;
    if (handle == NULL) {
        dlerror();
        go_blind("the driver is not where this library looks for it");
        return (void *)next;
    }
    *file = path;
    *mode &= ~(unsigned long)RTLD_NOLOAD;
    return (void *)next;
}

void *ag_preload_dlmopen(Lmid_t namespace)
{
    if (namespace != LM_ID_BASE)
        go_blind("dlmopen was called");
    return dlsym(RTLD_NEXT, "dlmopen");
}

/* ---- the process's life ---- */

static bool written;

static void stand_aside(void)
{
    ag_order_all(AG_FLUSH_exit, AG_WAIT_SOME);
    atomic_store(&ag_window_bypass, AG_BYPASS_ended);
}

static void before_fork(void)
{
    ag_order_all(AG_FLUSH_exit, AG_WAIT_SOME);
}

static void in_child(void)
{
    /* the child has no watchdog and no driver */
    atomic_store(&ag_window_bypass, AG_BYPASS_ended);
    ag_window_after_fork();
    ag_limit_in_child();
    written = true;
}

__attribute__((constructor)) static void begin(void)
{
    ag_options_load();
    ag_stats_start();
    const char *blocking = getenv("CUDA_LAUNCH_BLOCKING");
    if (ag_options.mode == AG_MODE_OFF || ag_options.mode == AG_MODE_OBSERVE)
        atomic_store(&ag_window_bypass, AG_BYPASS_mode);
    else if (!ag_options.force && ((blocking != NULL && strcmp(blocking, "0") != 0 && blocking[0] != '\0') ||
                                   getenv("CUDA_INJECTION64_PATH") != NULL))
        atomic_store(&ag_window_bypass, AG_BYPASS_tool);
    pthread_atfork(before_fork, NULL, in_child);
    atexit(stand_aside);
}

__attribute__((destructor)) static void end(void)
{
    if (written || ag_options.stats[0] == '\0')
        return;
    written = true;
    struct ag_stats total = {{0}};
    ag_stats_collect(&total);
    ag_window_collect(&total);
    ag_stats_write(&total, ag_options.stats, ag_real_version());
}
