/* Binary traces as lines. */
#include "analysis/trace_binary.h"
#include "tools/tool.h"
#include "tools/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The most parameters that a function may have here. */
#define PARAMS_MAX 4096

/* A function's parameters, by its number. */
struct layout {
    const struct ag_trace_param *params;
    uint32_t count, bytes;
};

struct conversion {
    FILE *out;
    uint32_t version;
    struct layout *layouts;
    size_t layout_count;
};

bool ag_trace_is_binary(const char *text, size_t length)
{
    return length >= sizeof(struct ag_trace_header) && !memcmp(text, AG_TRACE_MAGIC, sizeof AG_TRACE_MAGIC);
}

/* The text at the end of a record; NULL when it has no end. */
static const char *text_of(const unsigned char *record, size_t offset, size_t size)
{
    return offset < size && memchr(record + offset, '\0', size - offset) ? (const char *)record + offset : NULL;
}

static double microseconds(const struct ag_trace_head *head)
{
    return (double)head->time_ns / 1000;
}

/* Tabs and line ends would break the line. */
static void print_word(FILE *out, const char *word)
{
    for (; *word; word++)
        putc(*word == '\t' || *word == '\n' ? ' ' : *word, out);
}

static const char *convert_function(struct conversion *c, const unsigned char *bytes, const struct ag_trace_head *head)
{
    struct ag_trace_record_function r;
    memcpy(&r, bytes, sizeof r);
    const char *name = NULL;
    if (r.param_count <= PARAMS_MAX && r.function < 1u << 24)
        name = text_of(bytes, sizeof r + r.param_count * sizeof(struct ag_trace_param), head->size);
    if (!name)
        return "a function's record is damaged";
    if (r.function >= c->layout_count) {
        size_t count = 2 * (size_t)r.function + 64;
        struct layout *layouts = realloc(c->layouts, count * sizeof layouts[0]);
        if (!layouts)
            return "out of memory";
        memset(layouts + c->layout_count, 0, (count - c->layout_count) * sizeof layouts[0]);
        c->layouts = layouts;
        c->layout_count = count;
    }
    struct layout *layout = &c->layouts[r.function];
    *layout = (struct layout){(const struct ag_trace_param *)(const void *)(bytes + sizeof r), r.param_count, 0};
    fprintf(c->out, "F\t%" PRIu32 "\t", r.function);
    print_word(c->out, *name ? name : "unknown");
    putc('\t', c->out);
    for (uint32_t i = 0; i < r.param_count; i++) {
        const struct ag_trace_param *param = &layout->params[i];
        if (param->size > 1u << 16 || param->offset > 1u << 16)
            return "a function's record is damaged";
        if (param->offset + param->size > layout->bytes)
            layout->bytes = param->offset + param->size;
        fprintf(c->out, "%s%" PRIu32, i ? "," : "", param->size);
    }
    putc('\n', c->out);
    return NULL;
}

static const char *convert_launch(struct conversion *c, const unsigned char *bytes, const struct ag_trace_head *head)
{
    struct ag_trace_record_launch r;
    memcpy(&r, bytes, sizeof r);
    if (r.attribute_count > AG_TRACE_ATTRIBUTES || r.argument_bytes > head->size ||
        sizeof r + 8 * (size_t)r.attribute_count + r.argument_bytes > head->size)
        return "a launch's record is damaged";
    const struct layout *layout = r.function < c->layout_count ? &c->layouts[r.function] : NULL;
    if (!layout || layout->bytes > r.argument_bytes)
        return "a launch's function was not declared";
    fprintf(c->out,
            "K\t%.3f\t%" PRIu32 "\t%" PRIu64 "\t%" PRIu32 "\t%" PRIu32 ",%" PRIu32 ",%" PRIu32 "\t%" PRIu32 ",%" PRIu32
            ",%" PRIu32 "\t%" PRIu32 "\t",
            microseconds(head), head->thread, r.stream, r.function, r.grid[0], r.grid[1], r.grid[2], r.block[0],
            r.block[1], r.block[2], r.shared);
    const unsigned char *at = bytes + sizeof r;
    for (uint32_t i = 0; i < r.attribute_count; i++, at += 8) {
        uint32_t words[2];
        memcpy(words, at, sizeof words);
        fprintf(c->out, "%s%" PRIu32 "=%" PRIu32, i ? "," : "", words[0], words[1]);
    }
    if (r.attribute_count == 0)
        putc('-', c->out);
    putc('\t', c->out);
    for (uint32_t i = 0; i < layout->count; i++) {
        if (i)
            putc(',', c->out);
        for (uint32_t k = 0; k < layout->params[i].size; k++)
            fprintf(c->out, "%02x", at[layout->params[i].offset + k]);
    }
    putc('\n', c->out);
    return NULL;
}

static const char *convert_call(struct conversion *c, const unsigned char *bytes, const struct ag_trace_head *head)
{
    struct ag_trace_record_call r;
    memcpy(&r, bytes, sizeof r);
    const char *name = text_of(bytes, sizeof r, head->size);
    if (c->version < 2)
        r.hold = AG_TRACE_HOLD_UNSAID;
    if (!name || r.value_count > 4 || r.hold >= AG_TRACE_HOLD_COUNT)
        return "a call's record is damaged";
    /* what is not known of the arguments is printed as 0 */
    uint64_t values[AG_TRACE_CALL_ARGUMENTS] = {0};
    int count = r.value_count;
    struct ag_trace_call call = ag_trace_call_of(name);
    memcpy(values, r.values, r.value_count * sizeof values[0]);
    if (r.has_stream && call.stream >= 0 && call.stream < AG_TRACE_CALL_ARGUMENTS) {
        values[call.stream] = r.stream;
        count = call.stream >= count ? call.stream + 1 : count;
    }
    if (r.has_handle && call.handle >= 0 && call.handle < AG_TRACE_CALL_ARGUMENTS) {
        values[call.handle] = r.handle;
        count = call.handle >= count ? call.handle + 1 : count;
    }
    if (r.hold != AG_TRACE_HOLD_UNSAID) {
        values[4] = AG_TRACE_HOLD_LINE + r.hold;
        count = 5;
    }
    fprintf(c->out, "C\t%.3f\t%" PRIu32 "\t", microseconds(head), head->thread);
    print_word(c->out, name);
    for (int i = 0; i < count; i++)
        fprintf(c->out, "%c%" PRIx64, i ? ',' : '\t', values[i]);
    putc('\n', c->out);
    return NULL;
}

static const char *convert_flush(struct conversion *c, const unsigned char *bytes, const struct ag_trace_head *head)
{
    struct ag_trace_record_flush r;
    memcpy(&r, bytes, sizeof r);
    const char *reason = text_of(bytes, sizeof r, head->size);
    if (!reason)
        return "a flush's record is damaged";
    fprintf(c->out, "S\t%.3f\t%" PRIu32 "\t%" PRIu64 "\t%" PRIu32 "\t", microseconds(head), head->thread, r.stream,
            r.ops);
    print_word(c->out, reason);
    putc('\n', c->out);
    return NULL;
}

static const char *convert(struct conversion *c, const unsigned char *bytes, const struct ag_trace_head *head)
{
    static const struct {
        size_t least;
        const char *(*convert)(struct conversion *, const unsigned char *, const struct ag_trace_head *);
    } kinds[] = {
            [AG_TRACE_RECORD_FUNCTION] = {sizeof(struct ag_trace_record_function), convert_function},
            [AG_TRACE_RECORD_LAUNCH] = {sizeof(struct ag_trace_record_launch), convert_launch},
            [AG_TRACE_RECORD_CALL] = {sizeof(struct ag_trace_record_call), convert_call},
            [AG_TRACE_RECORD_FLUSH] = {sizeof(struct ag_trace_record_flush), convert_flush},
    };
    if (head->kind >= sizeof kinds / sizeof kinds[0] || !kinds[head->kind].convert)
        return "a record's kind is unknown";
    return head->size < kinds[head->kind].least ? "a record is too short" : kinds[head->kind].convert(c, bytes, head);
}

#define RECORD_MOST (1u << 20) /* more than arguments and names take */

int ag_trace_binary_to_text(const char *path, const char *binary, size_t length, char **text, size_t *text_length,
                            size_t *left_out)
{
    struct ag_trace_header header;
    struct conversion c = {0};
    const unsigned char *bytes = (const unsigned char *)binary;
    const char *problem = NULL;
    size_t at = sizeof header;
    *left_out = 0;
    memcpy(&header, binary, sizeof header);
    if (header.byte_order != AG_TRACE_BYTE_ORDER || header.version < 1 || header.version > AG_TRACE_VERSION)
        return ag_tool_fail(AG_TOOL_USAGE, "%s is a binary trace of another version or machine", path);
    c.version = header.version;
    c.out = open_memstream(text, text_length);
    if (!c.out)
        return ag_tool_fail(AG_TOOL_FAILED, "out of memory");
    while (!problem && at < length && *left_out == 0) {
        struct ag_trace_head head = {.size = sizeof head};
        if (length - at >= sizeof head)
            memcpy(&head, bytes + at, sizeof head);
        if (head.size < sizeof head || head.size % 8 || head.size > RECORD_MOST)
            problem = "a record is damaged";
        else if (head.size > length - at)
            *left_out = length - at;
        else if (!(problem = convert(&c, bytes + at, &head)))
            at += head.size;
    }
    bool failed = ferror(c.out);
    failed |= fclose(c.out) != 0;
    free(c.layouts);
    if (problem)
        return ag_tool_fail(AG_TOOL_USAGE, "%s: at byte %zu: %s", path, at, problem);
    return failed ? ag_tool_fail(AG_TOOL_FAILED, "out of memory") : 0;
}
