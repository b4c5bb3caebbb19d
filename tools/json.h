/* Reads the JSON objects that the shim writes: scalars and arrays, and objects of them one level down.
 *
 * A full JSON library would be a dependency for building and for running the command, on machines where only a compiler
 * is sure to be there. This reader accepts any valid JSON object, keeps scalars of the first two levels, arrays there
 * as they are written, and steps over everything else. No I/O. */
#ifndef AG_JSON_H
#define AG_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum ag_json_type { AG_JSON_STRING, AG_JSON_NUMBER, AG_JSON_WORD /* true, false, null */, AG_JSON_ARRAY };

struct ag_json_entry {
    char *group; /* name of the object it stands in, "" at the top; owned */
    char *name;  /* owned */
    char *text;  /* a string's content, else the characters as written; owned */
    double number;
    enum ag_json_type type;
};

struct ag_json_object {
    struct ag_json_entry *entries; /* in the order of the file */
    size_t count, capacity;
};

/* Reads one object at `*at` (white space before it is skipped) and moves `*at` behind it. Returns 1 for an object, 0
 * when only white space is left, -EINVAL for bad JSON with `*at` at the place, -ENOMEM. Release the object in every
 * case. */
int ag_json_read(const char *text, size_t length, size_t *at, struct ag_json_object *object);

/* The entry, or NULL. `group` is "" for the top level. */
const struct ag_json_entry *ag_json_find(const struct ag_json_object *object, const char *group, const char *name);

/* A number of the top level; 0 when it is absent or no number. */
double ag_json_number(const struct ag_json_object *object, const char *name);

/* A scalar of the top level as text, or `fallback`. */
const char *ag_json_text(const struct ag_json_object *object, const char *name, const char *fallback);

void ag_json_release(struct ag_json_object *object);

/* Writes `text` as a JSON string, quotes included. Bytes are taken as UTF-8 and not checked. */
void ag_json_print_string(FILE *out, const char *text);

#endif
