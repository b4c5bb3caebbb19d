/* The driver reached at run time. Usage: door HOW [FILE]; prints what it saw, the same in every run. */
#define _GNU_SOURCE
#include "tests/doors/work.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

typedef CUresult look_up_type(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);
typedef CUresult look_up_old_type(const char *, void **, int, cuuint64_t);

static void *opened(const char *file, int mode)
{
    void *handle = dlopen(file, mode);
    if (handle == NULL)
        printf("%s\n", dlerror());
    return handle;
}

/* handle: a library, or RTLD_DEFAULT, which is a null pointer */
static int by_scope(void *handle, const char *name)
{
    struct work_driver driver;
    return !work_find(&driver, false, work_dlsym, handle) || work_run(&driver, name, 30);
}

static int by_dlsym(void *handle, const char *name)
{
    return handle == NULL || by_scope(handle, name);
}

/* Nothing, then the handle of a library that is loaded already. */
static int no_load(const char *file)
{
    printf("before: %s\n", dlopen(file, RTLD_NOW | RTLD_NOLOAD) != NULL ? "loaded" : "not loaded");
    void *first = opened(file, RTLD_NOW);
    void *again = opened(file, RTLD_NOW | RTLD_NOLOAD);
    printf("after: %s\n", again == first ? "the same handle" : "another handle");
    return by_dlsym(again, "RTLD_NOLOAD");
}

/* A second driver, as a file that is not the one in use. */
static int another(const char *file)
{
    void *first = opened("libcuda.so.1", RTLD_NOW);
    if (by_dlsym(first, "the usual driver") != 0)
        return 1;
    void *second = opened(file, RTLD_NOW);
    printf("another driver: %s\n", second == first ? "the same handle" : "a handle of its own");
    printf("its look-up function: %s\n", dlsym(first, "cuInit") == dlsym(second, "cuInit") ? "shared" : "its own");
    return by_dlsym(second, "another driver") != 0 || by_dlsym(first, "the usual driver again") != 0;
}

/* A library that is linked with the driver and opened so that it finds the driver before anything preloaded. */
static int deep_library(const char *file)
{
    void *handle = opened("libcuda.so.1", RTLD_NOW);
    int (*result)(void);
    if (by_dlsym(handle, "before") != 0)
        return 1;
    void *library = opened(file, RTLD_NOW | RTLD_DEEPBIND);
    if (library == NULL)
        return 1;
    *(void **)&result = dlsym(library, "early_result");
    return result() != 0 || by_dlsym(handle, "after") != 0;
}

/* Through the program's own scope. */
static int global(const char *file)
{
    return opened(file, RTLD_NOW | RTLD_GLOBAL) == NULL || by_scope(RTLD_DEFAULT, "RTLD_GLOBAL");
}

static int deep_bind(const char *file)
{
    return by_dlsym(opened(file, RTLD_NOW | RTLD_DEEPBIND), "RTLD_DEEPBIND");
}

static void *nothing(void *unused)
{
    return unused;
}

/*
 * A namespace of its own, and afterwards the usual one. A thread that the second namespace's libc starts is not known
 * to this one's, whose malloc takes no lock until a thread was started here; the loader calls that malloc for the
 * threads of every namespace (glibc 2.36: SINGLE_THREAD_P is a variable of each libc). Without a thread of our own,
 * about 4 of 100 runs corrupt the heap, with no shim near.
 */
static int name_space(const char *file)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, nothing, NULL) != 0 || pthread_join(thread, NULL) != 0)
        return 1;
    void *handle = dlmopen(LM_ID_NEWLM, file, RTLD_NOW);
    if (handle == NULL)
        printf("%s\n", dlerror());
    if (by_dlsym(handle, "dlmopen") != 0)
        return 1;
    return by_dlsym(opened(file, RTLD_NOW), "dlopen after dlmopen");
}

static int base_name_space(const char *file)
{
    return by_dlsym(dlmopen(LM_ID_BASE, file, RTLD_NOW), "dlmopen into the usual namespace");
}

/* Many handles, as many given back, in the middle of the work. */
static int close_often(const char *file)
{
    struct work_driver driver;
    struct work work;
    void *keeper = opened(file, RTLD_NOW);
    if (keeper == NULL || !work_find(&driver, false, work_dlsym, keeper) || work_open(&work, &driver) != 0)
        return 1;
    for (unsigned i = 0; i < 30; i++) {
        void *handles[20];
        for (unsigned k = 0; k < 20; k++)
            if ((handles[k] = opened(file, k % 2 != 0 ? RTLD_LAZY : RTLD_NOW)) != keeper)
                return 1;
        if (work_round(&work, i) != 0)
            return 1;
        for (unsigned k = 0; k < 20; k++)
            if (dlclose(handles[k]) != 0)
                return 1;
        if (driver.cuStreamSynchronize(work.stream) != CUDA_SUCCESS)
            return 1;
    }
    return work_print(&work, "dlclose") != 0 || work_close(&work) != 0;
}

static look_up_type *look_up;
static look_up_old_type *look_up_old;

static void *find_old(const char *name, void *unused)
{
    void *function = NULL;
    (void)unused;
    return look_up_old(name, &function, 12040, CU_GET_PROC_ADDRESS_DEFAULT) == CUDA_SUCCESS ? function : NULL;
}

static void *find_new(const char *name, void *flags)
{
    void *function = NULL;
    CUdriverProcAddressQueryResult status;
    return look_up(name, &function, 12040, *(cuuint64_t *)flags, &status) == CUDA_SUCCESS ? function : NULL;
}

static void ask(void *handle, const char *name, int version, cuuint64_t flags, const char *same_as)
{
    CUdriverProcAddressQueryResult status = (CUdriverProcAddressQueryResult)77;
    void *function = (void *)1;
    CUresult code = look_up(name, &function, version, flags, &status);
    void *without = (void *)1;
    CUresult plain = look_up(name, &without, version, flags, NULL);
    void *old = (void *)1;
    CUresult first = look_up_old(name, &old, version, flags);
    printf("%s %d %d: %d %s %d, %d %s, %d %s", name, version, (int)flags, (int)code,
           function != NULL ? "found" : "none", (int)status, (int)plain, without == function ? "same" : "other",
           (int)first, old == function ? "same" : "other");
    if (same_as != NULL)
        printf(", %s %s", function == dlsym(handle, same_as) ? "is" : "is not", same_as);
    printf("\n");
}

/* The driver's own look-up: codes, statuses, versions and meanings of stream 0 are the driver's. */
static int look_ups(const char *file)
{
    static const char *const names[] = {
            "cuLaunchKernel",  "cuMemAlloc", "cuCtxCreate",      "cuGetProcAddress", "cuLaunchKernelEx",
            "cuNothingOfThis", "",           "cuGetExportTable", "cuMemcpyDtoH",     "cuMemcpyDtoHAsync"};
    static const int versions[] = {2000, 3020, 4000, 7000, 11030, 11060, 12000, 12040, 13000, 99000, 0, -1};
    void *handle = opened(file, RTLD_NOW);
    struct work_driver driver;
    if (handle == NULL)
        return 1;
    *(void **)&look_up = dlsym(handle, "cuGetProcAddress_v2");
    *(void **)&look_up_old = dlsym(handle, "cuGetProcAddress");
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        for (unsigned v = 0; v < sizeof versions / sizeof versions[0]; v++)
            for (cuuint64_t flags = 0; flags < 5; flags++)
                ask(handle, names[i], versions[v], flags, NULL);
    ask(handle, "cuLaunchKernel", 4000, 0, "cuLaunchKernel");
    ask(handle, "cuLaunchKernel", 12040, CU_GET_PROC_ADDRESS_LEGACY_STREAM, "cuLaunchKernel");
    ask(handle, "cuLaunchKernel", 12040, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, "cuLaunchKernel_ptsz");
    ask(handle, "cuMemAlloc", 12040, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, "cuMemAlloc_v2");
    ask(handle, "cuGetProcAddress", 11030, 0, "cuGetProcAddress");
    ask(handle, "cuGetProcAddress", 12000, 0, "cuGetProcAddress_v2");
    ask(handle, "cuStreamSynchronize", 12040, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
        "cuStreamSynchronize_ptsz");
    printf("no place for the answer: %d %d\n", (int)look_up("cuInit", NULL, 12040, 0, NULL),
           (int)look_up_old("cuInit", NULL, 12040, 0));
    printf("no name: %d\n", (int)look_up(NULL, &(void *){NULL}, 12040, 0, NULL));
    cuuint64_t legacy = CU_GET_PROC_ADDRESS_LEGACY_STREAM, own = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    if (!work_find(&driver, true, find_old, NULL) || work_run(&driver, "cuGetProcAddress", 30) != 0)
        return 1;
    if (!work_find(&driver, true, find_new, &legacy) || work_run(&driver, "legacy stream", 30) != 0)
        return 1;
    return !work_find(&driver, true, find_new, &own) || work_run(&driver, "per-thread stream", 30) != 0;
}

/* Copies of a runtime library, each with pointers of its own. */
static int copies(const char *files)
{
    char *list = strdup(files), *rest = NULL;
    unsigned number = 0;
    for (char *file = strtok_r(list, ":", &rest); file != NULL; file = strtok_r(NULL, ":", &rest)) {
        char name[32];
        void *handle = opened(file, RTLD_NOW | RTLD_LOCAL);
        int (*run)(const char *);
        if (handle == NULL)
            return 1;
        *(void **)&run = dlsym(handle, "runtime_work");
        snprintf(name, sizeof name, "copy %u", ++number);
        if (run == NULL || run(name) != 0)
            return 1;
    }
    free(list);
    return 0;
}

/* Names that lead nowhere: the answer is the loader's own. */
static int missing(const char *list)
{
    char *names = strdup(list), *rest = NULL;
    for (char *file = strtok_r(names, ",", &rest); file != NULL; file = strtok_r(NULL, ",", &rest))
        if (opened(file, RTLD_NOW) != NULL)
            printf("%s: loaded\n", file);
    free(names);
    return by_dlsym(opened("libcuda.so.1", RTLD_NOW), "after misses");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(const char *);
    } ways[] = {
            {"another", another},      {"deeplibrary", deep_library}, {"noload", no_load},
            {"global", global},        {"deepbind", deep_bind},       {"dlmopen", name_space},
            {"base", base_name_space}, {"close", close_often},        {"lookup", look_ups},
            {"copies", copies},        {"missing", missing},
    };
    const char *how = argc > 1 ? argv[1] : "", *file = argc > 2 ? argv[2] : "libcuda.so.1";
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (strcmp(how, "secure") == 0)
        printf("secure: %lu\n", getauxval(AT_SECURE));
    for (unsigned i = 0; i < sizeof ways / sizeof ways[0]; i++)
        if (strcmp(how, ways[i].name) == 0)
            return ways[i].run(file);
    return by_dlsym(opened(file, RTLD_NOW), "dlopen");
}
