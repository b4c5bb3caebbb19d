/* How a program is to be started: without or with the shim, with which AUTOGRAPH_ settings.
 *
 * Knows the names of the contract's environment variables and checks what can be checked before the program starts; the
 * shim's options table remains the judge of every other value. */
#ifndef AG_LAUNCH_H
#define AG_LAUNCH_H

#include <limits.h>
#include <stdbool.h>

#define AG_LAUNCH_SETTINGS 64

struct ag_launch {
    char *const *argv;                  /* program and arguments, NULL at the end; argv[0] is searched in PATH */
    const char *shim;                   /* library to preload; NULL: run without the shim */
    char *settings[AG_LAUNCH_SETTINGS]; /* NAME=VALUE, owned; put into the environment of shimmed runs only */
    int setting_count;
};

/* Adds AUTOGRAPH_<name>=<value>; `name` may come in lower case and with the prefix. Returns 0 or an exit status after a
 * line on stderr. A later setting of the same name wins. */
int ag_launch_set(struct ag_launch *launch, const char *name, const char *value);

/* The same from one word NAME=VALUE. */
int ag_launch_set_word(struct ag_launch *launch, const char *word);

/* Sets the mode after checking it against the contract's list. */
int ag_launch_set_mode(struct ag_launch *launch, const char *mode);

/* Takes the rest of the command line as the program; prints a line and returns AG_TOOL_USAGE when there is none. */
int ag_launch_set_program(struct ag_launch *launch, int argc, char **argv, int first);

/* Puts the launch into the environment of the calling process. Returns 0 or -ENOMEM. */
int ag_launch_apply(const struct ag_launch *launch);

void ag_launch_release(struct ag_launch *launch);

#endif
