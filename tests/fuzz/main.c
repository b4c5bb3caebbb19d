/* fuzz-run: runs fuzz programs in this process; tests/fuzz/run compares such processes.
 *
 *   fuzz-run FIRST COUNT [LOG] programs of the seeds from FIRST on; one line each: "SEED DIGEST OPS UNEXPECTED"; before
 *                              the line of seed LOG its whole log
 *   fuzz-run --replay FILE     one program from its text (- is stdin), with its whole log
 *   fuzz-run --log SEED        the same for a seed
 *   fuzz-run --print SEED      the text of a seed's program
 *   fuzz-run --census COUNT    what the programs of the seeds from 1 on consist of: operations by kind, launches by
 * form fuzz-run --settle FILE     the text without the operations that the model refuses
 *   --dlsym (first)            functions by dlsym instead of cuGetProcAddress
 */
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int usage(void)
{
    fprintf(stderr, "usage: fuzz-run [--dlsym] FIRST COUNT [LOG] | --replay FILE | --log SEED | --print SEED | "
                    "--census COUNT | --settle FILE\n");
    return 2;
}

static bool number(const char *text, uint64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return !errno && end != text && !*end && *text != '-';
}

static bool open_executor(bool by_dlsym)
{
    char folder[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", folder, sizeof(folder) - 1);
    char *slash = length > 0 ? (folder[length] = 0, strrchr(folder, '/')) : NULL;
    if (!slash)
        return false;
    *slash = 0;
    return fuzz_execute_open(folder, by_dlsym);
}

static int run_one(struct fuzz_program *program, bool by_dlsym)
{
    size_t dropped = fuzz_program_settle(program);
    if (!open_executor(by_dlsym))
        return 2;
    struct fuzz_outcome outcome = fuzz_execute(program, stdout);
    printf("digest %016llx operations %zu refused %zu unexpected %u\n", (unsigned long long)outcome.digest, program->n,
           dropped, outcome.unexpected);
    fuzz_program_drop(program);
    return 0;
}

static int run_many(uint64_t first, uint64_t count, const char *log, bool by_dlsym)
{
    uint64_t shown = 0;
    if (!first || !count || count > UINT64_MAX - first || (log && !number(log, &shown)))
        return usage();
    if (!open_executor(by_dlsym))
        return 2;
    for (uint64_t seed = first; seed < first + count; seed++) {
        struct fuzz_program program;
        fuzz_generate(seed, &program);
        struct fuzz_outcome outcome = fuzz_execute(&program, log && seed == shown ? stdout : NULL);
        printf("%llu %016llx %zu %u\n", (unsigned long long)seed, (unsigned long long)outcome.digest, program.n,
               outcome.unexpected);
        fflush(stdout);
        fuzz_program_drop(&program);
    }
    return 0;
}

/* One line a kind: how many there are, and in how many programs. */
static int census(uint64_t count)
{
    enum {
        THREADED,
        CAPTURES,
        HOWS = CAPTURES + 1,
        ATTRS = HOWS + FUZZ_LAUNCHES,
        CODES = ATTRS + 8,
        SHAPES = CODES + 2,
        COPIES = SHAPES + 4,
        SETS = COPIES + FUZZ_COPIES,
        LIMITS = SETS + FUZZ_SETS,
        KINDS = LIMITS + FUZZ_LIMITS
    };
    enum { MEMORY = KINDS + FUZZ_KINDS, ALL = MEMORY + FUZZ_MEMORIES };
    static const char *const names[KINDS] = {"threaded programs",
                                             "captures in threaded programs",
                                             "launch",
                                             "launch extra",
                                             "launch Ex",
                                             "launch cooperative",
                                             "attr cluster",
                                             "attr priority",
                                             "attr overlap",
                                             "attr not cooperative",
                                             "attr cooperative",
                                             "attr completion event",
                                             "attr program event",
                                             "attr cluster in y",
                                             "launch of a library's kernel",
                                             "launch of loaded code",
                                             "launch with grid y",
                                             "launch with grid z",
                                             "launch with block y",
                                             "launch with block z",
                                             "copy async",
                                             "copy async typed",
                                             "copy async 2D",
                                             "copy async peer",
                                             "copy",
                                             "copy typed",
                                             "copy 2D",
                                             "copy 2D unaligned",
                                             "copy async 3D",
                                             "copy 3D",
                                             "copy peer",
                                             "memset async",
                                             "memset",
                                             "memset async 2D",
                                             "memset 2D",
                                             "limit of through_shared set",
                                             "limit of through_room set"};
    static const char *const memories[] = {"device", "pool", "pinned", "registered", "managed", "pageable"};
    unsigned long total[ALL] = {0}, programs[ALL] = {0};
    for (uint64_t seed = 1; seed <= count; seed++) {
        struct fuzz_program program;
        unsigned long before[ALL];
        bool threaded = false;
        memcpy(before, total, sizeof(before));
        fuzz_generate(seed, &program);
        for (size_t i = 0; i < program.n; i++)
            threaded = threaded || program.ops[i].thread;
        total[THREADED] += threaded;
        for (size_t i = 0; i < program.n; i++) {
            const struct fuzz_op *op = &program.ops[i];
            total[KINDS + op->kind]++;
            total[CAPTURES] += threaded && op->kind == FUZZ_capture_begin;
            if (op->kind == FUZZ_buf_new)
                total[MEMORY + op->a[1]]++;
            if (op->kind == FUZZ_func_attr && op->a[1] == 0)
                total[LIMITS + op->a[3]]++;
            if (op->kind == FUZZ_copy)
                total[COPIES + op->a[4]]++;
            if (op->kind == FUZZ_set)
                total[SETS + op->a[5]]++;
            if (op->kind != FUZZ_launch)
                continue;
            total[HOWS + op->a[9]]++;
            for (int bit = 0; bit < 8; bit++)
                total[ATTRS + bit] += op->a[10] >> bit & 1;
            for (int d = 1; d < 3; d++) {
                total[SHAPES + d - 1] += fuzz_grid(op, d) > 1;
                total[SHAPES + d + 1] += fuzz_block(op, d) > 1;
            }
            if (op->a[1])
                total[CODES + (op->a[1] > 1)]++;
        }
        for (int i = 0; i < ALL; i++)
            programs[i] += total[i] != before[i];
        fuzz_program_drop(&program);
    }
    for (int i = 0; i < ALL; i++)
        printf("%-30s %9lu in %lu programs\n",
               i < KINDS    ? names[i]
               : i < MEMORY ? fuzz_op_name((enum fuzz_kind)(i - KINDS))
                            : memories[i - MEMORY],
               total[i], programs[i]);
    return 0;
}

int main(int argc, char **argv)
{
    struct fuzz_program program;
    uint64_t first, count;
    setenv("AUTOGRAPH_SIM", "devices=2", 0);
    /* what is freed is needed again soon: none of it goes back to the system */
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
    mallopt(M_TOP_PAD, 1 << 20);
    mallopt(M_MMAP_THRESHOLD, 16 << 20);
    bool by_dlsym = argc > 1 && !strcmp(argv[1], "--dlsym");
    argv += by_dlsym;
    argc -= by_dlsym;
    if (argc < 3 || argc > 4)
        return usage();
    const char *what = argv[1];
    if (number(what, &first))
        return number(argv[2], &count) ? run_many(first, count, argv[3], by_dlsym) : usage();
    if (argc == 4)
        return usage();
    if (!strcmp(what, "--replay") || !strcmp(what, "--settle")) {
        if (!fuzz_program_read(&program, argv[2]))
            return 2;
        if (!strcmp(what, "--replay"))
            return run_one(&program, by_dlsym);
        fuzz_program_settle(&program);
    } else if (number(argv[2], &first) &&
               (!strcmp(what, "--log") || !strcmp(what, "--print") || !strcmp(what, "--census"))) {
        if (!strcmp(what, "--census"))
            return census(first);
        fuzz_generate(first, &program);
        if (!strcmp(what, "--log"))
            return run_one(&program, by_dlsym);
    } else {
        return usage();
    }
    fuzz_program_print(&program, stdout);
    fuzz_program_drop(&program);
    return 0;
}
