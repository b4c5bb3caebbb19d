/* The files that a process writes records to, each its own.
 *
 * Thread rule: any thread.
 */
#ifndef AG_SHIM_TRACE_FILE_H
#define AG_SHIM_TRACE_FILE_H

/* Opens the file of an option's pattern, emptied, for this process alone. Returns 0, or an errno value: EBUSY when
 * another process has it. The caller closes it. */
int ag_file_open(const char *pattern, int *file);

/* Says on standard error, in one line, why it cannot be written. what: "the trace". */
void ag_file_complain(const char *what, const char *pattern, int error);

#endif
