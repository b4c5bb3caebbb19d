/* What the parts of the command `autograph` share: exit statuses, error lines, the command table.
 *
 * Knows nothing of CUDA and links nothing but libc: the command must start on a machine where the driver is broken,
 * since that is when somebody asks it what is wrong. One thread; nothing here is called from a signal handler.
 */
#ifndef AG_TOOL_H
#define AG_TOOL_H

#include <getopt.h>
#include <stdbool.h>

/* Exit statuses that are the command's own. `run` and `profile` end with the program's status instead. */
enum ag_tool_status {
    AG_TOOL_OK = 0,
    AG_TOOL_DIFFERENT = 1, /* outputs or exit statuses differ, a check failed */
    AG_TOOL_USAGE = 2,
    AG_TOOL_SIGNAL = 3,           /* a measured run died of a signal */
    AG_TOOL_UNCHECKED = 4,        /* a check found nothing that it could check */
    AG_TOOL_FAILED = 125,         /* the command itself could not do its work, as in env(1) */
    AG_TOOL_NOT_EXECUTABLE = 126, /* as a shell says it */
    AG_TOOL_NOT_FOUND = 127,
};

/* One subcommand. `run` gets argv[0] = the subcommand's name and returns the exit status. A command without `run` is
 * reserved: it answers as an unknown one and is not listed. */
struct ag_tool_command {
    const char *name;
    const char *summary;
    const char *usage;
    int (*run)(int argc, char **argv);
};

/* Prints "autograph: MESSAGE" as one line on stderr and returns `status`, so that callers can return it at once. */
int ag_tool_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* getopt_long with one-line errors. Stops at the first word that is no option, so that the program's own options are
 * left alone. Returns what getopt_long returns; -1 at the end with optind at the first remaining word; '?' after an
 * error that has been printed. `shorts` needs no leading "+" or ":". --help has been dealt with before. */
int ag_tool_getopt(int argc, char **argv, const char *shorts, const struct option *longs);

/* Parses a decimal number between `least` and `most`; false when `text` is anything else. */
bool ag_tool_number(const char *text, long least, long most, long *number);

/* The exit status that says why a program could not be started, after one line on stderr. */
int ag_tool_not_started(const char *program, int error);

extern const char ag_tool_run_usage[], ag_tool_ab_usage[], ag_tool_profile_usage[], ag_tool_report_usage[],
        ag_tool_verify_usage[], ag_tool_doctor_usage[];

int ag_tool_run(int argc, char **argv);
int ag_tool_ab(int argc, char **argv);
int ag_tool_profile(int argc, char **argv);
int ag_tool_report(int argc, char **argv);
int ag_tool_verify(int argc, char **argv);
int ag_tool_doctor(int argc, char **argv);

/* tools/trace.c defines these two when it is part of the build; the dispatch table takes the command in by itself. */
extern const char ag_tool_trace_usage[] __attribute__((weak));
int ag_tool_trace(int argc, char **argv) __attribute__((weak));

#endif
