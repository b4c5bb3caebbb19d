/* both [OPTION…] PROGRAM [ARG…]: runs a program without and with the shim, under one schedule of the simulated driver
   after another, and compares output (both streams as they came) and exit status. Bats suites use it, since a shell
   starts several processes for what is one here. It knows nothing of the shim but what the options say.

     -s SCHEDULE       the schedules, in this order (one at least)
     -o SETTINGS       further settings of the simulated driver, in both runs
     -v SETTINGS       again with these in the run with the shim only, once for each -v, instead of the run without any
     -p NAME=VALUE     an environment variable of the run without the shim
     -x NAME=VALUE     an environment variable of the run with it
     -r FROM TO        without the shim, arguments and KERNELS that begin with FROM begin with TO
     -i TEXT           lines with this text are not compared
     -w STATUS         the status that both must have
     -c PATTERN        files that are removed before each run with the shim
     -l FILE           gets the last run's output, after a line with its status
     -t SECONDS        what each run may take (60): then SIGTERM, five seconds later SIGKILL, and it is different

   A process that died of a signal has the status 128 + the signal. Of the settings after -v no more are tried after
   five differences, or one run that took too long. Exit status: 0 the same, 1 different, 2 wrong usage.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

struct list {
    char **items; /* ends with NULL once anything was added */
    size_t count;
};

struct outcome {
    char *text;
    size_t size;
    int status;
    bool late;
};

static struct list schedules, variations, plain_env, shim_env, ignored;
static const char *settings = "", *from, *to, *stale, *last;
static int wanted = -1, seconds = 60;

static _Noreturn void give_up(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("both: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(2);
}

static void *checked(void *memory)
{
    if (!memory)
        give_up("out of memory");
    return memory;
}

static void add(struct list *list, char *item)
{
    list->items = checked(realloc(list->items, (list->count + 2) * sizeof(*list->items)));
    list->items[list->count++] = item;
    list->items[list->count] = NULL;
}

static char *text_of(const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        give_up("out of memory");
    va_end(arguments);
    return text;
}

static double now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

/* The text, with FROM at its beginning replaced. */
static char *replaced(char *text)
{
    return from && strncmp(text, from, strlen(from)) == 0 ? text_of("%s%s", to, text + strlen(from)) : text;
}

/* Sets or replaces one variable. */
static void set_variable(struct list *environment, char *variable)
{
    size_t name = (size_t)(strchr(variable, '=') - variable) + 1;
    for (size_t i = 0; i < environment->count; i++) {
        if (strncmp(environment->items[i], variable, name) == 0) {
            environment->items[i] = variable;
            return;
        }
    }
    add(environment, variable);
}

/* Reads until all that write have ended. False when that takes too long. */
static bool read_all(int end, pid_t child, struct outcome *outcome)
{
    double limit = now() + seconds;
    int told = 0;
    for (;;) {
        struct pollfd wait = {.fd = end, .events = POLLIN};
        int ready = poll(&wait, 1, limit > now() ? (int)((limit - now()) * 1000) + 1 : 0);
        if (ready < 0 && errno != EINTR)
            give_up("poll: %s", strerror(errno));
        if (ready == 0 && told == 2)
            return false; /* somebody else has the pipe: a process group of its own */
        if (ready == 0) {
            kill(-child, told ? SIGKILL : SIGTERM);
            told++;
            limit = now() + 5;
        }
        if (ready <= 0)
            continue;
        outcome->text = checked(realloc(outcome->text, outcome->size + 65536));
        ssize_t got = read(end, outcome->text + outcome->size, 65536);
        if (got < 0 && errno != EINTR)
            give_up("read: %s", strerror(errno));
        if (got == 0)
            return told == 0;
        outcome->size += got > 0 ? (size_t)got : 0;
    }
}

static struct outcome run(char **arguments, const struct list *environment)
{
    struct outcome outcome = {0};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int ends[2], status;
    pid_t child;
    if (pipe2(ends, O_CLOEXEC) != 0)
        give_up("pipe: %s", strerror(errno));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    int code = posix_spawnp(&child, arguments[0], &actions, &attributes, arguments, environment->items);
    if (code != 0)
        give_up("%s: %s", arguments[0], strerror(code));
    close(ends[1]);
    bool in_time = read_all(ends[0], child, &outcome);
    close(ends[0]);
    /* a program may close its output and go on */
    struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, child, 0), .events = POLLIN};
    if (end.fd >= 0 && poll(&end, 1, in_time ? seconds * 1000 : 5000) == 0) {
        in_time = false;
        kill(-child, SIGKILL);
    }
    close(end.fd);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    outcome.late = !in_time;
    if (outcome.late)
        outcome.status = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? 137 : 124;
    else
        outcome.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return outcome;
}

/* One run under this schedule; variation: the driver's settings for it alone. */
static struct outcome run_one(char **arguments, bool with_shim, const char *schedule, const char *variation)
{
    struct list environment = {0}, command = {0};
    const struct list *own = with_shim ? &shim_env : &plain_env;
    for (char **variable = environ; *variable; variable++)
        add(&environment, *variable);
    for (size_t i = 0; i < own->count; i++)
        set_variable(&environment, own->items[i]);
    set_variable(&environment, text_of("AUTOGRAPH_SIM=schedule=%s%s%s%s%s", schedule, *settings ? "," : "", settings,
                                       *variation ? "," : "", variation));
    const char *kernels = getenv("KERNELS");
    if (!with_shim && kernels)
        set_variable(&environment, text_of("KERNELS=%s", replaced(text_of("%s", kernels))));
    for (char **argument = arguments; *argument; argument++)
        add(&command, with_shim ? *argument : replaced(*argument));
    if (with_shim && stale) {
        glob_t files;
        if (glob(stale, 0, NULL, &files) == 0) {
            for (size_t i = 0; i < files.gl_pathc; i++)
                unlink(files.gl_pathv[i]);
            globfree(&files);
        }
    }
    struct outcome outcome = run(command.items, &environment);
    free(environment.items);
    free(command.items);
    return outcome;
}

/* The next line that is compared, or NULL; *at moves on. */
static const char *next_line(const struct outcome *outcome, size_t *at, size_t *length)
{
    while (*at < outcome->size) {
        const char *line = outcome->text + *at;
        const char *end = memchr(line, '\n', outcome->size - *at);
        bool left_out = false;
        *length = end ? (size_t)(end - line) + 1 : outcome->size - *at;
        *at += *length;
        for (size_t i = 0; i < ignored.count; i++)
            left_out = left_out || memmem(line, *length, ignored.items[i], strlen(ignored.items[i]));
        if (!left_out)
            return line;
    }
    *length = 0;
    return NULL;
}

static bool same_text(const struct outcome *a, const struct outcome *b)
{
    size_t at_a = 0, at_b = 0;
    for (;;) {
        size_t length_a, length_b;
        const char *line_a = next_line(a, &at_a, &length_a), *line_b = next_line(b, &at_b, &length_b);
        if (!line_a && !line_b)
            return true;
        if (!line_a || !line_b || length_a != length_b || memcmp(line_a, line_b, length_a) != 0)
            return false;
    }
}

static void show(const char *schedule, const char *variation, const char *way, const struct outcome *outcome)
{
    printf("%s%s%s: %s (%d): ", schedule, *variation ? ", " : "", variation, way, outcome->status);
    fwrite(outcome->text, 1, outcome->size, stdout);
    if (!outcome->size || outcome->text[outcome->size - 1] != '\n')
        putchar('\n');
}

/* Both runs under one schedule, the one with the shim for each variation. True when all is the same. */
static bool compare(char **arguments, const char *schedule)
{
    bool same = true;
    unsigned different = 0;
    struct outcome plain = run_one(arguments, false, schedule, "");
    show(schedule, "", "plain", &plain);
    for (size_t i = 0; i < (variations.count ? variations.count : 1); i++) {
        const char *variation = variations.count ? variations.items[i] : "";
        struct outcome shimmed = run_one(arguments, true, schedule, variation);
        bool status = plain.status == shimmed.status && !plain.late && !shimmed.late &&
                      (wanted < 0 || shimmed.status == wanted);
        bool text = same_text(&plain, &shimmed);
        if (!variations.count || !status || !text)
            show(schedule, variation, "shim", &shimmed);
        if (!status)
            printf("%s: exit status %d without, %d with the shim\n", schedule, plain.status, shimmed.status);
        if (!text)
            printf("%s: the output differs\n", schedule);
        if ((!status || !text) && ++different == 5)
            i = variations.count; /* that says enough */
        if (plain.late || shimmed.late)
            i = variations.count; /* nor wait for each */
        same = same && status && text;
        FILE *file = last ? fopen(last, "w") : NULL;
        if (last && (!file || fprintf(file, "%d\n", shimmed.status) < 0 ||
                     fwrite(shimmed.text, 1, shimmed.size, file) != shimmed.size || fclose(file) != 0))
            give_up("%s cannot be written", last);
        free(shimmed.text);
    }
    free(plain.text);
    return same;
}

static int number(const char *text)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (end == text || *end || value < 0 || value > 100000)
        give_up("'%s' is no number", text);
    return (int)value;
}

int main(int argc, char **argv)
{
    int option, status = 0;
    while ((option = getopt(argc, argv, "+s:o:v:p:x:r:i:w:c:l:t:")) != -1) {
        if ((option == 'p' || option == 'x') && !strchr(optarg, '='))
            give_up("'%s' is not NAME=VALUE", optarg);
        switch (option) {
        case 's':
            add(&schedules, optarg);
            break;
        case 'o':
            settings = optarg;
            break;
        case 'v':
            add(&variations, optarg);
            break;
        case 'p':
            add(&plain_env, optarg);
            break;
        case 'x':
            add(&shim_env, optarg);
            break;
        case 'r':
            from = optarg;
            if (optind >= argc)
                give_up("-r takes two texts");
            to = argv[optind++];
            break;
        case 'i':
            add(&ignored, optarg);
            break;
        case 'w':
            wanted = number(optarg);
            break;
        case 'c':
            stale = optarg;
            break;
        case 'l':
            last = optarg;
            break;
        case 't':
            seconds = number(optarg);
            break;
        default:
            return 2;
        }
    }
    if (optind >= argc || !schedules.count)
        give_up("a schedule and a program are needed; see the head of tests/lib/both.c");
    for (size_t i = 0; i < schedules.count; i++) {
        if (!compare(argv + optind, schedules.items[i]))
            status = 1;
        fflush(stdout);
        if (status)
            break;
    }
    return status;
}
