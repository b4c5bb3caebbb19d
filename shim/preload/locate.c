#define _GNU_SOURCE
#include "shim/preload/locate.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/real.h"

/* The folders that are searched for the library that contains the code; NULL when they are not known. */
static Dl_serinfo *folders(const void *code)
{
    Dl_info info;
    void *library = NULL;
    Dl_serinfo size, *list;
    if (dladdr1(code, &info, &library, RTLD_DL_LINKMAP) == 0 || library == NULL ||
        dlinfo(library, RTLD_DI_SERINFOSIZE, &size) != 0 || (list = malloc(size.dls_size)) == NULL)
        return NULL;
    list->dls_size = size.dls_size;
    list->dls_cnt = size.dls_cnt;
    if (dlinfo(library, RTLD_DI_SERINFO, list) == 0)
        return list;
    free(list);
    return NULL;
}

/* How many of the caller's folders come before those that this library is searched in as well, at the end of both. */
static unsigned own_folders(const Dl_serinfo *caller, const Dl_serinfo *here)
{
    unsigned own = caller->dls_cnt, same = here->dls_cnt;
    while (own > 0 && same > 0 &&
           strcmp(caller->dls_serpath[own - 1].dls_name, here->dls_serpath[same - 1].dls_name) == 0)
        own--, same--;
    return own;
}

static void *open_in(const Dl_serinfo *list, unsigned count, const char *file, int mode)
{
    for (unsigned i = 0; i < count; i++) {
        char path[PATH_MAX];
        int length = snprintf(path, sizeof path, "%s/%s", list->dls_serpath[i].dls_name, file);
        if (length < 0 || (size_t)length >= sizeof path || access(path, F_OK) != 0)
            continue;
        void *handle = ag_real_dlopen()(path, mode);
        if (handle != NULL)
            return handle;
    }
    return NULL;
}

void *ag_locate_open(const char *file, unsigned long mode, const void *caller)
{
    ag_dlopen_function next = ag_real_dlopen();
    int how = RTLD_LAZY | RTLD_LOCAL | (int)(mode & RTLD_NOLOAD);
    if (strchr(file, '/') != NULL)
        return next(file, how);
    void *handle = next(file, RTLD_LAZY | RTLD_NOLOAD);
    if (handle != NULL)
        return handle;
    Dl_serinfo *theirs = folders(caller), *ours = folders((void *)ag_locate_open);
    if (theirs != NULL && ours != NULL)
        handle = open_in(theirs, own_folders(theirs, ours), file, how);
    free(theirs);
    free(ours);
    return handle != NULL ? handle : next(file, how);
}
