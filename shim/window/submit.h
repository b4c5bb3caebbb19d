/* Submission: what is held goes to the driver, as a graph where that pays.
 *
 * The window's book says whether the chunk at hand is launched through an instance, which is patched first, or built,
 * or goes through a template, or op by op; every failure of a call of the shim's own ends in op by op. Thread rule: the
 * window's lock of submission, its context is current.
 */
#ifndef AG_SHIM_WINDOW_SUBMIT_H
#define AG_SHIM_WINDOW_SUBMIT_H

#include "shim/window/window.h"

/* Submits those ops that are not with the driver yet: held is one of the window's two. Returns the first code of an op
 * that the driver refused; CUDA_ERROR_NOT_PERMITTED with ops still held: inside a host function of the program. */
CUresult ag_submit_held(struct ag_window *window, struct ag_held *held);

#endif
