/* Stands in for libcuda.so.1 in the tests of `autograph doctor`. */
#include <stdlib.h>

static int number(const char *name, int fallback)
{
    const char *value = getenv(name);
    return value ? (int)strtol(value, NULL, 10) : fallback;
}

int cuDriverGetVersion(int *version);
int cuInit(unsigned int flags);
int cuDeviceGetCount(int *count);

int cuDriverGetVersion(int *version)
{
    if (getenv("TOY_CRASH"))
        abort();
    *version = number("TOY_VERSION", 13000);
    return 0;
}

int cuInit(unsigned int flags)
{
    return (int)flags + number("TOY_INIT", 0);
}

int cuDeviceGetCount(int *count)
{
    *count = number("TOY_DEVICES", 1);
    return 0;
}
