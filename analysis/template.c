#include "analysis/template.h"

#include <string.h>

/* Unknown chunks of one length before its template is built: building costs what about six uses save. */
#define MISSES 8

enum ag_template_action ag_template_choose(struct ag_templates *templates, unsigned length)
{
    if (length < AG_TEMPLATE_MIN || length > AG_CHUNK_MAX)
        return AG_TEMPLATE_NONE;
    if (ag_backoff_blocks(&templates->backoff, ++templates->chosen))
        return AG_TEMPLATE_NONE;
    if (templates->exec[length] != NULL)
        return AG_TEMPLATE_USE;
    if (templates->misses[length] < MISSES) {
        templates->misses[length]++;
        return AG_TEMPLATE_NONE;
    }
    return AG_TEMPLATE_BUILD;
}

void ag_template_add(struct ag_templates *templates, unsigned length, void *exec)
{
    templates->exec[length] = exec;
    templates->count++;
}

void *ag_template_refuse(struct ag_templates *templates, unsigned length)
{
    void *exec = templates->exec[length];
    templates->exec[length] = NULL;
    templates->count -= exec != NULL;
    ag_backoff_refused(&templates->backoff, templates->chosen);
    return exec;
}

void ag_template_clear(struct ag_templates *templates, void (*release)(void *owner, void *exec), void *owner)
{
    for (unsigned i = 0; i <= AG_CHUNK_MAX; i++)
        if (templates->exec[i] != NULL)
            release(owner, templates->exec[i]);
    memset(templates, 0, sizeof *templates);
}
