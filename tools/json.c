#include "tools/json.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define AG_JSON_DEPTH 16

struct ag_json_reader {
    const char *text;
    size_t length, at;
    struct ag_json_object *object;
};

static int ag_json_value(struct ag_json_reader *reader, int depth, const char *group, const char *name);

static void ag_json_space(struct ag_json_reader *reader)
{
    while (reader->at < reader->length && strchr(" \t\r\n", reader->text[reader->at]) && reader->text[reader->at])
        reader->at++;
}

static int ag_json_peek(struct ag_json_reader *reader)
{
    ag_json_space(reader);
    return reader->at < reader->length ? (unsigned char)reader->text[reader->at] : -1;
}

static bool ag_json_accept(struct ag_json_reader *reader, char wanted)
{
    if (ag_json_peek(reader) != wanted)
        return false;
    reader->at++;
    return true;
}

/* \uXXXX: the shim writes it for control characters only, so anything beyond ASCII becomes a question mark. */
static int ag_json_unicode(struct ag_json_reader *reader, char *to)
{
    unsigned int code = 0;
    for (int i = 0; i < 4; i++) {
        if (reader->at >= reader->length || !isxdigit((unsigned char)reader->text[reader->at]))
            return -EINVAL;
        char digit = (char)tolower((unsigned char)reader->text[reader->at++]);
        code = code * 16 + (unsigned int)(isdigit((unsigned char)digit) ? digit - '0' : digit - 'a' + 10);
    }
    *to = code && code < 128 ? (char)code : '?';
    return 0;
}

static int ag_json_escape(struct ag_json_reader *reader, char *to)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    if (reader->at >= reader->length)
        return -EINVAL;
    char kind = reader->text[reader->at++];
    if (kind == 'u')
        return ag_json_unicode(reader, to);
    const char *name = kind ? strchr(names, kind) : NULL;
    if (!name)
        return -EINVAL;
    *to = values[name - names];
    return 0;
}

static int ag_json_string(struct ag_json_reader *reader, char **string)
{
    *string = NULL;
    if (!ag_json_accept(reader, '"'))
        return -EINVAL;
    /* The next quote without a backslash before it bounds the length; after an escaped backslash that is too far on. */
    const char *start = reader->text + reader->at, *limit = reader->text + reader->length;
    const char *end = memchr(start, '"', (size_t)(limit - start));
    while (end && end[-1] == '\\')
        end = memchr(end + 1, '"', (size_t)(limit - (end + 1)));
    char *to = *string = malloc((size_t)((end ? end : limit) - start) + 1);
    if (!to)
        return -ENOMEM;
    while (reader->at < reader->length) {
        char c = reader->text[reader->at++];
        if (c == '"') {
            *to = '\0';
            return 0;
        }
        if ((unsigned char)c < ' ' || (c == '\\' && ag_json_escape(reader, &c)))
            break;
        *to++ = c;
    }
    free(*string);
    *string = NULL;
    return -EINVAL;
}

static int ag_json_keep(struct ag_json_reader *reader, const char *group, const char *name, struct ag_json_entry entry)
{
    struct ag_json_object *object = reader->object;
    if (object->count == object->capacity) {
        size_t capacity = object->capacity ? 2 * object->capacity : 32;
        struct ag_json_entry *entries = realloc(object->entries, capacity * sizeof *entries);
        if (!entries) {
            free(entry.text);
            return -ENOMEM;
        }
        object->entries = entries;
        object->capacity = capacity;
    }
    entry.group = strdup(group);
    entry.name = strdup(name);
    object->entries[object->count++] = entry;
    return entry.group && entry.name ? 0 : -ENOMEM;
}

static int ag_json_scalar(struct ag_json_reader *reader, struct ag_json_entry *entry)
{
    const char *start = reader->text + reader->at;
    size_t length = 0;
    while (reader->at + length < reader->length &&
           (isalnum((unsigned char)start[length]) || strchr("+-.", start[length])) && start[length])
        length++;
    entry->text = strndup(start, length);
    if (!entry->text)
        return -ENOMEM;
    if (!strcmp(entry->text, "true") || !strcmp(entry->text, "false") || !strcmp(entry->text, "null")) {
        entry->type = AG_JSON_WORD;
    } else {
        char *end;
        entry->type = AG_JSON_NUMBER;
        entry->number = strtod(entry->text, &end);
        if (!length || *end || (*start != '-' && !isdigit((unsigned char)*start)))
            return -EINVAL;
    }
    reader->at += length;
    return 0;
}

static int ag_json_elements(struct ag_json_reader *reader, int depth)
{
    if (ag_json_accept(reader, ']'))
        return 0;
    for (;;) {
        int error = ag_json_value(reader, depth, NULL, NULL);
        if (error)
            return error;
        if (ag_json_accept(reader, ']'))
            return 0;
        if (!ag_json_accept(reader, ','))
            return -EINVAL;
    }
}

static int ag_json_array(struct ag_json_reader *reader, int depth, struct ag_json_entry *entry)
{
    size_t start = reader->at++;
    int error = ag_json_elements(reader, depth);
    if (error)
        return error;
    entry->type = AG_JSON_ARRAY;
    entry->text = strndup(reader->text + start, reader->at - start);
    return entry->text ? 0 : -ENOMEM;
}

/* Members of an object go to `group`, or nowhere when it is NULL. */
static int ag_json_members(struct ag_json_reader *reader, int depth, const char *group)
{
    if (ag_json_accept(reader, '}'))
        return 0;
    for (;;) {
        char *name;
        int error = ag_json_string(reader, &name);
        if (!error && !ag_json_accept(reader, ':'))
            error = -EINVAL;
        if (!error)
            error = ag_json_value(reader, depth, group, name);
        free(name);
        if (error)
            return error;
        if (ag_json_accept(reader, '}'))
            return 0;
        if (!ag_json_accept(reader, ','))
            return -EINVAL;
    }
}

static int ag_json_value(struct ag_json_reader *reader, int depth, const char *group, const char *name)
{
    if (depth >= AG_JSON_DEPTH)
        return -EINVAL;
    if (ag_json_accept(reader, '{'))
        return ag_json_members(reader, depth + 1, group && !*group ? name : NULL);
    struct ag_json_entry entry = {0};
    int error = ag_json_peek(reader) == '['   ? ag_json_array(reader, depth + 1, &entry)
                : ag_json_peek(reader) == '"' ? ag_json_string(reader, &entry.text)
                                              : ag_json_scalar(reader, &entry);
    if (error || !group) {
        free(entry.text);
        return error;
    }
    return ag_json_keep(reader, group, name, entry);
}

int ag_json_read(const char *text, size_t length, size_t *at, struct ag_json_object *object)
{
    struct ag_json_reader reader = {text, length, *at, object};
    *object = (struct ag_json_object){0};
    if (ag_json_peek(&reader) < 0)
        return 0;
    int error = ag_json_accept(&reader, '{') ? ag_json_members(&reader, 1, "") : -EINVAL;
    *at = reader.at;
    return error ? error : 1;
}

const struct ag_json_entry *ag_json_find(const struct ag_json_object *object, const char *group, const char *name)
{
    for (size_t i = 0; i < object->count; i++)
        if (!strcmp(object->entries[i].group, group) && !strcmp(object->entries[i].name, name))
            return &object->entries[i];
    return NULL;
}

double ag_json_number(const struct ag_json_object *object, const char *name)
{
    const struct ag_json_entry *entry = ag_json_find(object, "", name);
    return entry && entry->type == AG_JSON_NUMBER ? entry->number : 0;
}

const char *ag_json_text(const struct ag_json_object *object, const char *name, const char *fallback)
{
    const struct ag_json_entry *entry = ag_json_find(object, "", name);
    return entry ? entry->text : fallback;
}

void ag_json_release(struct ag_json_object *object)
{
    for (size_t i = 0; i < object->count; i++) {
        free(object->entries[i].group);
        free(object->entries[i].name);
        free(object->entries[i].text);
    }
    free(object->entries);
    *object = (struct ag_json_object){0};
}

void ag_json_print_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\')
            fprintf(out, "\\%c", *c);
        else if (*c < ' ')
            fprintf(out, "\\u%04x", *c);
        else
            fputc(*c, out);
    }
    fputc('"', out);
}
