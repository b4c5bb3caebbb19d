/* fuzz-run: runs fuzz programs in this process; tests/fuzz/run compares such processes.
 *
 *   fuzz-run FIRST COUNT [LOG] programs of the seeds from FIRST on; one line each: "SEED DIGEST OPS UNEXPECTED"; before
 *                              the line of seed LOG its whole log
 *   fuzz-run --replay FILE     one program from its text (- is stdin), with its whole log
 *   fuzz-run --log SEED        the same for a seed
 *   fuzz-run --print SEED      the text of a seed's program
 *   fuzz-run --settle FILE     the text without the operations that the model refuses
 *   --dlsym (first)            functions by dlsym instead of cuGetProcAddress
 */
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int usage(void)
{
    fprintf(stderr, "usage: fuzz-run [--dlsym] FIRST COUNT [LOG] | --replay FILE | --log SEED | --print SEED | "
                    "--settle FILE\n");
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
    if (log && !number(log, &shown))
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

int main(int argc, char **argv)
{
    struct fuzz_program program;
    uint64_t first, count;
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
    } else if (number(argv[2], &first) && (!strcmp(what, "--log") || !strcmp(what, "--print"))) {
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
