/* Which library a dlopen of the program would find.
 *
 * Knows the loader's rules as far as they depend on the caller: a library that is loaded already, then RPATH,
 * LD_LIBRARY_PATH and RUNPATH of the caller, then what every library gets. Refuses to know what is in the library.
 */
#ifndef AG_SHIM_PRELOAD_LOCATE_H
#define AG_SHIM_PRELOAD_LOCATE_H

/* Opens the library that dlopen(file, mode) would open for the code at `caller`, with RTLD_LAZY, RTLD_LOCAL and the
 * RTLD_NOLOAD of mode. The handle is the caller's, to be closed. NULL: none, with the loader's message in dlerror(). */
void *ag_locate_open(const char *file, unsigned long mode, const void *caller);

#endif
