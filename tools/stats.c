#include "tools/stats.h"
#include "tools/folder.h"
#include "tools/tool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int ag_stats_files_add(struct ag_stats_files *files, struct ag_json_object object)
{
    struct ag_json_object *objects = realloc(files->objects, (files->count + 1) * sizeof *objects);
    if (!objects)
        return -ENOMEM;
    files->objects = objects;
    files->objects[files->count++] = object;
    return 0;
}

int ag_stats_files_read(struct ag_stats_files *files, const char *path)
{
    size_t length, at = 0, before = files->count;
    errno = 0;
    char *text = ag_folder_load(path, &length);
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
    return ag_folder_make(folder->path, launch, "STATS", "json", "statistics");
}

/* Gives up the last object when its process issued no launch. */
static void ag_stats_folder_sift(struct ag_stats_files *files, size_t before)
{
    while (files->count > before && ag_json_number(&files->objects[files->count - 1], "launches") <= 0)
        ag_json_release(&files->objects[--files->count]);
}

static int ag_stats_folder_add(void *context, const char *path)
{
    struct ag_stats_files *files = context;
    size_t before = files->count;
    int status = ag_stats_files_read(files, path);
    ag_stats_folder_sift(files, before);
    return status;
}

int ag_stats_folder_take(struct ag_stats_folder *folder, struct ag_stats_files *files)
{
    return ag_folder_empty(folder->path, ag_stats_folder_add, files);
}
