/* What generate.c and generate_odd.c share: the program under construction. */
#ifndef FUZZ_GENERATE_H
#define FUZZ_GENERATE_H

#include "tests/fuzz/model.h"

#define FUZZ_BODY 48

/* How a program orders its streams; see generate.c. */
enum fuzz_style { FUZZ_STRAIGHT, FUZZ_LINKED, FUZZ_WAITING, FUZZ_MIXED, FUZZ_VARIED, FUZZ_STYLES };

struct fuzz_gen {
    uint64_t random;
    struct fuzz_program *program;
    struct fuzz_model *model;
    int threads, tokens, gates, flags;
    enum fuzz_style style;
    struct {
        struct fuzz_op body[FUZZ_BODY];
        int length, at, iteration, iterations, main_stream;
    } loops[FUZZ_THREADS];
};

unsigned int fuzz_random(struct fuzz_gen *gen, unsigned int below);
bool fuzz_chance(struct fuzz_gen *gen, unsigned int percent);
/* Adds the operation, and before it what orders it after the work that it would race with; false: left out. */
bool fuzz_emit(struct fuzz_gen *gen, struct fuzz_op op);
#define FUZZ_EMIT(gen, thread_, kind_, ...)                                                                            \
    fuzz_emit(gen, (struct fuzz_op){.kind = FUZZ_##kind_, .thread = (thread_), .a = {__VA_ARGS__}})

/* Choices among what lives and belongs to the thread by habit; -1 when there is none. */
int fuzz_pick_stream(struct fuzz_gen *gen, int thread);
int fuzz_pick_buffer(struct fuzz_gen *gen, int thread, unsigned int kinds); /* kinds: bit set of enum fuzz_memory */
int fuzz_pick_event(struct fuzz_gen *gen, int thread);
#define FUZZ_ANY_MEMORY ((1u << FUZZ_MEMORIES) - 1)
#define FUZZ_KERNEL_MEMORY (FUZZ_ANY_MEMORY & ~(1u << FUZZ_PAGEABLE))

void fuzz_new_buffer(struct fuzz_gen *gen, int thread, int kind);
struct fuzz_op fuzz_random_launch(struct fuzz_gen *gen, int thread, int stream);
struct fuzz_op fuzz_random_work(struct fuzz_gen *gen, int thread, int stream);
/* Something that programs do now and then. */
void fuzz_odd(struct fuzz_gen *gen, int thread);

#endif
