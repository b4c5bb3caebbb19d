/* The vocabulary of the project, defined once, and the op.
 *
 *   launch    one call of the program that submits work: a kernel launch, a memset or a copy
 *   op        a launch as the engine sees it: a token and a record
 *   token     what must be equal for two ops to be the same kind of work: kind, function, launch attributes, block
 *             shape. Interned: two ops are alike exactly when their token pointers are equal
 *   record    everything that may be patched: grid, shared memory and argument bytes of a kernel; destination, value
 *             and size of a memset; both addresses and the size of a copy. Its size depends on the token alone
 *   window    the ops of one stream that were accepted from the program and are not yet submitted (held)
 *   cut       the decision that the op just added is the last of its chunk
 *   chunk     a sequence of tokens that came back; the unit that is looked up and launched
 *   instance  an executable graph of a chunk together with the records that it holds at present
 *   patch     writing another record into a node of an instance
 *   retarget  patching a node with another function than the one it was built for
 *   flush     submitting a window early because something else must come after its ops
 *
 * analysis/ knows nothing of CUDA, does no I/O, takes no locks and has no global state: every structure belongs to its
 * caller, who calls from one thread at a time. Functions that can fail return 0 or a negative errno value.
 */
#ifndef AG_ANALYSIS_OP_H
#define AG_ANALYSIS_OP_H

#include <stddef.h>
#include <stdint.h>

enum ag_op_kind { AG_OP_KERNEL, AG_OP_MEMSET, AG_OP_COPY };

/* The longest chunk, in ops. A window never holds more. */
#define AG_CHUNK_MAX 64

/* Records are padded to this many bytes, so that a chunk's records can be compared as one block. */
#define AG_RECORD_ALIGN 8u

static inline uint32_t ag_record_round(size_t bytes)
{
    return (uint32_t)((bytes + AG_RECORD_ALIGN - 1) & ~(size_t)(AG_RECORD_ALIGN - 1));
}

/* A 64-bit mixing step (the finaliser of SplitMix64). */
static inline uint64_t ag_mix64(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* A hash of bytes that serves as a hint only: whatever it finds is compared byte for byte afterwards. */
uint64_t ag_hash_bytes(const void *bytes, size_t size);

/* The same for a record: of a large one, only samples are looked at. */
uint64_t ag_hash_record(const void *bytes, size_t size);

#endif
