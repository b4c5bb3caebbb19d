/* Ordering: what must be submitted before a call of the program goes on (the rules at the head of the hook table).
 *
 * Thread rule: any thread, no lock held. Nothing here calls the driver unless some window holds work.
 */
#ifndef AG_SHIM_WINDOW_ORDER_H
#define AG_SHIM_WINDOW_ORDER_H

#include "shim/window/window.h"

enum ag_scope {
    AG_SCOPE_NONE,
    AG_SCOPE_STREAM,
    AG_SCOPE_DEFAULT,
    AG_SCOPE_EVENT,
    AG_SCOPE_CTX,
    AG_SCOPE_DEVICE,
    AG_SCOPE_ALL
};

/* Before work on a stream of the current context: its own window and, by the rules of the legacy stream, the others. */
void ag_order_stream(CUstream stream, bool ptsz, enum ag_stat reason);

/* Every window. */
void ag_order_all(enum ag_stat reason, enum ag_patience patience);

/* From now on nothing is held in this process, what is held is submitted. The first reason given is the one that
 * counts: true when it is this one. */
bool ag_order_stop(enum ag_stat why);

/* The window of a stream, locked (as ag_window_enter), with the other side of the legacy stream submitted: ready to
 * take an op. NULL: the stream cannot be held. */
struct ag_window *ag_order_enter(CUstream stream, bool ptsz);

#endif
