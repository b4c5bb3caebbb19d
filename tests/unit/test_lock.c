/* Tests of shim/base/lock.c as test builds have it: what breaks its rules stops the process, and nothing else does. */
#define AG_DEBUG_LOCKS
#include "shim/base/lock.c" /* the rest of the tests' build has no such checks */
#include "tests/unit/unit.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

static struct ag_lock registry = AG_LOCK_INIT(AG_RANK_REGISTRY), window = AG_LOCK_INIT(AG_RANK_WINDOW),
                      other = AG_LOCK_INIT(AG_RANK_WINDOW), submitting = AG_LOCK_INIT(AG_RANK_SUBMIT),
                      leaf = AG_LOCK_INIT(AG_RANK_LEAF), second = AG_LOCK_INIT(AG_RANK_SUBMIT);

/* Runs a body in a process of its own; *line: what that says. True when it came to its end. */
static bool survives(void (*body)(void), char *line, size_t size)
{
    int ends[2], status = 0;
    size_t used = 0;
    ssize_t n;
    if (pipe(ends) != 0)
        return false;
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        signal(SIGILL, SIG_DFL); /* a sanitizer's own handler would say more */
        signal(SIGTRAP, SIG_DFL);
        body();
        _exit(0);
    }
    close(ends[1]);
    while (used + 1 < size && (n = read(ends[0], line + used, size - 1 - used)) > 0)
        used += (size_t)n;
    line[used] = '\0';
    close(ends[0]);
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void stops(void (*body)(void), const char *why)
{
    char line[4096];
    EXPECT(!survives(body, line, sizeof line));
    EXPECT(strstr(line, why) != NULL);
}

static void upwards(void)
{
    ag_lock_expect(AG_RANK_NONE);
    ag_lock_take(&registry);
    ag_lock_take(&window);
    ag_lock_expect(AG_RANK_WINDOW);
    ag_lock_take(&submitting);
    ag_lock_expect(AG_RANK_SUBMIT);
    if (!ag_lock_try(&leaf) || !ag_lock_try_for(&other, 1))
        _exit(1);
}

static void and_back(void)
{
    ag_lock_take(&registry);
    ag_lock_take(&window);
    ag_lock_take(&leaf);
    ag_lock_release(&leaf);
    ag_lock_take(&submitting);
    ag_lock_release(&submitting);
    ag_lock_release(&window);
    ag_lock_release(&registry);
    ag_lock_take(&submitting); /* as the submitter does */
    ag_lock_release(&submitting);
    ag_lock_take(&registry);
    ag_lock_release(&registry);
    ag_lock_expect(AG_RANK_NONE);
}

static void downwards(void)
{
    ag_lock_take(&leaf);
    ag_lock_take(&window);
}

static void downwards_by_trying(void)
{
    ag_lock_take(&window);
    ag_lock_try(&registry);
}

static void a_window_from_its_submission(void)
{
    ag_lock_take(&submitting);
    ag_lock_take(&window);
}

static void two_windows(void)
{
    ag_lock_take(&window);
    ag_lock_try_for(&other, 1000);
}

/* As who wants the memory of another window's graphs does. */
static void another_submission_by_trying(void)
{
    ag_lock_take(&window);
    ag_lock_take(&submitting);
    if (!ag_lock_try_beside(&second) || ag_lock_try_beside(&second))
        _exit(1);
    ag_lock_expect(AG_RANK_SUBMIT);
    ag_lock_release(&second);
    ag_lock_release(&submitting);
    ag_lock_release(&window);
}

static void a_window_beside_a_submission(void)
{
    ag_lock_take(&submitting);
    ag_lock_try_beside(&window);
}

static void out_of_order(void)
{
    ag_lock_take(&registry);
    ag_lock_take(&window);
    ag_lock_release(&registry);
}

static void forward_under_a_lock(void)
{
    ag_lock_take(&registry);
    ag_lock_expect(AG_RANK_NONE);
}

static void submit_under_a_leaf(void)
{
    ag_lock_take(&window);
    ag_lock_take(&leaf);
    ag_lock_expect(AG_RANK_SUBMIT);
}

static void locks_are_taken_upwards(void)
{
    char line[4096];
    EXPECT(survives(and_back, line, sizeof line));
    EQUAL(line[0], '\0');
    EXPECT(survives(another_submission_by_trying, line, sizeof line));
    EQUAL(line[0], '\0');
    stops(a_window_beside_a_submission, "lock taken of rank 2 while rank 3 is held");
    stops(downwards, "lock taken of rank 2 while rank 5 is held");
    stops(downwards_by_trying, "lock taken of rank 1 while rank 2 is held");
    stops(a_window_from_its_submission, "lock taken of rank 2 while rank 3 is held");
    stops(two_windows, "lock taken of rank 2 while rank 2 is held");
    stops(upwards, "lock taken of rank 2 while rank 5 is held");
}

static void locks_are_given_back_in_the_opposite_order(void)
{
    stops(out_of_order, "lock released of rank 1 while rank 2 is held");
}

static void the_driver_is_called_without_locks(void)
{
    stops(forward_under_a_lock, "up to rank 0 while rank 1 is held");
    stops(submit_under_a_leaf, "up to rank 3 while rank 5 is held");
}

static const struct unit_case cases[] = {
        {"locks are taken upwards", locks_are_taken_upwards},
        {"locks are given back in the opposite order", locks_are_given_back_in_the_opposite_order},
        {"the driver is called without locks", the_driver_is_called_without_locks},
};
UNIT_MAIN(cases)
