#include "tools/launch.h"
#include "tools/preload.h"
#include "tools/tool.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AG_LAUNCH_PREFIX "AUTOGRAPH_"

static bool ag_launch_is_name(const char *name)
{
    if (!isalpha((unsigned char)*name))
        return false;
    for (const char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_')
            return false;
    return true;
}

int ag_launch_set(struct ag_launch *launch, const char *name, const char *value)
{
    if (!strncasecmp(name, AG_LAUNCH_PREFIX, strlen(AG_LAUNCH_PREFIX)))
        name += strlen(AG_LAUNCH_PREFIX);
    if (!ag_launch_is_name(name))
        return ag_tool_fail(AG_TOOL_USAGE, "'%s' is no setting's name", name);
    if (launch->setting_count == AG_LAUNCH_SETTINGS)
        return ag_tool_fail(AG_TOOL_USAGE, "more than %d settings", AG_LAUNCH_SETTINGS);
    char *setting;
    if (asprintf(&setting, AG_LAUNCH_PREFIX "%s=%s", name, value) < 0)
        return ag_tool_fail(AG_TOOL_FAILED, "out of memory");
    for (char *c = setting; *c != '='; c++)
        *c = (char)toupper((unsigned char)*c);
    launch->settings[launch->setting_count++] = setting;
    return 0;
}

int ag_launch_set_word(struct ag_launch *launch, const char *word)
{
    const char *equals = strchr(word, '=');
    if (!equals)
        return ag_tool_fail(AG_TOOL_USAGE, "'%s' is not NAME=VALUE", word);
    char *name = strndup(word, (size_t)(equals - word));
    if (!name)
        return ag_tool_fail(AG_TOOL_FAILED, "out of memory");
    int status = ag_launch_set(launch, name, equals + 1);
    free(name);
    return status;
}

int ag_launch_set_mode(struct ag_launch *launch, const char *mode)
{
    static const char *const modes[] = {"replay", "observe", "verify", "off"};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
        if (!strcmp(modes[i], mode))
            return ag_launch_set(launch, "MODE", mode);
    return ag_tool_fail(AG_TOOL_USAGE, "unknown mode '%s': one of replay, observe, verify, off", mode);
}

int ag_launch_set_program(struct ag_launch *launch, int argc, char **argv, int first)
{
    if (first >= argc)
        return ag_tool_fail(AG_TOOL_USAGE, "%s: no program given; see autograph help %s", argv[0], argv[0]);
    launch->argv = argv + first;
    return 0;
}

int ag_launch_apply(const struct ag_launch *launch)
{
    char *preload = ag_preload_compose(launch->shim, getenv("LD_PRELOAD"));
    if (!preload)
        return -ENOMEM;
    int error = *preload ? setenv("LD_PRELOAD", preload, 1) : unsetenv("LD_PRELOAD");
    free(preload);
    for (int i = 0; launch->shim && !error && i < launch->setting_count; i++)
        error = putenv(launch->settings[i]);
    return error ? -ENOMEM : 0;
}

void ag_launch_release(struct ag_launch *launch)
{
    for (int i = 0; i < launch->setting_count; i++)
        free(launch->settings[i]);
    launch->setting_count = 0;
}
