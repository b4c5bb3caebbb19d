/* Programs as text: one operation a line, `THREAD NAME key=value…`, after the line `program seed=N ptsz=0|1`. What
 * follows a # is ignored. */
#include "tests/fuzz/fuzz.h"

#include "tests/fuzz/model.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[FUZZ_KINDS] = {
#define FUZZ_OP(name, args) #name,
#include "tests/fuzz/ops.def"
#undef FUZZ_OP
};

static const char *const arguments[FUZZ_KINDS] = {
#define FUZZ_OP(name, args) args,
#include "tests/fuzz/ops.def"
#undef FUZZ_OP
};

const char *fuzz_op_name(enum fuzz_kind kind)
{
    return names[kind];
}

void fuzz_program_add(struct fuzz_program *program, const struct fuzz_op *op)
{
    if (program->n == program->cap) {
        program->cap = program->cap ? 2 * program->cap : 256;
        program->ops = realloc(program->ops, program->cap * sizeof(*program->ops));
        if (!program->ops) {
            fprintf(stderr, "fuzz: out of memory\n");
            exit(2);
        }
    }
    program->ops[program->n++] = *op;
}

void fuzz_program_drop(struct fuzz_program *program)
{
    free(program->ops);
    memset(program, 0, sizeof(*program));
}

void fuzz_program_print(const struct fuzz_program *program, FILE *to)
{
    fprintf(to, "program seed=%llu ptsz=%d\n", (unsigned long long)program->seed, program->ptsz);
    for (size_t i = 0; i < program->n; i++) {
        const struct fuzz_op *op = &program->ops[i];
        const char *key = arguments[op->kind];
        fprintf(to, "%d %s", op->thread, names[op->kind]);
        for (int a = 0; *key; a++) {
            int length = (int)strcspn(key, " ");
            fprintf(to, " %.*s=%d", length, key, op->a[a]);
            key += length + (key[length] == ' ');
        }
        fputc('\n', to);
    }
}

/* Index of the argument called `key` (of `length` bytes), or -1. */
static int argument(enum fuzz_kind kind, const char *key, size_t length)
{
    const char *at = arguments[kind];
    for (int a = 0; *at; a++) {
        size_t n = strcspn(at, " ");
        if (n == length && !memcmp(at, key, n))
            return a;
        at += n + (at[n] == ' ');
    }
    return -1;
}

static bool read_op(char *line, struct fuzz_op *op)
{
    char *rest = NULL, *end;
    memset(op, 0, sizeof(*op));
    char *word = strtok_r(line, " \t\n", &rest);
    op->thread = (int)strtol(word, &end, 10);
    if (*end || op->thread < 0 || op->thread >= FUZZ_THREADS)
        return false;
    word = strtok_r(NULL, " \t\n", &rest);
    int kind = 0;
    while (word && kind < FUZZ_KINDS && strcmp(word, names[kind]) != 0)
        kind++;
    if (!word || kind == FUZZ_KINDS)
        return false;
    op->kind = (enum fuzz_kind)kind;
    while ((word = strtok_r(NULL, " \t\n", &rest))) {
        size_t length = strcspn(word, "=");
        int a = argument(op->kind, word, length);
        if (a < 0 || word[length] != '=')
            return false;
        long value = strtol(word + length + 1, &end, 0);
        if (end == word + length + 1 || *end || value < INT_MIN || value > INT_MAX)
            return false;
        op->a[a] = (int)value;
    }
    return true;
}

bool fuzz_program_read(struct fuzz_program *program, const char *path)
{
    char line[512];
    unsigned number = 0;
    bool good = true, begun = false;
    FILE *from = strcmp(path, "-") ? fopen(path, "r") : stdin;
    memset(program, 0, sizeof(*program));
    if (!from) {
        fprintf(stderr, "fuzz: cannot read %s\n", path);
        return false;
    }
    while (good && fgets(line, sizeof(line), from)) {
        struct fuzz_op op;
        unsigned long long seed;
        int ptsz;
        number++;
        line[strcspn(line, "#\n")] = 0;
        if (!line[strspn(line, " \t\n")])
            continue;
        if (sscanf(line, "program seed=%llu ptsz=%d", &seed, &ptsz) == 2) {
            program->seed = seed;
            program->ptsz = ptsz;
            begun = true;
            continue;
        }
        good = begun && read_op(line, &op);
        if (good)
            fuzz_program_add(program, &op);
    }
    if (!good)
        fprintf(stderr, "fuzz: %s:%u: %s\n", path, number,
                begun ? "not an operation" : "no 'program seed=N ptsz=0|1' before it");
    else if (!(good = begun))
        fprintf(stderr, "fuzz: %s holds no program\n", path);
    if (from != stdin)
        fclose(from);
    return good;
}

size_t fuzz_program_settle(struct fuzz_program *program)
{
    int threads = 1;
    for (size_t i = 0; i < program->n; i++)
        if (program->ops[i].thread >= threads)
            threads = program->ops[i].thread + 1;
    struct fuzz_model *model = fuzz_model_new(threads);
    size_t kept = 0, n = program->n;
    for (size_t i = 0; i < n; i++)
        if (fuzz_model_apply(model, &program->ops[i]) == FUZZ_LEGAL)
            program->ops[kept++] = program->ops[i];
    program->n = kept;
    program->full = fuzz_model_full(model);
    fuzz_model_free(model);
    return n - kept;
}
