/* See config.h. */
#include "tests/sim/config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

struct sim_config sim_config = {
        .schedule = SIM_EAGER,
        .seed = 1,
        .idle_ms = 3,
        .patience = 3,
        .delay_us = 200,
        .queue = 1024,
        .devices = 1,
        .driver = 13000,
        .memory_mb = 4096,
        .deinit = 1,
};

static const struct {
    const char *name;
    unsigned long *value;
    unsigned long least, most;
} numbers[] = {
        {"idle_ms", &sim_config.idle_ms, 1, 60000},         {"patience", &sim_config.patience, 1, 1000000},
        {"preempt_us", &sim_config.preempt_us, 0, 1000000}, {"delay_us", &sim_config.delay_us, 1, 100000},
        {"queue", &sim_config.queue, 1, 1000000},           {"devices", &sim_config.devices, 0, SIM_DEVICES_MAX},
        {"driver", &sim_config.driver, 11000, 99990},       {"memory_mb", &sim_config.memory_mb, 1, 65536},
        {"graph_kb", &sim_config.graph_kb, 0, 1048576},     {"deinit", &sim_config.deinit, 0, 1},
};

static bool read_number(const char *text, unsigned long *out)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 0);
    if (errno || end == text || *end)
        return false;
    *out = value;
    return true;
}

static bool read_text(char *to, size_t size, const char *text)
{
    return snprintf(to, size, "%s", text) < (int)size && *text;
}

/* FUNCTION:NTH or FUNCTION:NTH+ with more behind a further colon, which is returned; NULL: something else. */
static char *read_nth(struct sim_nth *call, char *item)
{
    char *nth = strchr(item, ':');
    char *more = nth ? strchr(nth + 1, ':') : NULL;
    if (!more)
        return NULL;
    *nth++ = *more++ = 0;
    size_t digits = strlen(nth);
    call->onwards = digits > 0 && nth[digits - 1] == '+';
    if (call->onwards)
        nth[digits - 1] = 0;
    return read_number(nth, &call->nth) && read_text(call->function, sizeof(call->function), item) ? more : NULL;
}

static bool read_requests(struct sim_requests *requests, unsigned long most, char *text)
{
    char *rest = NULL;
    for (char *item = strtok_r(text, ";", &rest); item; item = strtok_r(NULL, ";", &rest)) {
        size_t n = requests->n;
        char *number = n < SIM_FAILURES_MAX ? read_nth(&requests->items[n].call, item) : NULL;
        if (!number || !read_number(number, &requests->items[n].number) || requests->items[n].number > most)
            return false;
        requests->n++;
    }
    return true;
}

static bool read_corruptions(char *text)
{
    char *rest = NULL;
    for (char *item = strtok_r(text, ";", &rest); item; item = strtok_r(NULL, ";", &rest)) {
        struct sim_corruption *corruption = &sim_config.corruptions[sim_config.n_corruptions];
        char *field = sim_config.n_corruptions < SIM_FAILURES_MAX ? read_nth(&corruption->call, item) : NULL;
        if (!field || !read_text(corruption->field, sizeof(corruption->field), field))
            return false;
        sim_config.n_corruptions++;
    }
    return true;
}

static bool read_drains(char *text)
{
    char *rest = NULL;
    for (char *item = strtok_r(text, ";", &rest); item; item = strtok_r(NULL, ";", &rest)) {
        if (sim_config.n_drains == SIM_DRAINS_MAX ||
            !read_text(sim_config.drains[sim_config.n_drains], sizeof(sim_config.drains[0]), item))
            return false;
        sim_config.n_drains++;
    }
    return true;
}

static bool read_setting(const char *name, char *value)
{
    unsigned long number;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (strcmp(name, numbers[i].name))
            continue;
        if (!read_number(value, &number) || number < numbers[i].least || number > numbers[i].most)
            return false;
        *numbers[i].value = number;
        return true;
    }
    if (!strcmp(name, "seed")) {
        if (!read_number(value, &number))
            return false;
        sim_config.seed = number;
        return true;
    }
    if (!strcmp(name, "schedule")) {
        static const char *const names[] = {[SIM_EAGER] = "eager", [SIM_LAZY] = "lazy", [SIM_RANDOM] = "random"};
        for (int i = 0; i < 3; i++) {
            if (!strcmp(value, names[i])) {
                sim_config.schedule = (enum sim_schedule)i;
                return true;
            }
        }
        return false;
    }
    if (!strcmp(name, "fail"))
        return read_requests(&sim_config.failures, ULONG_MAX, value);
    if (!strcmp(name, "corrupt"))
        return read_corruptions(value);
    if (!strcmp(name, "drain"))
        return read_drains(value);
    if (!strcmp(name, "slow"))
        return read_requests(&sim_config.slow, 10000000, value);
    if (!strcmp(name, "log"))
        return read_text(sim_config.log, sizeof(sim_config.log), value);
    if (!strcmp(name, "report"))
        return read_text(sim_config.report, sizeof(sim_config.report), value);
    return false;
}

void sim_config_load(void)
{
    static bool loaded;
    if (loaded)
        return;
    loaded = true;
    const char *setting = getenv("AUTOGRAPH_SIM");
    if (!setting)
        return;
    char *text = strdup(setting), *rest = NULL;
    for (char *item = text ? strtok_r(text, ",", &rest) : NULL; item; item = strtok_r(NULL, ",", &rest)) {
        char *value = strchr(item, '=');
        if (value)
            *value++ = 0;
        if (!value || !read_setting(item, value))
            fprintf(stderr, "AUTOGRAPH_SIM: cannot use '%s'; see tests/sim/config.h\n", item);
    }
    free(text);
}
