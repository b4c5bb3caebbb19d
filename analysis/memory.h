/* What a piece of device memory held: pieces and their hashes, and the files in which the shim writes them.
 *
 * Knows bytes, not where they come from. Pure; no state. `autograph verify --memory` compares such files
 * (tools/memory.h).
 */
#ifndef AG_ANALYSIS_MEMORY_H
#define AG_ANALYSIS_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* An allocation is hashed in pieces of 2^shift bytes, the last one shorter: small ones, so that a few bytes which
 * differ in every run keep little else from being compared, but never more than this many. */
#define AG_MEMORY_PIECE_SHIFT 9u
#define AG_MEMORY_PIECES_MAX 16384u

/* The shift for an allocation of this many bytes. */
unsigned ag_memory_shift(uint64_t bytes);

/* How many pieces it has then; 0 bytes have none. */
uint64_t ag_memory_pieces(uint64_t bytes, unsigned shift);

/* A hash that continues one, 0 at the beginning. Equal bytes in other portions may give another hash, unless each
 * portion but the last is a multiple of 32 bytes. */
uint64_t ag_memory_hash(uint64_t hash, const void *bytes, size_t size);

/* ---- files: a header, then records, in the byte order of the machine ---- */

#define AG_MEMORY_MAGIC "AGMEMRY"
#define AG_MEMORY_VERSION 1u
#define AG_MEMORY_BYTE_ORDER 0x01020304u

struct ag_memory_header {
    char magic[8];
    uint32_t version;
    uint32_t byte_order;
    uint64_t began_ns; /* when the process began, by the machine's clock: orders the processes of a run */
};

enum ag_memory_kind {
    AG_MEMORY_END, /* no allocation: the file is complete */
    AG_MEMORY_ALLOCATED,
    AG_MEMORY_POOLED,
    AG_MEMORY_MANAGED,
    AG_MEMORY_MAPPED,
    AG_MEMORY_VARIABLE, /* of a module or library; has a name */
    AG_MEMORY_KINDS
};

/* When the contents were read. */
enum ag_memory_when {
    AG_MEMORY_FREED,
    AG_MEMORY_CONTEXT, /* its context ended */
    AG_MEMORY_CODE,    /* its module or library was unloaded */
    AG_MEMORY_EXIT,
    AG_MEMORY_WHENS
};

/* Whether they could be read. */
enum ag_memory_state {
    AG_MEMORY_READ,
    AG_MEMORY_CAPTURE, /* a capture was under way, or the thread was inside a host function */
    AG_MEMORY_BUSY,    /* the stream in which it was freed did not get there for long */
    AG_MEMORY_FAILED,  /* the driver refused, or memory was short */
    AG_MEMORY_UNSEEN,  /* it had ended unseen: its address was given out again */
    AG_MEMORY_STATES
};

/* Followed by the hashes of its pieces when it was read, then the name with its zero byte. */
struct ag_memory_record {
    uint64_t size; /* bytes of the record with all that follows, a multiple of 8 */
    uint16_t kind, when, state, shift;
    uint32_t thread;  /* a number of the allocating thread, from 1 on */
    uint32_t ordinal; /* its so many-th allocation */
    uint64_t bytes;   /* of the allocation */
    uint64_t pieces;  /* hashes that follow */
};

#endif
