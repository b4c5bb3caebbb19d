/* Error lines and option parsing that every subcommand shares. */
#include "tools/tool.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int ag_tool_fail(int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("autograph: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return status;
}

int ag_tool_getopt(int argc, char **argv, const char *shorts, const struct option *longs)
{
    char all[64];
    snprintf(all, sizeof all, "+:%s", shorts);
    opterr = 0;
    optopt = 0;
    int before = optind;
    int option = getopt_long(argc, argv, all, longs, NULL);
    if (option != '?' && option != ':')
        return option;
    /* getopt sets optopt for short options and for long ones that lack or do not take a value. */
    const char *word = argv[optind > before ? optind - 1 : optind];
    if (option == ':')
        ag_tool_fail(AG_TOOL_USAGE, "%s: option '%s' needs a value; see autograph help %s", argv[0], word, argv[0]);
    else
        ag_tool_fail(AG_TOOL_USAGE, "%s: unknown or wrong option '%s'; see autograph help %s", argv[0], word, argv[0]);
    return '?';
}

bool ag_tool_number(const char *text, long least, long most, long *number)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno || end == text || *end || value < least || value > most)
        return false;
    *number = value;
    return true;
}

int ag_tool_not_started(const char *program, int error)
{
    bool missing = error == ENOENT || error == ENOTDIR;
    return ag_tool_fail(missing ? AG_TOOL_NOT_FOUND : AG_TOOL_NOT_EXECUTABLE, "cannot run '%s': %s", program,
                        strerror(error));
}
