/* Entry points for driver functions that the hook table does not list (stubs.S).
 *
 * A stub keeps everything that a call passes, whatever the function's type is, asks ag_unknown_before() where to go on,
 * and jumps there: the driver returns to the program itself. Thread rule: any thread, no lock held.
 */
#ifndef AG_SHIM_HOOK_STUBS_H
#define AG_SHIM_HOOK_STUBS_H

#define AG_STUB_COUNT 256
#define AG_STUB_BYTES 16 /* from one stub to the next */

#ifndef __ASSEMBLER__
/* Stub i is callable at ag_stubs + i * AG_STUB_BYTES. */
extern const char ag_stubs[] __attribute__((visibility("hidden")));

/* Called by stub i with its number; returns the function that the stub jumps to. */
void *ag_unknown_before(unsigned index);
#endif

#endif
