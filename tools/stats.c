#include "tools/stats.h"
#include "tools/tool.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int ag_stats_files_add(struct ag_stats_files *files, struct ag_json_object object)
{
    struct ag_json_object *objects = realloc(files->objects, (files->count + 1) * sizeof *objects);
    if (!objects)
        return -ENOMEM;
    files->objects = objects;
    files->objects[files->count++] = object;
    return 0;
}

/* The whole file, or NULL with errno set. */
static char *ag_stats_files_load(const char *path, size_t *length)
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

int ag_stats_files_read(struct ag_stats_files *files, const char *path)
{
    size_t length, at = 0, before = files->count;
    errno = 0;
    char *text = ag_stats_files_load(path, &length);
    if (!text)
        return ag_tool_fail(AG_TOOL_FAILED, "cannot read %s: %s", path, strerror(errno));
    int more;
    do {
        struct ag_json_object object;
        more = ag_json_read(text, length, &at, &object);
        if (more > 0 && ag_stats_files_add(files, object))
            more = -ENOMEM;
        if (more <= 0)
            ag_json_release(&object);
    } while (more > 0);
    free(text);
    if (more == -ENOMEM)
        return ag_tool_fail(AG_TOOL_FAILED, "out of memory");
    if (more < 0)
        return ag_tool_fail(AG_TOOL_FAILED, "%s is no statistics file: bad JSON at byte %zu", path, at);
    return files->count > before ? 0 : ag_tool_fail(AG_TOOL_FAILED, "%s is empty", path);
}

void ag_stats_files_release(struct ag_stats_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        ag_json_release(&files->objects[i]);
    free(files->objects);
    *files = (struct ag_stats_files){0};
}

int ag_stats_folder_make(struct ag_stats_folder *folder, struct ag_launch *launch)
{
    const char *temporary = getenv("TMPDIR");
    snprintf(folder->path, sizeof folder->path, "%s/autograph-XXXXXX", temporary && *temporary ? temporary : "/tmp");
    if (!mkdtemp(folder->path))
        return ag_tool_fail(AG_TOOL_FAILED, "cannot make a folder for statistics (%s): %s", folder->path,
                            strerror(errno));
    char pattern[PATH_MAX + 16];
    snprintf(pattern, sizeof pattern, "%s/%%p.json", folder->path);
    return ag_launch_set(launch, "STATS", pattern);
}

/* Gives up the last object when its process issued no launch. */
static void ag_stats_folder_sift(struct ag_stats_files *files, size_t before)
{
    while (files->count > before && ag_json_number(&files->objects[files->count - 1], "launches") <= 0)
        ag_json_release(&files->objects[--files->count]);
}

int ag_stats_folder_take(struct ag_stats_folder *folder, struct ag_stats_files *files)
{
    int status = 0;
    DIR *entries = opendir(folder->path);
    if (!entries)
        return ag_tool_fail(AG_TOOL_FAILED, "cannot read %s: %s", folder->path, strerror(errno));
    for (struct dirent *entry; (entry = readdir(entries));) {
        if (entry->d_name[0] == '.')
            continue;
        char path[PATH_MAX + 300];
        size_t before = files->count;
        snprintf(path, sizeof path, "%s/%s", folder->path, entry->d_name);
        if (!status)
            status = ag_stats_files_read(files, path);
        ag_stats_folder_sift(files, before);
        unlink(path);
    }
    closedir(entries);
    rmdir(folder->path);
    return status;
}
