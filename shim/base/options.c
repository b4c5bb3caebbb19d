#include "shim/base/options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct ag_options ag_options = {
#define AG_OPTION(name, type, preset, values, help) .name = preset,
#include "shim/base/options.def"
#undef AG_OPTION
};

enum option_type { CHOICE, STRING, NUMBER };

static const struct option {
    const char *name;
    enum option_type type;
    void *field;
    const char *values;
} options[] = {
#define AG_OPTION(name, type, preset, values, help) {#name, type, &ag_options.name, values},
#include "shim/base/options.def"
#undef AG_OPTION
};

#define OPTION_COUNT (sizeof options / sizeof options[0])

extern char **environ;

static void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void complain(const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    if (length < 0)
        return;
    if (length > (int)sizeof line - 2)
        length = (int)sizeof line - 2;
    line[length] = '\n';
    if (write(STDERR_FILENO, line, (size_t)length + 1) < 0)
        return;
}

static bool set_choice(const struct option *option, const char *value)
{
    const char *choice = option->values;
    for (int index = 0; choice != NULL; index++) {
        const char *end = strchr(choice, '|');
        size_t length = end != NULL ? (size_t)(end - choice) : strlen(choice);
        if (strlen(value) == length && strncmp(choice, value, length) == 0) {
            *(int *)option->field = index;
            return true;
        }
        choice = end != NULL ? end + 1 : NULL;
    }
    return false;
}

static bool set_number(const struct option *option, const char *value)
{
    char *end;
    long lowest = strtol(option->values, &end, 10);
    long highest = strtol(end + 2, NULL, 10);
    errno = 0;
    long number = strtol(value, &end, 10);
    if (end == value || *end != '\0' || errno != 0 || number < lowest || number > highest)
        return false;
    *(long *)option->field = number;
    return true;
}

/* name is the variable's name without AUTOGRAPH_, length characters long. */
static const struct option *find(const char *name, size_t length)
{
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const char *own = options[i].name;
        size_t k = 0;
        while (k < length && own[k] != '\0' && name[k] == (own[k] >= 'a' && own[k] <= 'z' ? own[k] - 32 : own[k]))
            k++;
        if (k == length && own[k] == '\0')
            return &options[i];
    }
    return NULL;
}

/* Variables of the simulated driver, the build and the tests, which programs under the shim inherit. */
static bool is_of_tests(const char *name, size_t length)
{
    static const char others[][12] = {"SIM", "BUILD", "SETUP", "AUDIT", "TEST_DEVICE"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strlen(others[i]) == length && strncmp(name, others[i], length) == 0)
            return true;
    return false;
}

static bool chunk_min_given;

static void set(const char *variable)
{
    static const char prefix[] = "AUTOGRAPH_";
    const char *name = variable + sizeof prefix - 1;
    const char *equals = strchr(variable, '=');
    if (equals == NULL || equals < name)
        return;
    size_t length = (size_t)(equals - name);
    const char *value = equals + 1;
    if (is_of_tests(name, length))
        return;
    const struct option *option = find(name, length);
    if (option == NULL) {
        complain("autograph: unknown variable AUTOGRAPH_%.*s is ignored", (int)length, name);
        return;
    }
    if (option->type == STRING)
        *(const char **)option->field = value;
    else if (!(option->type == CHOICE ? set_choice(option, value) : set_number(option, value)))
        complain("autograph: AUTOGRAPH_%.*s=%.100s is not one of %s; the default is used", (int)length, name, value,
                 option->values);
    else if (option->field == &ag_options.chunk_min)
        chunk_min_given = true;
}

void ag_options_load(void)
{
    static bool loaded;
    if (loaded)
        return;
    loaded = true;
    for (char **variable = environ; variable != NULL && *variable != NULL; variable++)
        if (strncmp(*variable, "AUTOGRAPH_", 10) == 0)
            set(*variable);
    if (ag_options.chunk_min <= ag_options.chunk_max)
        return;
    if (chunk_min_given)
        complain("autograph: AUTOGRAPH_CHUNK_MIN=%ld is above AUTOGRAPH_CHUNK_MAX=%ld; that is used for both",
                 ag_options.chunk_min, ag_options.chunk_max);
    ag_options.chunk_min = ag_options.chunk_max;
}

int ag_options_expand(const char *pattern, char *path, unsigned long size)
{
    unsigned long used = 0;
    for (const char *p = pattern; *p != '\0'; p++) {
        if (p[0] == '%' && p[1] == 'p') {
            int length = snprintf(path + used, size - used, "%ld", (long)getpid());
            if (length < 0 || (unsigned long)length >= size - used)
                return -1;
            used += (unsigned long)length;
            p++;
        } else {
            if (used + 1 >= size)
                return -1;
            path[used++] = *p;
        }
    }
    path[used] = '\0';
    return 0;
}
