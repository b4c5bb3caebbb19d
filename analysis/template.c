#include "analysis/template.h"

#include <string.h>

/* Times that a template is missed before it is built: building costs what about six uses save. */
#define MISSES 8

enum ag_template_action ag_template_choose(struct ag_templates *templates, int kind)
{
    if (ag_backoff_blocks(&templates->backoff, ++templates->chosen))
        return AG_TEMPLATE_NONE;
    if (templates->exec[kind] != NULL)
        return AG_TEMPLATE_USE;
    if (templates->misses[kind] < MISSES) {
        templates->misses[kind]++;
        return AG_TEMPLATE_NONE;
    }
    return AG_TEMPLATE_BUILD;
}

void ag_template_add(struct ag_templates *templates, int kind, void *exec)
{
    templates->exec[kind] = exec;
    templates->count++;
}

static void *take(struct ag_templates *templates, int kind)
{
    void *exec = templates->exec[kind];
    templates->exec[kind] = NULL;
    templates->count -= exec != NULL;
    return exec;
}

void *ag_template_take(struct ag_templates *templates, int kind)
{
    templates->misses[kind] = 0;
    return take(templates, kind);
}

void *ag_template_refuse(struct ag_templates *templates, int kind)
{
    void *exec = take(templates, kind);
    ag_backoff_refused(&templates->backoff, templates->chosen);
    return exec;
}

void ag_template_clear(struct ag_templates *templates, void (*release)(void *owner, void *exec), void *owner)
{
    for (int kind = 0; kind < AG_TEMPLATE_KINDS; kind++)
        if (templates->exec[kind] != NULL)
            release(owner, templates->exec[kind]);
    memset(templates, 0, sizeof *templates);
}
