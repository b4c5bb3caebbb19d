#include "tools/folder.h"
#include "tools/tool.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int ag_folder_make(char path[PATH_MAX], struct ag_launch *launch, const char *name, const char *suffix,
                   const char *what)
{
    const char *temporary = getenv("TMPDIR");
    char pattern[PATH_MAX + 16];
    snprintf(path, PATH_MAX, "%s/autograph-XXXXXX", temporary && *temporary ? temporary : "/tmp");
    if (!mkdtemp(path)) {
        int status = ag_tool_fail(AG_TOOL_FAILED, "cannot make a folder for %s (%s): %s", what, path, strerror(errno));
        path[0] = '\0';
        return status;
    }
    snprintf(pattern, sizeof pattern, "%s/%%p.%s", path, suffix);
    return ag_launch_set(launch, name, pattern);
}

int ag_folder_empty(char path[PATH_MAX], int (*take)(void *context, const char *file), void *context)
{
    int status = 0;
    DIR *entries = opendir(path);
    if (!entries)
        return ag_tool_fail(AG_TOOL_FAILED, "cannot read %s: %s", path, strerror(errno));
    for (struct dirent *entry; (entry = readdir(entries));) {
        char file[PATH_MAX + 300];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        if (take && !status)
            status = take(context, file);
        unlink(file);
    }
    closedir(entries);
    rmdir(path);
    path[0] = '\0';
    return status;
}

char *ag_folder_load(const char *path, size_t *length)
{
    FILE *in = fopen(path, "re");
    if (!in)
        return NULL;
    char *text = NULL;
    size_t size = 0;
    *length = 0;
    do {
        char *more = realloc(text, size += 65536);
        if (!more) {
            free(text);
            text = NULL;
            break;
        }
        text = more;
        *length += fread(text + *length, 1, size - *length, in);
    } while (*length == size);
    int error = text && ferror(in) ? EIO : errno;
    fclose(in);
    if (text && error == EIO) {
        free(text);
        text = NULL;
        errno = error;
    }
    return text;
}
