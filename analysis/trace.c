#include "analysis/trace.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The next field of the line; NULL when there is none. */
static char *field(char **rest)
{
    char *start = *rest;
    if (start == NULL)
        return NULL;
    char *tab = strchr(start, '\t');
    *rest = tab != NULL ? tab + 1 : NULL;
    if (tab != NULL)
        *tab = '\0';
    return start;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* A number up to most that ends at `end` (or at the end of the text when that is 0); moves *text behind it. */
static bool number(const char **text, unsigned base, char end, uint64_t most, uint64_t *value)
{
    const char *p = *text;
    uint64_t sum = 0;
    int digit = hex_digit(*p);
    if (digit < 0 || (unsigned)digit >= base)
        return false;
    for (; (digit = hex_digit(*p)) >= 0 && (unsigned)digit < base; p++) {
        if (sum > (most - (unsigned)digit) / base)
            return false;
        sum = sum * base + (unsigned)digit;
    }
    if (*p != end)
        return false;
    *text = end != '\0' ? p + 1 : p;
    *value = sum;
    return true;
}

static bool number32(const char *text, uint32_t *value)
{
    uint64_t wide;
    if (text == NULL || !number(&text, 10, '\0', UINT32_MAX, &wide))
        return false;
    *value = (uint32_t)wide;
    return true;
}

static bool microseconds(const char *text, double *value)
{
    char *end;
    if (text == NULL || ((*text < '0' || *text > '9') && *text != '.'))
        return false;
    *value = strtod(text, &end);
    return *end == '\0' && *value < 1e15;
}

static bool triple(const char *text, uint32_t values[3])
{
    for (int i = 0; i < 3; i++) {
        uint64_t wide;
        if (text == NULL || !number(&text, 10, i < 2 ? ',' : '\0', UINT32_MAX, &wide))
            return false;
        values[i] = (uint32_t)wide;
    }
    return true;
}

/* The end of the list's next word: a comma, or the end of the text. */
static char ending(const char *text)
{
    return strchr(text, ',') != NULL ? ',' : '\0';
}

static bool attributes(const char *text, struct ag_trace_event *event)
{
    if (text == NULL)
        return false;
    if (*text == '\0' || strcmp(text, "-") == 0)
        return true;
    for (char end = ','; end != '\0';) {
        uint64_t id, value;
        end = ending(text);
        if (event->attribute_count == AG_TRACE_ATTRIBUTES || !number(&text, 10, '=', UINT32_MAX, &id))
            return false;
        bool negative = *text == '-';
        text += negative;
        if (!number(&text, 10, end, UINT32_MAX, &value))
            return false;
        event->attributes[event->attribute_count++] =
                (struct ag_trace_attribute){(uint32_t)id, negative ? -(uint32_t)value : (uint32_t)value};
    }
    return true;
}

/* Decodes hex bytes in place. Where one argument ends is lost here: ag_trace_fits() compares the total. */
static bool arguments(char *text, struct ag_trace_event *event)
{
    if (text == NULL)
        return true; /* no parameters, no field */
    unsigned char *to = (unsigned char *)text;
    event->arguments = to;
    while (*text != '\0') {
        event->argument_count++;
        for (; *text != '\0' && *text != ','; text += 2) {
            int high = hex_digit(text[0]), low = high < 0 ? -1 : hex_digit(text[1]);
            if (low < 0)
                return false;
            *to++ = (unsigned char)(high << 4 | low);
        }
        if (*text == ',' && *++text == '\0')
            return false;
    }
    event->argument_bytes = (uint32_t)(to - event->arguments);
    return true;
}

static const char *parse_launch(char *rest, struct ag_trace_event *event)
{
    uint64_t stream;
    if (!microseconds(field(&rest), &event->time_us))
        return "the time is no number";
    if (!number32(field(&rest), &event->thread))
        return "the thread is no number";
    const char *text = field(&rest);
    if (text == NULL || !number(&text, 10, '\0', UINT64_MAX, &stream))
        return "the stream is no number";
    event->stream = stream;
    if (!number32(field(&rest), &event->function))
        return "the function is no number";
    if (!triple(field(&rest), event->grid))
        return "the grid is not three numbers";
    if (!triple(field(&rest), event->block))
        return "the block is not three numbers";
    if (!number32(field(&rest), &event->shared))
        return "the shared memory is no number";
    if (!attributes(field(&rest), event))
        return "the attributes are neither - nor id=value";
    if (!arguments(field(&rest), event))
        return "the arguments are not hex bytes";
    return rest == NULL ? NULL : "more fields than a launch has";
}

static const char *parse_function(char *rest, struct ag_trace_event *event)
{
    if (!number32(field(&rest), &event->function))
        return "the function is no number";
    event->name = field(&rest);
    event->sizes = field(&rest);
    if (event->name == NULL || *event->name == '\0')
        return "the function has no name";
    if (event->sizes == NULL)
        event->sizes = "";
    uint64_t size, total = 0;
    const char *text = event->sizes;
    for (char end = *text != '\0' ? ',' : '\0'; end != '\0'; event->argument_count++) {
        end = ending(text);
        if (!number(&text, 10, end, 1u << 20, &size) || (total += size) > 1u << 20)
            return "the sizes are not numbers";
    }
    event->argument_bytes = (uint32_t)total;
    return rest == NULL ? NULL : "more fields than a function has";
}

static const char *parse_call(char *rest, struct ag_trace_event *event)
{
    if (!microseconds(field(&rest), &event->time_us))
        return "the time is no number";
    if (!number32(field(&rest), &event->thread))
        return "the thread is no number";
    event->name = field(&rest);
    if (event->name == NULL || *event->name == '\0')
        return "the call has no name";
    const char *text = field(&rest);
    for (char end = text != NULL && *text != '\0' ? ',' : '\0'; end != '\0'; event->call_count++) {
        end = ending(text);
        if (event->call_count == AG_TRACE_CALL_ARGUMENTS ||
            !number(&text, 16, end, UINT64_MAX, &event->call[event->call_count]))
            return "the arguments are not up to five hex numbers";
    }
    if (event->call_count == AG_TRACE_CALL_ARGUMENTS && event->call[4] > AG_TRACE_HOLD_LINE &&
        event->call[4] - AG_TRACE_HOLD_LINE < AG_TRACE_HOLD_COUNT)
        event->hold = (enum ag_trace_hold)(event->call[4] - AG_TRACE_HOLD_LINE);
    return rest == NULL ? NULL : "more fields than a call has";
}

static const char *parse_iteration(char *rest, struct ag_trace_event *event)
{
    if (!microseconds(field(&rest), &event->time_us))
        return "the time is no number";
    const char *text = field(&rest);
    if (text == NULL || !number(&text, 10, '\0', UINT64_MAX, &event->iteration))
        return "the iteration is no number";
    return rest == NULL ? NULL : "more fields than an iteration has";
}

static const char *parse_early(char *rest, struct ag_trace_event *event)
{
    if (!microseconds(field(&rest), &event->time_us))
        return "the time is no number";
    if (!number32(field(&rest), &event->thread))
        return "the thread is no number";
    const char *text = field(&rest);
    if (text == NULL || !number(&text, 10, '\0', UINT64_MAX, &event->stream))
        return "the stream is no number";
    text = field(&rest);
    if (text == NULL || !number(&text, 10, '\0', UINT64_MAX, &event->iteration))
        return "the number of launches is none";
    event->name = field(&rest);
    if (event->name == NULL || *event->name == '\0')
        return "there is no reason";
    return rest == NULL ? NULL : "more fields than an early submission has";
}

int ag_trace_parse(char *line, struct ag_trace_event *event, const char **problem)
{
    char *rest = line;
    const char *kind = field(&rest);
    memset(event, 0, sizeof *event);
    event->kind = (enum ag_trace_kind)kind[0];
    *problem = "not a line of a trace: it begins with none of I, F, K, C, S and a tab";
    if (kind[0] != '\0' && kind[1] == '\0' && rest != NULL) {
        if (kind[0] == AG_TRACE_LAUNCH)
            *problem = parse_launch(rest, event);
        else if (kind[0] == AG_TRACE_CALL)
            *problem = parse_call(rest, event);
        else if (kind[0] == AG_TRACE_FUNCTION)
            *problem = parse_function(rest, event);
        else if (kind[0] == AG_TRACE_EARLY)
            *problem = parse_early(rest, event);
        else if (kind[0] == AG_TRACE_ITERATION)
            *problem = parse_iteration(rest, event);
    }
    return *problem == NULL ? 0 : -EINVAL;
}

int ag_trace_fits(const struct ag_trace_event *function, const struct ag_trace_event *launch)
{
    return function->argument_count == launch->argument_count && function->argument_bytes == launch->argument_bytes
                   ? 0
                   : -EINVAL;
}
