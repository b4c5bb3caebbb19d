/* What the model's parts share. */
#ifndef FUZZ_MODEL_WORK_H
#define FUZZ_MODEL_WORK_H

#include "tests/fuzz/model.h"

#define TRY(verdict)                                                                                                   \
    do {                                                                                                               \
        enum fuzz_verdict verdict_ = (verdict);                                                                        \
        if (verdict_)                                                                                                  \
            return verdict_;                                                                                           \
    } while (0)
#define NEED(condition) TRY((condition) ? FUZZ_LEGAL : FUZZ_WRONG)

static inline bool fuzz_slot(int index, int count)
{
    return index >= 0 && index < count;
}

/* What one piece of work touches: bit sets of buffers and codes. */
struct fuzz_effect {
    uint32_t reads, writes, codes;
    int fills;                                           /* a buffer that gets a value in every word, or -1 */
    enum { FUZZ_HOME, FUZZ_PEERS, FUZZ_ANYWHERE } reach; /* device memory of which contexts */
};

void fuzz_join(struct fuzz_clock *to, const struct fuzz_clock *from);
bool fuzz_before(const struct fuzz_clock *a, const struct fuzz_clock *b);
/* Whether a question about this work has one answer: the thread has waited for it. */
bool fuzz_over(const struct fuzz_model *m, int thread, const struct fuzz_clock *done);
/* The thread sees what the last work of an entity wrote. */
void fuzz_glimpse(struct fuzz_model *m, int thread, int entity, const struct fuzz_clock *done);
/* The thread waits for all work of a stream. */
void fuzz_await(struct fuzz_model *m, int thread, int stream);
bool fuzz_ordered(struct fuzz_model *m, int thread, const struct fuzz_use *use, bool alone);
enum fuzz_verdict fuzz_may_use(struct fuzz_model *m, int thread, const struct fuzz_use *use, bool alone);
void fuzz_used(struct fuzz_model *m, int thread, struct fuzz_use *use);
/* Whether the thread may submit to the stream of this index; `done`: what is done before the work, and the work. */
enum fuzz_verdict fuzz_ready(struct fuzz_model *m, int thread, int stream, struct fuzz_clock *done);
void fuzz_submit(struct fuzz_model *m, int thread, int stream, const struct fuzz_clock *done);
/* Whether an access to a buffer is ordered after those before it. */
enum fuzz_verdict fuzz_access(struct fuzz_model *m, int buffer, bool write, const struct fuzz_clock *done);
void fuzz_accessed(struct fuzz_model *m, int buffer, bool write, int entity, uint32_t at);
/* Submits work; `before`: what its stream had done before it, when asked for. */
enum fuzz_verdict fuzz_work(struct fuzz_model *m, int t, int s, const struct fuzz_effect *effect,
                            struct fuzz_clock *before);
enum fuzz_verdict fuzz_model_work(struct fuzz_model *m, struct fuzz_op *op);

/* model_odd.c */
enum fuzz_verdict fuzz_model_odd(struct fuzz_model *m, struct fuzz_op *op);

/* model_graph.c */
enum fuzz_verdict fuzz_model_capture(struct fuzz_model *m, const struct fuzz_op *op);
enum fuzz_verdict fuzz_model_fork(struct fuzz_model *m, const struct fuzz_op *op);
enum fuzz_verdict fuzz_model_graph(struct fuzz_model *m, const struct fuzz_op *op);
/* Memory that executable graphs take of a device at most. */
int fuzz_graphs_kb(const struct fuzz_model *m);
bool fuzz_may_block(const struct fuzz_model *m, const struct fuzz_op *op);
bool fuzz_in_capture(const struct fuzz_op *op);

#endif
