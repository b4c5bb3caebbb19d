/* Device memory of graphs: how much there may be on each device, and what goes when there is too much.
 *
 * The graphs of all windows of a device share its limit. When one more does not fit, those go that were launched least
 * recently, whichever window they are of; a window that another thread is submitting from is left alone meanwhile.
 * Thread rule: that of the window's lock of submission unless it says otherwise.
 */
#ifndef AG_SHIM_WINDOW_BUDGET_H
#define AG_SHIM_WINDOW_BUDGET_H

#include "shim/window/window.h"

/* Makes room on the window's device for so many bytes; false: there is none. The window's context is current. */
bool ag_budget_room(struct ag_window *window, size_t bytes);

/* Counts a graph of the window's that was built, and one that is about to be freed. */
void ag_budget_take(struct ag_window *window, const struct ag_exec *exec);
void ag_budget_give(struct ag_window *window, const struct ag_exec *exec);

/* Notes that a graph is launched. Graphs between whose launches none was built are of one age: so the clock that all
 * threads read is hardly ever written. */
void ag_budget_used(struct ag_exec *exec);

/* Frees all graphs of the window, whose context is current. */
void ag_budget_drop(struct ag_window *window);

/* Frees every executable graph, and allows half of their memory from now on, but not less than a mebibyte: the program
 * is out of device memory. True when some was freed. No lock held. */
bool ag_budget_release(void);

#endif
