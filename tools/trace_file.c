/* Reading traces into memory. */
#include "tools/tool.h"
#include "tools/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define XZ_MAGIC                                                                                                       \
    "\xfd"                                                                                                             \
    "7zXZ"

/* All that the descriptor gives, and a zero byte behind it. Returns 0 or an errno value. */
static int read_all(int fd, char **text, size_t *length)
{
    size_t size = 0;
    *length = 0;
    for (;;) {
        if (*length + 1 >= size) {
            size = size != 0 ? 2 * size : 1 << 16;
            char *more = realloc(*text, size);
            if (!more)
                return ENOMEM;
            *text = more;
        }
        ssize_t n = read(fd, *text + *length, size - *length - 1);
        if (n == 0)
            break;
        if (n < 0 && errno != EINTR)
            return errno;
        if (n > 0)
            *length += (size_t)n;
    }
    (*text)[*length] = '\0';
    return 0;
}

/* xz is a program of every distribution; its library would be one more thing to build with. */
static int read_xz(struct ag_trace_file *file)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return ag_tool_fail(AG_TOOL_USAGE, "cannot read %s: %s", file->path, strerror(errno));
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    char *argv[] = {"xz", "-dc", "--", (char *)(uintptr_t)file->path, NULL};
    pid_t child;
    int error = posix_spawnp(&child, "xz", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (error) {
        close(ends[0]);
        return ag_tool_fail(AG_TOOL_USAGE, "cannot read %s: xz cannot be run: %s", file->path, strerror(error));
    }
    error = read_all(ends[0], &file->text, &file->length);
    close(ends[0]);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (error)
        return ag_tool_fail(AG_TOOL_USAGE, "cannot read %s: %s", file->path, strerror(error));
    return status ? ag_tool_fail(AG_TOOL_USAGE, "%s is no xz file, or it is damaged or cut off", file->path) : 0;
}

static int read_text(struct ag_trace_file *file)
{
    size_t name = strlen(file->path);
    int fd = open(file->path, O_RDONLY | O_CLOEXEC);
    int error = fd < 0 ? errno : read_all(fd, &file->text, &file->length);
    if (fd >= 0)
        close(fd);
    if (error)
        return ag_tool_fail(AG_TOOL_USAGE, "cannot read %s: %s", file->path, strerror(error));
    bool packed = file->length >= sizeof XZ_MAGIC - 1 && !memcmp(file->text, XZ_MAGIC, sizeof XZ_MAGIC - 1);
    if (!packed && (name < 3 || strcmp(file->path + name - 3, ".xz")))
        return 0;
    free(file->text);
    file->text = NULL;
    return read_xz(file);
}

/* The declarations seen so far, by number. */
struct functions {
    const struct ag_trace_event **seen;
    size_t size;
};

static const char *check(struct functions *functions, struct ag_trace_event *event)
{
    size_t id = event->function;
    if (event->kind == AG_TRACE_LAUNCH) {
        if (id >= functions->size || !functions->seen[id])
            return "the function was not declared by an F line before";
        event->name = functions->seen[id]->name;
        return ag_trace_fits(functions->seen[id], event) ? "the arguments do not fit the function's parameters" : NULL;
    }
    if (event->kind != AG_TRACE_FUNCTION)
        return NULL;
    if (id >= 1u << 24)
        return "the function's number is too large";
    if (id >= functions->size) {
        size_t size = 2 * id + 64;
        const struct ag_trace_event **seen = realloc(functions->seen, size * sizeof seen[0]);
        if (!seen)
            return strerror(ENOMEM);
        memset(seen + functions->size, 0, (size - functions->size) * sizeof seen[0]);
        functions->seen = seen;
        functions->size = size;
    }
    functions->seen[id] = event;
    return NULL;
}

static int parse(struct ag_trace_file *file, struct functions *functions)
{
    size_t lines = 0;
    if (!file->text || file->length == 0)
        return ag_tool_fail(AG_TOOL_USAGE, "%s is empty", file->path);
    for (const char *p = file->text; (p = memchr(p, '\n', file->length - (size_t)(p - file->text))); p++)
        lines++;
    file->events = calloc(lines + 1, sizeof file->events[0]);
    if (!file->events)
        return ag_tool_fail(AG_TOOL_FAILED, "out of memory");
    for (char *line = file->text, *end = file->text + file->length; line < end;) {
        char *newline = memchr(line, '\n', (size_t)(end - line));
        struct ag_trace_event *event = &file->events[file->count++];
        const char *problem = NULL;
        if (newline)
            *newline = '\0';
        if (strlen(line) != (size_t)((newline ? newline : end) - line))
            problem = "not a line of a trace: it holds a zero byte";
        if (!problem && !ag_trace_parse(line, event, &problem))
            problem = !newline ? "the last line is cut off" : check(functions, event);
        if (problem)
            return ag_tool_fail(AG_TOOL_USAGE, "%s:%zu: %s", file->path, file->count, problem);
        line = newline ? newline + 1 : end;
    }
    file->function_count = (uint32_t)functions->size;
    return 0;
}

int ag_trace_file_load(struct ag_trace_file *file, const char *path)
{
    *file = (struct ag_trace_file){.path = path};
    int status = read_text(file);
    if (status || !ag_trace_is_binary(file->text, file->length))
        return status;
    char *binary = file->text;
    file->text = NULL;
    status = ag_trace_binary_to_text(path, binary, file->length, &file->text, &file->length, &file->left_out);
    free(binary);
    return status;
}

int ag_trace_file_read(struct ag_trace_file *file, const char *path)
{
    struct functions functions = {0};
    int status = ag_trace_file_load(file, path);
    if (!status)
        status = parse(file, &functions);
    free(functions.seen);
    if (!status && file->left_out > 0)
        fprintf(stderr, "autograph: %s: the last record is cut off, its %zu bytes are left out\n", path,
                file->left_out);
    return status;
}

void ag_trace_file_release(struct ag_trace_file *file)
{
    free(file->events);
    free(file->text);
    *file = (struct ag_trace_file){0};
}
