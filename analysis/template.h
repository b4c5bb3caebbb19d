/* Templates: instances for chunks that have none of their own.
 *
 * Work without repetition never earns instances. A template is an executable graph of some length whose nodes take any
 * plain kernel: every node is retargeted and patched for each use, which is still cheaper than launching its kernels
 * one by one. Such work comes in chunks of every length, so only powers of two have templates, which build quickly and
 * are used often; a chunk goes out through several of them, the longest first. Each is built once chunks that it could
 * carry keep being unknown. Knows lengths only; its exec is the owner's. Thread rule: one thread at a time.
 */
#ifndef AG_ANALYSIS_TEMPLATE_H
#define AG_ANALYSIS_TEMPLATE_H

#include <stdint.h>

#include "analysis/backoff.h"
#include "analysis/op.h"

/* The lengths are 4, 8, … up to the longest chunk: shorter ones are not worth a launch. */
#define AG_TEMPLATE_MIN 4
#define AG_TEMPLATE_KINDS 5
_Static_assert(AG_TEMPLATE_MIN << (AG_TEMPLATE_KINDS - 1) <= AG_CHUNK_MAX, "a template for every chunk");

struct ag_templates {
    void *exec[AG_TEMPLATE_KINDS];     /* the owner's; NULL: not built */
    uint8_t misses[AG_TEMPLATE_KINDS]; /* unknown ops' chunks of each length so far, up to what makes a template */
    unsigned count;
    uint32_t chosen;           /* chunks decided about */
    struct ag_backoff backoff; /* in these */
};

/* Which template carries the first of so many ops: its index, and ag_template_length() of them; -1: none. */
static inline int ag_template_for(unsigned ops)
{
    int kind = -1;
    while (kind + 1 < AG_TEMPLATE_KINDS && ops >= (unsigned)AG_TEMPLATE_MIN << (kind + 1))
        kind++;
    return kind;
}

static inline unsigned ag_template_length(int kind)
{
    return (unsigned)AG_TEMPLATE_MIN << kind;
}

enum ag_template_action {
    AG_TEMPLATE_NONE,  /* submit the ops one by one */
    AG_TEMPLATE_BUILD, /* build a graph of them, ag_template_add() it, launch it */
    AG_TEMPLATE_USE    /* retarget exec[kind] to them and launch it */
};

/* Decides about ops that a template of this kind could carry: plain kernels that no instance launches. */
enum ag_template_action ag_template_choose(struct ag_templates *templates, int kind);

void ag_template_add(struct ag_templates *templates, int kind, void *exec);

/* The owner could not use or build this template: takes it out and returns its exec (NULL when there was none), which
 * the caller frees. No template is used for a while then, twice as long each time. */
void *ag_template_refuse(struct ag_templates *templates, int kind);

/* Takes this template out and returns its exec, which the caller frees: its memory is wanted. Built again once it is
 * missed as often as at first. */
void *ag_template_take(struct ag_templates *templates, int kind);

/* Takes all templates out; release is called for each exec. */
void ag_template_clear(struct ag_templates *templates, void (*release)(void *owner, void *exec), void *owner);

#endif
