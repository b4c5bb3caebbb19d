/* The driver as a library that the program is linked with. */
#include "tests/doors/work.h"

int main(void)
{
    static const struct work_driver driver = {
#define WORK_LINKED(symbol, api, params) .symbol = symbol,
            WORK_FUNCTIONS(WORK_LINKED)
#undef WORK_LINKED
    };
    return work_run(&driver, "linked", 30);
}
