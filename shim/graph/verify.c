#include "shim/graph/verify.h"

#include <string.h>

#include "shim/base/log.h"
#include "shim/base/real.h"

/* One node under comparison. */
struct check {
    unsigned index, length; /* of the node, and of the graph */
    unsigned found;
};

static void compare(struct check *check, const char *what, uint64_t is, uint64_t issued)
{
    if (is == issued)
        return;
    check->found++;
    ag_log(AG_LOG_WARN, "verify: node %u of %u: %s is 0x%llx, the program issued 0x%llx", check->index, check->length,
           what, (unsigned long long)is, (unsigned long long)issued);
}

/* The function behind a kernel's handle; NULL when the driver does not say. */
static CUfunction function_of(CUkernel kernel)
{
    CUfunction function = NULL;
    return kernel != NULL && ag_real.cuKernelGetFunction(&function, kernel) == CUDA_SUCCESS ? function : NULL;
}

/* A node may come back with the other kind of handle than it was given. Returns whether it is the same function. */
static bool compare_function(struct check *check, const struct ag_site *site, const CUDA_KERNEL_NODE_PARAMS *node)
{
    void *is = node->func != NULL ? (void *)node->func : (void *)node->kern;
    void *issued = (void *)site->function;
    if (is == issued)
        return true;
    if (node->func == NULL)
        is = (void *)function_of(node->kern);
    if (site->is_kernel)
        issued = (void *)function_of((CUkernel)issued);
    if (is != NULL && is == issued)
        return true;
    compare(check, "the function", (uintptr_t)is, (uintptr_t)site->function);
    return false;
}

/* Where the node keeps its parameter i; NULL when it has none. */
static const unsigned char *parameter(const CUDA_KERNEL_NODE_PARAMS *node, const struct ag_site *site, unsigned i)
{
    if (node->kernelParams != NULL)
        return node->kernelParams[i];
    const unsigned char *buffer = NULL;
    size_t size = 0;
    for (void **e = node->extra; e != NULL && *e != CU_LAUNCH_PARAM_END; e += 2) {
        if (*e == CU_LAUNCH_PARAM_BUFFER_POINTER)
            buffer = e[1];
        else if (*e == CU_LAUNCH_PARAM_BUFFER_SIZE)
            size = *(size_t *)e[1];
    }
    const struct ag_param *param = &site->params[i];
    return buffer != NULL && size >= (size_t)param->offset + param->size ? buffer + param->offset : NULL;
}

static void compare_arguments(struct check *check, const struct ag_site *site, const CUDA_KERNEL_NODE_PARAMS *node,
                              const unsigned char *arguments)
{
    for (unsigned i = 0; i < site->param_count; i++) {
        const unsigned char *issued = arguments + site->params[i].offset, *is = parameter(node, site, i);
        uint32_t size = site->params[i].size, byte = 0;
        while (is != NULL && byte < size && is[byte] == issued[byte])
            byte++;
        if (byte == size)
            continue;
        check->found++;
        if (is == NULL)
            ag_log(AG_LOG_WARN, "verify: node %u of %u: it has no argument %u", check->index, check->length, i);
        else
            ag_log(AG_LOG_WARN,
                   "verify: node %u of %u: argument %u is 0x%02x at byte %u of %u, the program issued 0x%02x",
                   check->index, check->length, i, is[byte], byte, size, issued[byte]);
    }
}

static CUresult check_kernel(struct check *check, CUgraphNode node, const struct ag_site *site,
                             const unsigned char *record)
{
    CUDA_KERNEL_NODE_PARAMS is;
    struct ag_kernel_record issued;
    memset(&is, 0, sizeof is);
    memcpy(&issued, record, sizeof issued);
    CUresult result = ag_real.cuGraphKernelNodeGetParams_v2(node, &is);
    if (result != CUDA_SUCCESS)
        return result;
    compare(check, "the grid's x", is.gridDimX, issued.grid[0]);
    compare(check, "the grid's y", is.gridDimY, issued.grid[1]);
    compare(check, "the grid's z", is.gridDimZ, issued.grid[2]);
    compare(check, "the block's x", is.blockDimX, site->block[0]);
    compare(check, "the block's y", is.blockDimY, site->block[1]);
    compare(check, "the block's z", is.blockDimZ, site->block[2]);
    compare(check, "shared memory", is.sharedMemBytes, issued.shared);
    if (compare_function(check, site, &is)) /* else nobody knows what is behind its pointers */
        compare_arguments(check, site, &is, record + sizeof issued);
    return CUDA_SUCCESS;
}

static CUresult check_memset(struct check *check, CUgraphNode node, const struct ag_site *site,
                             const unsigned char *record)
{
    CUDA_MEMSET_NODE_PARAMS is;
    struct ag_memset_record issued;
    memset(&is, 0, sizeof is);
    memcpy(&issued, record, sizeof issued);
    CUresult result = ag_real.cuGraphMemsetNodeGetParams(node, &is);
    if (result != CUDA_SUCCESS)
        return result;
    compare(check, "the target", is.dst, issued.target);
    compare(check, "the value", is.value, issued.value);
    compare(check, "the element's size", is.elementSize, site->element);
    compare(check, "the width", is.width, issued.count);
    compare(check, "the height", is.height, 1);
    return CUDA_SUCCESS;
}

static CUresult check_copy(struct check *check, CUgraphNode node, const unsigned char *record)
{
    CUDA_MEMCPY3D is;
    struct ag_copy_record issued;
    memset(&is, 0, sizeof is);
    memcpy(&issued, record, sizeof issued);
    CUresult result = ag_real.cuGraphMemcpyNodeGetParams(node, &is);
    if (result != CUDA_SUCCESS)
        return result;
    uintptr_t source = is.srcMemoryType == CU_MEMORYTYPE_HOST ? (uintptr_t)is.srcHost : (uintptr_t)is.srcDevice;
    uintptr_t target = is.dstMemoryType == CU_MEMORYTYPE_HOST ? (uintptr_t)is.dstHost : (uintptr_t)is.dstDevice;
    compare(check, "the target", target + is.dstXInBytes, issued.target);
    compare(check, "the source", source + is.srcXInBytes, issued.source);
    compare(check, "the target's row or slice", is.dstY + is.dstZ, 0);
    compare(check, "the source's row or slice", is.srcY + is.srcZ, 0);
    compare(check, "the size", is.WidthInBytes, issued.bytes);
    compare(check, "the height", is.Height, 1);
    compare(check, "the depth", is.Depth, 1);
    return CUDA_SUCCESS;
}

CUresult ag_verify_nodes(const struct ag_exec *exec, const struct ag_token *const *tokens, const unsigned char *records,
                         unsigned *differences)
{
    struct check check = {.length = exec->length};
    CUresult first = CUDA_SUCCESS;
    for (unsigned i = 0; i < exec->length; i++) {
        const struct ag_site *site = tokens[i]->user;
        CUresult result;
        check.index = i;
        if (tokens[i]->kind == AG_OP_KERNEL)
            result = check_kernel(&check, exec->nodes[i], site, records);
        else if (tokens[i]->kind == AG_OP_MEMSET)
            result = check_memset(&check, exec->nodes[i], site, records);
        else
            result = check_copy(&check, exec->nodes[i], records);
        if (result != CUDA_SUCCESS && first == CUDA_SUCCESS) {
            first = result;
            ag_log(AG_LOG_INFO, "verify: node %u of %u cannot be read (%d)", i, exec->length, (int)result);
        }
        records += tokens[i]->record_size;
    }
    *differences += check.found;
    return first;
}

void ag_verify_image(const struct ag_token *const *tokens, unsigned length, const unsigned char *records,
                     const unsigned char *image, unsigned *differences)
{
    for (unsigned i = 0; i < length; i++) {
        uint32_t size = tokens[i]->record_size;
        if (memcmp(image, records, size) != 0) {
            ++*differences;
            ag_log(AG_LOG_WARN, "verify: node %u of %u: the book's image is not what the program issued", i, length);
        }
        image += size;
        records += size;
    }
}
