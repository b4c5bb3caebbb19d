/* Stands in for the shim in the tests of the command: writes statistics at exit and, when asked, prints a line first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *setting(const char *name, const char *fallback)
{
    const char *value = getenv(name);
    return value ? value : fallback;
}

static void __attribute__((constructor)) enter(void)
{
    if (getenv("TOY_LINE"))
        puts(getenv("TOY_LINE"));
    fflush(stdout);
}

static void __attribute__((destructor)) leave(void)
{
    const char *pattern = getenv("AUTOGRAPH_STATS"), *percent = pattern ? strstr(pattern, "%p") : NULL;
    if (!percent)
        return;
    char path[4096];
    snprintf(path, sizeof path, "%.*s%d%s", (int)(percent - pattern), pattern, (int)getpid(), percent + 2);
    FILE *out = fopen(path, "w");
    if (!out)
        return;
    fprintf(out,
            "{\"version\":\"0\",\"mode\":\"%s\",\"driver\":13000,\"seconds\":1.5,\"launches\":%s,\"replayed\":%s,"
            "\"driver_calls\":120,\"divergences\":%s,\"flushes\":{\"sync\":3},\"bypass\":{\"first\":100}}\n",
            setting("AUTOGRAPH_MODE", "replay"), setting("TOY_LAUNCHES", "1000"), setting("TOY_REPLAYED", "900"),
            setting("TOY_DIVERGENCES", "0"));
    fclose(out);
}
