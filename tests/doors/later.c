/* Driver functions that the hook table does not list. Usage: later HOW [NAME]; prints what it saw, the same in every
 * run. NAME: under which name to ask for the function that reads. */
#include "tests/doors/work.h"
#include "tests/sim/unlisted.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct work_driver driver = {
#define WORK_LINKED(symbol, api, params) .symbol = symbol,
        WORK_FUNCTIONS(WORK_LINKED)
#undef WORK_LINKED
};

static void *look_up(const char *name)
{
    void *function = NULL;
    CUdriverProcAddressQueryResult status;
    CUresult code = cuGetProcAddress(name, &function, 13000, CU_GET_PROC_ADDRESS_DEFAULT, &status);
    if (code != CUDA_SUCCESS || function == NULL)
        printf("%s: code %d\n", name, (int)code);
    return function;
}

static const char *reader = "cuSimReadLater";
static sim_read_later *read_later;

/* Calls it with arguments that differ every time; false when they or the result did not arrive. *word: what it read. */
static bool read_word(CUdeviceptr at, unsigned n, unsigned *word)
{
    long i = (long)n;
    unsigned long long sum =
            read_later(at, word, -3 - (int)n, 7000000000 + i, 4000000000u + n, (short)(-30000 + i), -9000000000 - i,
                       (unsigned char)(250 - n), 11 + i, 0.5f + (float)n, 1e9 + (double)n, 0.25 * n);
    long whole = -3 - i + 2 * (7000000000 + i) + 3 * (4000000000 + i) + 4 * (-30000 + i) + 5 * (-9000000000 - i) +
                 6 * (long)(unsigned char)(250 - n) + 7 * (11 + i);
    return sum == (unsigned long long)whole + (unsigned long long)(8 * (0.5 + n) + 9 * (1e9 + n) + 10 * (0.25 * n));
}

/* Launches, and reads what they wrote, without any other call in between. */
static int rounds(struct work *work, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        unsigned word = 0xdeadbeef;
        if (work_round(work, i) != 0)
            return 1;
        bool right = read_word(work->data + 4 * (i % WORK_WORDS), i, &word);
        printf("%u: %08x, arguments and result %s\n", i, word, right ? "right" : "WRONG");
    }
    return 0;
}

static int in_sequence(struct work *work)
{
    void *again = NULL;
    CUdriverProcAddressQueryResult status;
    if (rounds(work, 30) != 0 ||
        cuGetProcAddress(reader, &again, 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &status) != CUDA_SUCCESS)
        return 1;
    printf("asked again: %s function\n", again == (void *)read_later ? "the same" : "another");
    return 0;
}

/* In a child of fork, whose parent goes on, and once the process ends (called_last). */
static int in_child(struct work *work)
{
    int status = 0;
    if (rounds(work, 10) != 0 || work_round(work, 10) != 0)
        return 1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        unsigned word = 7;
        bool right = read_word(work->data, 1, &word);
        printf("child: %u, arguments and result %s\n", word, right ? "right" : "WRONG");
        fflush(stdout);
        _exit(right ? 4 : 5);
    }
    waitpid(child, &status, 0);
    printf("child: status %d\n", WEXITSTATUS(status));
    return rounds(work, 10);
}

static bool last;

/* After the exit handlers, those of the shim and of the driver included. */
__attribute__((destructor)) static void called_last(void)
{
    unsigned word = 9;
    if (last)
        printf("destructor: arguments and result %s, %u\n", read_word(0, 2, &word) ? "right" : "WRONG", word);
}

/* More functions than there are stubs. */
static int numbers(struct work *work)
{
    unsigned wrong = 0, kept = 0;
    sim_number *functions[SIM_NUMBERS];
    for (int n = 0; n < SIM_NUMBERS; n++) {
        char name[32];
        snprintf(name, sizeof name, "cuSimNumber%d", n);
        if (n == 200 && rounds(work, 10) != 0)
            return 1;
        functions[n] = (sim_number *)look_up(name);
        if (functions[n] == NULL)
            return 1;
        kept += (sim_number *)look_up(name) == functions[n];
    }
    for (int n = 0; n < SIM_NUMBERS; n++)
        wrong += functions[n](1000 * n) != 1001 * n;
    printf("%u of %d wrong, %u asked for again were the same\n", wrong, SIM_NUMBERS, kept);
    return rounds(work, 10);
}

/* A function whose name says that handles end. */
static int destroys(struct work *work)
{
    sim_destroy_later *destroy = (sim_destroy_later *)look_up("cuSimDestroyLater");
    if (destroy == NULL || rounds(work, 10) != 0)
        return 1;
    if (work_round(work, 10) != 0 || work_round(work, 11) != 0)
        return 1;
    printf("destroyed: %d\n", (int)destroy());
    return rounds(work, 10);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(struct work *);
    } ways[] = {{"sequence", in_sequence}, {"child", in_child}, {"numbers", numbers}, {"destroys", destroys}};
    struct work work;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc > 2)
        reader = argv[2];
    read_later = (sim_read_later *)look_up(reader);
    if (read_later == NULL || work_open(&work, &driver) != 0)
        return 1;
    for (unsigned i = 0; i < sizeof ways / sizeof ways[0]; i++)
        if (argc > 1 && strcmp(argv[1], ways[i].name) == 0) {
            if (ways[i].run(&work) != 0 || work_print(&work, ways[i].name) != 0)
                return 1;
            last = true;
            return 0;
        }
    return 2;
}
