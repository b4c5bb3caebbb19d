/* Templates: instances for chunks that have none of their own.
 *
 * Work without repetition never earns instances. A template is an executable graph of some length whose nodes take any
 * plain kernel: every node is retargeted and patched for each use, which is still cheaper than launching its kernels
 * one by one. One template for each length, built once chunks of that length keep being unknown. Knows lengths only;
 * its exec is the owner's. Thread rule: one thread at a time.
 */
#ifndef AG_ANALYSIS_TEMPLATE_H
#define AG_ANALYSIS_TEMPLATE_H

#include <stdint.h>

#include "analysis/backoff.h"
#include "analysis/op.h"

/* Shorter chunks are not worth a template. */
#define AG_TEMPLATE_MIN 4

struct ag_templates {
    void *exec[AG_CHUNK_MAX + 1];
    uint8_t misses[AG_CHUNK_MAX + 1]; /* unknown chunks of each length so far, up to the number that makes a template */
    unsigned count;
    uint32_t chosen;           /* chunks decided about */
    struct ag_backoff backoff; /* in these */
};

enum ag_template_action {
    AG_TEMPLATE_NONE,  /* submit the chunk one by one */
    AG_TEMPLATE_BUILD, /* build a graph of the chunk, ag_template_add() it, launch it */
    AG_TEMPLATE_USE    /* retarget exec[length] to the chunk and launch it */
};

/* Decides about a chunk of plain kernels that has no instance. */
enum ag_template_action ag_template_choose(struct ag_templates *templates, unsigned length);

void ag_template_add(struct ag_templates *templates, unsigned length, void *exec);

/* The owner could not use or build the template of this length: takes it out and returns its exec (NULL when there was
 * none), which the caller frees. No template is used for a while then, twice as long each time. */
void *ag_template_refuse(struct ag_templates *templates, unsigned length);

/* Takes all templates out; release is called for each exec. */
void ag_template_clear(struct ag_templates *templates, void (*release)(void *owner, void *exec), void *owner);

#endif
