/* See driver.h. */
#include "tests/fuzz/driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

struct fuzz_driver fuzz_driver;

typedef CUresult (*get_fn)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);

static void *library;
static get_fn get;

static bool find(const char *name, const char *symbol, bool per_thread, void **out)
{
    CUdriverProcAddressQueryResult status;
    /* A name that cuda.h does not map to a newer version must not get one. */
    int version = strstr(symbol, "_v") ? CUDA_VERSION : 12040;
    *out = NULL;
    if (!get)
        *out = dlsym(library, symbol);
    else if (get(name, out, version,
                 per_thread ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM : CU_GET_PROC_ADDRESS_LEGACY_STREAM,
                 &status))
        *out = NULL;
    if (!*out)
        fprintf(stderr, "fuzz: the driver has no %s\n", symbol);
    return *out != NULL;
}

#define TEXT(x) TEXT_(x)
#define TEXT_(x) #x

bool fuzz_driver_open(bool by_dlsym)
{
    library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        fprintf(stderr, "fuzz: %s\n", dlerror());
        return false;
    }
    *(void **)&get = by_dlsym ? NULL : dlsym(library, "cuGetProcAddress_v2");
#define FUZZ_MEMBER(name)                                                                                              \
    if (!find(#name, TEXT(name), false, (void **)&fuzz_driver.name##_f))                                               \
        return false;
#define FUZZ_PAIR(name, suffix)                                                                                        \
    if (!find(#name, TEXT(name), false, (void **)&fuzz_driver.name##_f) ||                                             \
        !find(#name, TEXT(name) #suffix, true, (void **)&fuzz_driver.name##_p))                                        \
        return false;
    FUZZ_FUNCTIONS(FUZZ_MEMBER, FUZZ_PAIR)
    return true;
}
