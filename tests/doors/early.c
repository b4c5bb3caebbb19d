/* Works before main() begins: its constructor runs when the program that is linked with it starts, or when it is
 * opened, and its destructor once more when everything ends. */
#include "tests/doors/work.h"

#include <stdio.h>
#include <stdlib.h>

static const struct work_driver driver = {
#define WORK_LINKED(symbol, api, params) .symbol = symbol,
        WORK_FUNCTIONS(WORK_LINKED)
#undef WORK_LINKED
};

__attribute__((visibility("default"))) int early_result(void);

static int result = -1;

int early_result(void)
{
    return result;
}

__attribute__((constructor)) static void begin(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    result = work_run(&driver, "constructor", 10);
}

__attribute__((destructor)) static void end(void)
{
    if (getenv("WORK_LATE") != NULL)
        work_run(&driver, "destructor", 10);
}
