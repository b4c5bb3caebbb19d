/* Driver functions that the hook table does not list: newer ones than the toolkit it was made from.
 *
 * What such a function does is not known, so everything held is submitted before each call of it. Where its name says
 * that more than an order of work may be at stake, its first call ends holding for good. Thread rule: any thread.
 */
#ifndef AG_SHIM_HOOK_UNKNOWN_H
#define AG_SHIM_HOOK_UNKNOWN_H

/* The stub that stands for a function of the driver: the same one whenever the same function is asked for. It stays
 * callable for ever. NULL when there are no more, or memory is short. */
void *ag_unknown_stub(void *real, const char *name);

#endif
