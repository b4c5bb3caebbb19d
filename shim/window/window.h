/* Windows: the held ops of one stream, and how they are submitted.
 *
 * A launch becomes an op (ag_window_hold_*), the op joins its stream's window, the window is cut into chunks, a chunk
 * is looked up in the window's book and launched as a graph. Windows are found by (context, stream); the memory of a
 * window is never freed, only recycled, so that a stale pointer can be checked under its lock.
 *
 * Thread rule: any thread. A window has two locks. Who holds `lock` adds ops; who also holds `submitting` submits them.
 * `submitting` is held while the driver takes them, since nothing else keeps their order. The thread that submits
 * chunks on behalf of others (window/submitter.h) takes it alone, so that ops can be added meanwhile; every other
 * thread takes it under `lock`.
 */
#ifndef AG_SHIM_WINDOW_WINDOW_H
#define AG_SHIM_WINDOW_WINDOW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "analysis/book.h"
#include "analysis/cut.h"
#include "analysis/effort.h"
#include "analysis/handover.h"
#include "analysis/stall.h"
#include "analysis/template.h"
#include "analysis/token.h"
#include "shim/base/cuda.h"
#include "shim/base/lock.h"
#include "shim/base/stats.h"
#include "shim/graph/graph.h"

#define AG_WINDOWS_MAX 4096
#define AG_SITE_CACHE 256

/* Ops in their order, of which the first `submitted` are with the driver already. */
struct ag_held {
    unsigned length, submitted;
    uint32_t used;           /* bytes of records, */
    uint32_t submitted_used; /* and of the submitted ones */
    uint32_t capacity;       /* bytes of the records' buffer */
    unsigned char *records;
    const struct ag_token *tokens[AG_CHUNK_MAX];
};

/* Why a window is open. */
enum { AG_OPEN_HELD = 1, AG_OPEN_HANDED = 2 };

struct ag_window {
    struct ag_lock lock;
    /* identity; constant while in use */
    _Atomic(CUcontext) ctx;
    _Atomic(CUstream) stream; /* CU_STREAM_LEGACY for the legacy default stream */
    /* blocking: takes part in the legacy stream's order. Read without the lock by who looks for windows to flush */
    atomic_bool legacy, blocking;
    bool holdable;
    CUdevice device;
    struct ag_target target;
    atomic_uint open;            /* some op is not with the driver yet: AG_OPEN_ bits */
    atomic_bool stale;           /* the code behind the tokens changed */
    atomic_bool pinned;          /* some token is a copy from pinned host memory */
    atomic_uint progress;        /* changes with every op; the watchdog looks at it, */
    atomic_uint submissions;     /* and at this, which changes whenever held ops are submitted */
    struct ag_held held;         /* the open chunk */
    _Atomic(const void *) owner; /* the thread that added the last op; no barriers */
    struct ag_cutter cutter;
    struct ag_stalls stalls;
    struct ag_cut_params cut;
    struct ag_token_table table;
    struct ag_token *cache[AG_SITE_CACHE];
    struct ag_stats stats;
    /* under `submitting` */
    struct ag_lock submitting;
    struct ag_held handed;             /* a whole chunk that is left to the submitter; comes before `held` */
    struct ag_handover handover;       /* its post_us belongs to `lock` */
    bool handed_over;                  /* the fate of the last chunk that was handed over is not noted yet */
    uint32_t past_held, past_replayed; /* of such chunks, until their thread has noted them */
    struct ag_window *next_posted;     /* these two are submitter.c's */
    bool is_posted;
    struct ag_book book;
    struct ag_templates templates;
    _Atomic size_t graph_bytes; /* estimated device memory of its graphs; anyone reads it */
    struct ag_stats submit_stats;
};

/* No ops; the buffer is kept. */
void ag_held_clear(struct ag_held *held);

/* Windows in use or recycled; entries 0 .. ag_window_count-1 are valid for ever. */
extern struct ag_window *ag_windows[AG_WINDOWS_MAX];
extern atomic_uint ag_window_count;

/* Windows with held ops: when 0, there is nothing to flush. */
extern atomic_uint ag_window_open;

/* Program captures under way: while not 0, nothing is held. */
extern atomic_int ag_window_captures;

/* The driver's refusal of a held op that the program has not been told yet; 0 when none. Set by ag_window_defer(). */
extern atomic_int ag_window_deferred;

/* Set while the thread is inside a host function or callback of the program that the shim knows of (hook/host.c): it
 * waits for no lock here, and what it is asked to flush, forget or enter is left alone when another thread is at it. */
extern _Thread_local __attribute__((tls_model("initial-exec"))) bool ag_window_inside;

/* Why nothing may be held in this process (an AG_BYPASS_ value), or 0. It is AG_BYPASS_early until the library has
 * begun: a library that was loaded with the program may launch in its constructor, before ours ran. Then it is
 * undecided until the first op could be held, since only then the driver is certain to be there and can be judged. */
#define AG_BYPASS_UNDECIDED (-1)
extern atomic_int ag_window_bypass;

/* From now on nothing is held in this process, for this reason; false when there was another one already, other than
 * a span of AUTOGRAPH_ALTERNATE_MS. */
bool ag_window_stop(enum ag_stat why);

/* The window of a stream in the calling thread's current context, made at first sight. ptsz: stream 0 is the thread's
 * own. NULL: the stream cannot be held. The window comes with `lock` held: to add ops, and no more. */
struct ag_window *ag_window_enter(CUstream stream, bool ptsz);

/* Submits what is held, and before it what was handed over. The caller has both locks. cut: the program's own calls
 * caused it, at a place that comes back with the same content, so the cutter starts anew; else the next chunk ends
 * where it would have ended anyhow. Returns the first code of an op that the driver refused. */
CUresult ag_window_submit(struct ag_window *window, enum ag_stat reason, bool cut);

/* What to do about a window that another thread is at work in. That thread may be blocked inside the driver, behind a
 * full queue that only drains once the caller goes on; a call that would wait for the device itself may wait for it,
 * any other may not. */
enum ag_patience {
    AG_WAIT_NO,   /* leave it alone: the thread makes progress by itself */
    AG_WAIT_SOME, /* wait as long as a submission takes that is not blocked, then leave it alone */
    AG_WAIT_LONG, /* the same, also if its thread gets no processor: what is held must not meet what is set next */
    AG_WAIT_YES
};

/* Flushes one window of any context. Returns whether anything was held. */
bool ag_window_flush(struct ag_window *window, enum ag_stat reason, enum ag_patience patience);

/* Takes both of the window's locks; false when patience ran out. Inside a host function there is none. What another
 * thread submits for the calling one is waited for as long as it takes, as it would have waited in its own launch: the
 * submitter's work on its chunk in any case, all other where AG_WAIT_LONG is given. At exit it is not, since the
 * calling thread may have been interrupted with the lock by the signal whose handler ends the process. */
bool ag_window_lock(struct ag_window *window, enum ag_patience patience);
void ag_window_unlock(struct ag_window *window);

/* Takes `submitting` as well; the caller has `lock`. False when patience ran out. */
bool ag_window_lock_more(struct ag_window *window, enum ag_patience patience);

/* Submits what was handed over, if it still waits. The caller has `submitting`, the window's context is current. An
 * error is told later. False when the driver takes nothing just now. */
bool ag_window_submit_handed(struct ag_window *window);

/* Hands over what is held, all of it a chunk. The caller has both locks; nothing is handed over yet. */
void ag_window_hand_over(struct ag_window *window);

/* Adds an op whose record was written at ag_window_record(). held: false when the driver has it already. Returns the
 * code to give to the program. The caller has `lock` alone. */
CUresult ag_window_add(struct ag_window *window, const struct ag_token *token, bool held);

/* Whether the calling thread's next op is passed at once, because holding its work has not paid. */
bool ag_window_rests(void);

/* Room for a record of this size at the window's end; NULL when memory is short or the window is full. The caller has
 * the lock. */
unsigned char *ag_window_record(struct ag_window *window, uint32_t size);

/* Forgets the window of a stream, or every window (ctx and stream NULL), or every window of a context. Flushed before.
 */
void ag_window_forget(CUcontext ctx, CUstream stream);

/* Drops all chunks, instances and tokens everywhere, keeping the windows: code was unloaded or its meaning changed. A
 * window that is busy beyond patience drops them when it is entered the next time. */
void ag_window_forget_code(enum ag_patience patience);

/* Before code ends with its module or library: drops what is made of its functions, and of those whose owner is not
 * known. Waits for threads that are at work in a window. */
void ag_window_forget_owner(const void *owner);

/* Before host memory ends being pinned: frees the graphs that copy from host memory. A copy node may have resolved its
 * source when it was set (the device's address of registered memory differs from the host's on some machines), so it
 * must not run again as it is, also when the same address is pinned once more. Other windows are not touched. Waits for
 * threads that are at work in one. */
void ag_window_forget_pinned(void);

/* In a forked child: no window is known any more, and no lock is taken. */
void ag_window_after_fork(void);

/* Notes a code that the driver has answered: after some of them nothing more may be held. */
void ag_window_note(CUresult result);

/* The same for a submission that no call of the program's may answer for: a later call tells the code. One that stays
 * is the driver's to tell, which does so in calls on that context and in no others: the program may be in another one,
 * or have been told already and be about to end it. */
void ag_window_defer(CUresult result);

void ag_window_collect(struct ag_stats *total);

/* The watchdog's thread; started with the first held op. False when there is none: nothing may be held. */
bool ag_watchdog_wake(void);

/* Starts a thread of the shim's own, detached, with every signal blocked. */
bool ag_window_start_thread(void *(*run)(void *));

/* A value that is this thread's own. */
const void *ag_window_thread(void);

#endif
