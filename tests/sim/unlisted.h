/* Functions that the simulated driver has beyond the hook table, as a driver that is newer than the table does. Only
 * cuGetProcAddress leads to them, at any version. A program gives the types below to what it gets.
 */
#ifndef SIM_UNLISTED_H
#define SIM_UNLISTED_H

#include <cuda.h>

/* "cuSimReadLater", "cuGLSimReadLater", "cuEGLSimReadLater", "cuVDPAUSimReadLater", "cuGraphicsGLSimReadLater": waits
 * for the context's work as far as the driver has it, copies the word at `at` to *word, and returns a + 2b + 3c + 4d +
 * 5e + 6f + 7g + 8x + 9y + 10z. In a context that does not work *word stays as it is. */
typedef unsigned long long sim_read_later(CUdeviceptr at, unsigned *word, int a, long b, unsigned c, short d, long e,
                                          unsigned char f, long g, float x, double y, double z);

/* "cuSimDestroyLater": does nothing; its name says that handles end. */
typedef CUresult sim_destroy_later(void);

/* "cuSimNumber0" to "cuSimNumber299": returns its own number plus the argument. */
typedef int sim_number(int more);
#define SIM_NUMBERS 300

#endif
