/* AUTOGRAPH_ALTERNATE_MS: spans in which launches are held and spans in which they are passed, in turn.
 *
 * What makes a machine fast or slow in one second hardly changes in the next, so that neighbouring spans of one run
 * compare better than two runs do. Each span is counted after its first quarter, when what was queued before it is
 * done.
 */
#ifndef AG_SHIM_WINDOW_ALTERNATE_H
#define AG_SHIM_WINDOW_ALTERNATE_H

/* The thread that does it, started with the first held op. It ends when nothing may be held any more. */
void *ag_alternate_run(void *unused);

#endif
