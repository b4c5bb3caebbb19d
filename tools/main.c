/* autograph: finds the subcommand and hands over. */
#include "tools/tool.h"

#include <stdio.h>
#include <string.h>

static const struct ag_tool_command *ag_tool_commands(size_t *count)
{
    /* Not static const: the address of a weak function is known only at run time. */
    static struct ag_tool_command commands[7];
    commands[0] = (struct ag_tool_command){"run", "run a program with the shim", ag_tool_run_usage, ag_tool_run};
    commands[1] = (struct ag_tool_command){"ab", "time a program without and with the shim, and compare its output",
                                           ag_tool_ab_usage, ag_tool_ab};
    commands[2] = (struct ag_tool_command){"profile", "run a program in observe mode and report what graphs would do",
                                           ag_tool_profile_usage, ag_tool_profile};
    commands[3] = (struct ag_tool_command){"report", "print statistics files as a table, with advice",
                                           ag_tool_report_usage, ag_tool_report};
    commands[4] = (struct ag_tool_command){"verify", "check that the shim leaves a program's results alone",
                                           ag_tool_verify_usage, ag_tool_verify};
    commands[5] = (struct ag_tool_command){"doctor", "check this machine and environment", ag_tool_doctor_usage,
                                           ag_tool_doctor};
    commands[6] = (struct ag_tool_command){"trace", "look at a recorded trace", ag_tool_trace_usage, ag_tool_trace};
    *count = sizeof commands / sizeof commands[0];
    return commands;
}

static const struct ag_tool_command *ag_tool_find(const char *name)
{
    size_t count;
    const struct ag_tool_command *commands = ag_tool_commands(&count);
    for (size_t i = 0; i < count; i++)
        if (commands[i].run && !strcmp(commands[i].name, name))
            return &commands[i];
    return NULL;
}

static void ag_tool_print_commands(FILE *out)
{
    size_t count;
    const struct ag_tool_command *commands = ag_tool_commands(&count);
    fputs("usage: autograph COMMAND [options] [-- PROGRAM [ARG...]]\n\ncommands:\n", out);
    for (size_t i = 0; i < count; i++)
        if (commands[i].run)
            fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fputs("  help       say more about one command\n\n"
          "`autograph help COMMAND` lists the options of a command. `autograph --version` prints the version.\n",
          out);
}

static bool ag_tool_asks_help(const char *word)
{
    return word && (!strcmp(word, "--help") || !strcmp(word, "-h"));
}

static int ag_tool_dispatch(int argc, char **argv)
{
    bool help = !strcmp(argv[1], "help") || ag_tool_asks_help(argv[1]);
    if (!strcmp(argv[1], "--version")) {
        puts("autograph " AG_VERSION);
        return AG_TOOL_OK;
    }
    if (help && argc == 2) {
        ag_tool_print_commands(stdout);
        return AG_TOOL_OK;
    }
    const char *name = argv[help ? 2 : 1];
    const struct ag_tool_command *command = ag_tool_find(name);
    if (!command)
        return ag_tool_fail(AG_TOOL_USAGE, "unknown command '%s'; see autograph --help", name);
    if (help || ag_tool_asks_help(argv[2])) {
        fputs(command->usage, stdout);
        return AG_TOOL_OK;
    }
    return command->run(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return ag_tool_fail(AG_TOOL_USAGE, "no command given; see autograph --help");
    int status = ag_tool_dispatch(argc, argv);
    /* A full disk or a closed pipe must not look like success. */
    if (fflush(stdout) && status == AG_TOOL_OK)
        status = ag_tool_fail(AG_TOOL_FAILED, "cannot write to standard output");
    return status;
}
