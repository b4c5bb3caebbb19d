#include "shim/graph/graph.h"

#include <stdlib.h>
#include <string.h>

#include "shim/base/real.h"
#include "shim/graph/verify.h"

/* The driver allows a few thousand parameters at most; a function with more is never held. */
#define PARAMS_MAX 1024

static const struct ag_site *site_of(const struct ag_token *token)
{
    return token->user;
}

static void point_params(const struct ag_site *site, const unsigned char *record, void **params)
{
    const unsigned char *arguments = record + sizeof(struct ag_kernel_record);
    for (unsigned i = 0; i < site->param_count; i++)
        params[i] = (void *)(uintptr_t)(arguments + site->params[i].offset);
}

static void kernel_params(const struct ag_target *target, const struct ag_site *site, const unsigned char *record,
                          void **params, CUDA_KERNEL_NODE_PARAMS *node)
{
    struct ag_kernel_record kernel;
    memcpy(&kernel, record, sizeof kernel);
    memset(node, 0, sizeof *node);
    if (site->is_kernel) {
        node->kern = (CUkernel)(void *)site->function;
        node->ctx = target->ctx;
    } else {
        node->func = site->function;
    }
    node->gridDimX = kernel.grid[0];
    node->gridDimY = kernel.grid[1];
    node->gridDimZ = kernel.grid[2];
    node->blockDimX = site->block[0];
    node->blockDimY = site->block[1];
    node->blockDimZ = site->block[2];
    node->sharedMemBytes = kernel.shared;
    point_params(site, record, params);
    node->kernelParams = params;
}

static void memset_params(const struct ag_site *site, const unsigned char *record, CUDA_MEMSET_NODE_PARAMS *node)
{
    struct ag_memset_record set;
    memcpy(&set, record, sizeof set);
    memset(node, 0, sizeof *node);
    node->dst = set.target;
    node->value = set.value;
    node->elementSize = site->element;
    node->width = set.count;
    node->height = 1;
    node->pitch = 0;
}

static void copy_params(const struct ag_site *site, const unsigned char *record, CUDA_MEMCPY3D *node)
{
    struct ag_copy_record copy;
    memcpy(&copy, record, sizeof copy);
    memset(node, 0, sizeof *node);
    if (site->from_host) {
        node->srcMemoryType = CU_MEMORYTYPE_HOST;
        node->srcHost = (const void *)(uintptr_t)copy.source;
    } else {
        node->srcMemoryType = CU_MEMORYTYPE_DEVICE;
        node->srcDevice = copy.source;
    }
    node->dstMemoryType = CU_MEMORYTYPE_DEVICE;
    node->dstDevice = copy.target;
    node->WidthInBytes = copy.bytes;
    node->Height = 1;
    node->Depth = 1;
}

/* ---- building ---- */

struct builder {
    const struct ag_target *target;
    struct ag_exec *exec;
    unsigned length;   /* nodes made so far */
    unsigned frontier; /* first node that the next one must wait for: all from here on may still run */
    bool after_kernel; /* the node made last is a kernel */
    void *params[PARAMS_MAX];
};

static CUresult add_kernel(struct builder *b, const struct ag_site *site, const unsigned char *record,
                           CUgraphNode *node)
{
    CUDA_KERNEL_NODE_PARAMS params;
    kernel_params(b->target, site, record, b->params, &params);
    CUresult result = ag_real.cuGraphAddKernelNode_v2(node, b->exec->graph, NULL, 0, &params);
    for (unsigned i = 0; result == CUDA_SUCCESS && i < site->attribute_count; i++)
        if (site->attributes[i].id != CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
            result = ag_real.cuGraphKernelNodeSetAttribute(*node, site->attributes[i].id, &site->attributes[i].value);
    if (result == CUDA_SUCCESS && b->target->priority != 0) {
        CUlaunchAttributeValue value;
        memset(&value, 0, sizeof value);
        value.priority = b->target->priority;
        for (unsigned i = 0; i < site->attribute_count; i++)
            if (site->attributes[i].id == CU_LAUNCH_ATTRIBUTE_PRIORITY)
                return result; /* the launch has its own */
        result = ag_real.cuGraphKernelNodeSetAttribute(*node, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value);
    }
    return result;
}

static CUresult add_node(struct builder *b, const struct ag_token *token, const unsigned char *record)
{
    const struct ag_site *site = site_of(token);
    CUgraphNode *nodes = b->exec->nodes, *node = &nodes[b->length];
    CUresult result;
    if (token->kind == AG_OP_KERNEL) {
        result = add_kernel(b, site, record, node);
    } else if (token->kind == AG_OP_MEMSET) {
        CUDA_MEMSET_NODE_PARAMS params;
        memset_params(site, record, &params);
        result = ag_real.cuGraphAddMemsetNode(node, b->exec->graph, NULL, 0, &params, b->target->ctx);
    } else {
        CUDA_MEMCPY3D params;
        copy_params(site, record, &params);
        result = ag_real.cuGraphAddMemcpyNode(node, b->exec->graph, NULL, 0, &params, b->target->ctx);
    }
    if (result == CUDA_SUCCESS && b->length > 0) {
        if (site->overlaps && b->after_kernel) {
            /* as a stream does it: it may start once its predecessor allows, and who comes next waits for both */
            CUgraphEdgeData edge;
            memset(&edge, 0, sizeof edge);
            edge.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
            edge.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
            result = ag_real.cuGraphAddDependencies_v2(b->exec->graph, node - 1, node, &edge, 1);
        } else {
            for (unsigned i = b->frontier; result == CUDA_SUCCESS && i < b->length; i++)
                result = ag_real.cuGraphAddDependencies(b->exec->graph, &nodes[i], node, 1);
            b->frontier = b->length;
        }
    }
    b->after_kernel = token->kind == AG_OP_KERNEL;
    b->length++;
    return result;
}

CUresult ag_graph_build(const struct ag_target *target, const struct ag_token *const *tokens, unsigned length,
                        const unsigned char *records, struct ag_exec **made)
{
    struct ag_exec *exec = calloc(1, sizeof *exec + length * sizeof exec->nodes[0]);
    if (exec == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct builder b = {.target = target, .exec = exec};
    CUresult result = ag_real.cuGraphCreate(&exec->graph, 0);
    if (result != CUDA_SUCCESS) {
        free(exec);
        return result;
    }
    exec->length = length;
    for (unsigned i = 0; result == CUDA_SUCCESS && i < length; i++) {
        result = add_node(&b, tokens[i], records);
        records += tokens[i]->record_size;
    }
    if (result == CUDA_SUCCESS)
        result = ag_real.cuGraphInstantiateWithFlags(&exec->exec, exec->graph, 0);
    if (result == CUDA_SUCCESS) {
        *made = exec;
        return result;
    }
    ag_real.cuGraphDestroy(exec->graph);
    free(exec);
    return result;
}

/* In verify mode the graph's own node, which can be read back, gets what the executable one got. */
CUresult ag_graph_patch(const struct ag_target *target, struct ag_exec *exec, unsigned i, const struct ag_token *token,
                        const unsigned char *record)
{
    const struct ag_site *site = site_of(token);
    CUgraphNode node = exec->nodes[i];
    CUresult result;
    if (token->kind == AG_OP_KERNEL) {
        void *pointers[PARAMS_MAX];
        CUDA_KERNEL_NODE_PARAMS params;
        kernel_params(target, site, record, pointers, &params);
        result = ag_real.cuGraphExecKernelNodeSetParams_v2(exec->exec, node, &params);
        if (result == CUDA_SUCCESS && ag_verify_on())
            result = ag_real.cuGraphKernelNodeSetParams_v2(node, &params);
    } else if (token->kind == AG_OP_MEMSET) {
        CUDA_MEMSET_NODE_PARAMS params;
        memset_params(site, record, &params);
        result = ag_real.cuGraphExecMemsetNodeSetParams(exec->exec, node, &params, target->ctx);
        if (result == CUDA_SUCCESS && ag_verify_on())
            result = ag_real.cuGraphMemsetNodeSetParams(node, &params);
    } else {
        CUDA_MEMCPY3D params;
        copy_params(site, record, &params);
        result = ag_real.cuGraphExecMemcpyNodeSetParams(exec->exec, node, &params, target->ctx);
        if (result == CUDA_SUCCESS && ag_verify_on())
            result = ag_real.cuGraphMemcpyNodeSetParams(node, &params);
    }
    return result;
}

CUresult ag_graph_launch(const struct ag_target *target, const struct ag_exec *exec)
{
    return ag_real.cuGraphLaunch(exec->exec, target->stream);
}

void ag_graph_free(struct ag_exec *exec)
{
    ag_real.cuGraphExecDestroy(exec->exec);
    ag_real.cuGraphDestroy(exec->graph);
    free(exec);
}

/* ---- one by one ---- */

static CUresult submit_kernel(const struct ag_target *target, const struct ag_site *site, const unsigned char *record)
{
    void *params[PARAMS_MAX];
    struct ag_kernel_record kernel;
    memcpy(&kernel, record, sizeof kernel);
    point_params(site, record, params);
    if (site->attribute_count == 0)
        return ag_real.cuLaunchKernel(site->function, kernel.grid[0], kernel.grid[1], kernel.grid[2], site->block[0],
                                      site->block[1], site->block[2], kernel.shared, target->stream, params, NULL);
    CUlaunchConfig config = {.gridDimX = kernel.grid[0],
                             .gridDimY = kernel.grid[1],
                             .gridDimZ = kernel.grid[2],
                             .blockDimX = site->block[0],
                             .blockDimY = site->block[1],
                             .blockDimZ = site->block[2],
                             .sharedMemBytes = kernel.shared,
                             .hStream = target->stream,
                             .attrs = site->attributes,
                             .numAttrs = site->attribute_count};
    return ag_real.cuLaunchKernelEx(&config, site->function, params, NULL);
}

CUresult ag_graph_submit(const struct ag_target *target, const struct ag_token *token, const unsigned char *record)
{
    const struct ag_site *site = site_of(token);
    if (token->kind == AG_OP_KERNEL)
        return submit_kernel(target, site, record);
    if (token->kind == AG_OP_MEMSET) {
        struct ag_memset_record set;
        memcpy(&set, record, sizeof set);
        if (site->element == 1)
            return ag_real.cuMemsetD8Async(set.target, (unsigned char)set.value, set.count, target->stream);
        if (site->element == 2)
            return ag_real.cuMemsetD16Async(set.target, (unsigned short)set.value, set.count, target->stream);
        return ag_real.cuMemsetD32Async(set.target, set.value, set.count, target->stream);
    }
    struct ag_copy_record copy;
    memcpy(&copy, record, sizeof copy);
    if (site->from_host)
        return ag_real.cuMemcpyHtoDAsync_v2(copy.target, (const void *)(uintptr_t)copy.source, copy.bytes,
                                            target->stream);
    return ag_real.cuMemcpyDtoDAsync_v2(copy.target, copy.source, copy.bytes, target->stream);
}
