#include "tools/preload.h"
#include "tools/tool.h"

#include <errno.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int ag_preload_find(char path[PATH_MAX])
{
    static const char *const folders[] = {"", "../lib/", "../lib/autograph/"};
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0)
        return -ENOENT;
    self[length] = '\0';
    const char *here = dirname(self);
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        char candidate[PATH_MAX + 64];
        snprintf(candidate, sizeof candidate, "%s/%s%s", here, folders[i], AG_PRELOAD_SHIM);
        if (!access(candidate, R_OK) && realpath(candidate, path))
            return strpbrk(path, ": ") ? -EINVAL : 0;
    }
    return -ENOENT;
}

int ag_preload_require(char path[PATH_MAX])
{
    switch (ag_preload_find(path)) {
    case 0:
        return 0;
    case -EINVAL:
        return ag_tool_fail(AG_TOOL_FAILED, "LD_PRELOAD cannot hold a path with a space or colon: %s", path);
    default:
        return ag_tool_fail(AG_TOOL_FAILED,
                            AG_PRELOAD_SHIM " is not beside this command nor in ../lib; build or install it");
    }
}

static bool ag_preload_is_shim(const char *entry, size_t length)
{
    size_t name = strlen(AG_PRELOAD_SHIM);
    return length >= name && !memcmp(entry + length - name, AG_PRELOAD_SHIM, name) &&
           (length == name || entry[length - name - 1] == '/');
}

char *ag_preload_compose(const char *shim, const char *existing)
{
    if (!shim)
        shim = "";
    if (!existing)
        existing = "";
    char *value = malloc(strlen(shim) + strlen(existing) + 2);
    if (!value)
        return NULL;
    char *end = stpcpy(value, shim);
    while (*existing) {
        size_t length = strcspn(existing, ": ");
        if (length && !ag_preload_is_shim(existing, length)) {
            if (end != value)
                *end++ = ':';
            memcpy(end, existing, length);
            end += length;
        }
        existing += length;
        existing += strspn(existing, ": ");
    }
    *end = '\0';
    return value;
}
