/* Observe mode: launches that were passed to the driver, as the policy would have seen them. */
#ifndef AG_SHIM_HOOK_OBSERVE_H
#define AG_SHIM_HOOK_OBSERVE_H

#include "shim/hook/launch.h"
#include "shim/trace/shadow.h"

/* A launch in observe mode, after the driver was asked. Writes it to the trace, unless its arguments cannot be read:
 * false then. */
bool ag_observe(const struct launch *launch, bool taken);

/* Function handles may come back for other functions. */
void ag_observe_forget(void);

/* In a fork's child: another thread of the parent may have been at it. */
void ag_observe_in_child(void);

#endif
