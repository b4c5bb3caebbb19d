/* What a launch is of, and how the driver lays out its arguments. */
#include <stdlib.h>
#include <string.h>

#include "shim/base/real.h"
#include "shim/hook/launch.h"

/* Bytes of an attribute's value that mean something; 0 for attributes that are never held. */
static size_t meaningful(const CUlaunchAttribute *attribute)
{
    switch ((int)attribute->id) {
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        return 12;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
        return 4;
    default:
        return 0;
    }
}

bool ag_launch_key(const struct launch *l, struct key *key)
{
    memset(key, 0, sizeof *key);
    key->function = l->function;
    memcpy(key->block, l->block, sizeof key->block);
    for (unsigned i = 0; i < l->attribute_count; i++) {
        const CUlaunchAttribute *attribute = &l->attributes[i];
        if (attribute->id == CU_LAUNCH_ATTRIBUTE_IGNORE)
            continue;
        /* a launch that is not cooperative after all */
        if (attribute->id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE && attribute->value.cooperative == 0)
            continue;
        size_t bytes = meaningful(attribute);
        if (bytes == 0 || key->count == AG_SITE_ATTRIBUTES)
            return false;
        key->attributes[key->count].id = (uint32_t)attribute->id;
        memcpy(key->attributes[key->count].value, &attribute->value, bytes);
        key->count++;
    }
    return true;
}

static CUresult parameter(const struct ag_site *site, unsigned i, size_t *offset, size_t *size)
{
    return site->is_kernel ? ag_real.cuKernelGetParamInfo((CUkernel)(void *)site->function, i, offset, size)
                           : ag_real.cuFuncGetParamInfo(site->function, i, offset, size);
}

/* INVALID_VALUE is the answer past the last parameter, so also to the first question about a function that has none.
 * Some other refusal must not pass for it: a launch would go without its arguments. So no parameters are believed only
 * where the other kind's question is refused, and the end is asked for twice. */
bool ag_launch_layout(struct ag_site *site)
{
    size_t offset, size;
    CUresult result = parameter(site, 0, &offset, &size);
    if (result != CUDA_SUCCESS) {
        CUresult as_function = result;
        site->is_kernel = true;
        result = parameter(site, 0, &offset, &size);
        if (as_function == CUDA_ERROR_INVALID_VALUE && result == CUDA_ERROR_INVALID_HANDLE) {
            site->is_kernel = false;
            result = as_function;
        } else if (as_function != CUDA_ERROR_INVALID_HANDLE && result != CUDA_SUCCESS) {
            return false;
        }
    }
    unsigned capacity = 0;
    uint32_t end = 0;
    for (unsigned i = 0; result == CUDA_SUCCESS; i++) {
        if (i == 1024 || offset + size > AG_SITE_ARGUMENTS)
            return false;
        if (i == capacity) {
            capacity = capacity != 0 ? 2 * capacity : 8;
            struct ag_param *params = realloc(site->params, capacity * sizeof *params);
            if (params == NULL)
                return false;
            site->params = params;
        }
        site->gaps = site->gaps || offset != end;
        site->params[i] = (struct ag_param){(uint16_t)offset, (uint16_t)size};
        site->param_count = (uint16_t)(i + 1);
        end = (uint32_t)(offset + size);
        result = parameter(site, i + 1, &offset, &size);
    }
    struct ag_param *fits =
            capacity > site->param_count ? realloc(site->params, site->param_count * sizeof *fits) : NULL;
    if (fits != NULL)
        site->params = fits;
    site->argument_bytes = (uint16_t)end;
    site->gaps = site->gaps || end % AG_RECORD_ALIGN != 0;
    return result == CUDA_ERROR_INVALID_VALUE && parameter(site, site->param_count, &offset, &size) == result;
}

uint64_t ag_launch_mix(const struct ag_site *site, const struct key *key)
{
    const char *name = NULL;
    uint32_t attributes[2 * AG_SITE_ATTRIBUTES];
    CUresult result = site->is_kernel ? ag_real.cuKernelGetName(&name, (CUkernel)(void *)site->function)
                                      : ag_real.cuFuncGetName(&name, site->function);
    if (result != CUDA_SUCCESS || name == NULL)
        return 0;
    for (unsigned i = 0; i < key->count; i++) {
        attributes[2 * i] = key->attributes[i].id;
        attributes[2 * i + 1] = key->attributes[i].value[0];
    }
    return ag_token_kernel_mix(name, key->block, attributes, key->count);
}
