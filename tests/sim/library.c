/* Libraries and CUkernel handles: independent of contexts, one module instance in each context that uses them. */
#include "tests/sim/core.h"
#include "tests/sim/module.h"
#include "tests/sim/report.h"
#include "samples/kernel_info.h"

static CUresult instance(struct sim_library *library, struct sim_ctx *ctx, struct sim_module **out)
{
    for (size_t i = 0; i < library->n_in_ctx; i++) {
        if (library->in_ctx[i]->ctx == ctx) {
            *out = library->in_ctx[i];
            return CUDA_SUCCESS;
        }
    }
    if (library->n_in_ctx == 64)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = sim_module_make(ctx, &library->image, library, out);
    if (!result)
        library->in_ctx[library->n_in_ctx++] = *out;
    return result;
}

void sim_library_forget(struct sim_module *module)
{
    struct sim_library *library = module->library;
    for (size_t i = 0; library && i < library->n_in_ctx; i++)
        if (library->in_ctx[i] == module)
            library->in_ctx[i] = library->in_ctx[--library->n_in_ctx];
}

CUresult sim_kernel_func(struct sim_kernel *kernel, struct sim_ctx *ctx, struct sim_func **out)
{
    struct sim_module *module;
    CUresult result = instance(kernel->library, ctx, &module);
    if (result)
        return result;
    *out = sim_module_func(module, kernel->name);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

static CUresult load(CUlibrary *out, const struct sim_image *image)
{
    struct sim_library *library = calloc(1, sizeof(*library));
    if (!library) {
        free(image->bytes);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    library->image = *image;
    library->handle = sim_handle_make(SIM_LIBRARY, library);
    *out = library->handle;
    sim_log_detail(" made=%p", (void *)library->handle);
    return CUDA_SUCCESS;
}

CUresult sim_cuLibraryLoadFromFile(CUlibrary *out, const char *path, CUjit_option *jit, void **jit_values,
                                   unsigned int n_jit, CUlibraryOption *options, void **values, unsigned int n_options)
{
    struct sim_image image;
    (void)jit, (void)jit_values, (void)n_jit, (void)options, (void)values, (void)n_options;
    if (!out || !path)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sim_image_read(path, &image);
    return result ? result : load(out, &image);
}

CUresult sim_cuLibraryLoadData(CUlibrary *out, const void *code, CUjit_option *jit, void **jit_values,
                               unsigned int n_jit, CUlibraryOption *options, void **values, unsigned int n_options)
{
    struct sim_image image;
    (void)jit, (void)jit_values, (void)n_jit, (void)options, (void)values, (void)n_options;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sim_image_copy(code, &image);
    return result ? result : load(out, &image);
}

CUresult sim_cuLibraryUnload(CUlibrary handle)
{
    struct sim_library *library = sim_handle_object(SIM_LIBRARY, handle);
    if (!library)
        return CUDA_ERROR_INVALID_HANDLE;
    for (size_t i = 0; i < library->n_in_ctx; i++)
        sim_ctx_drain(library->in_ctx[i]->ctx);
    while (library->n_in_ctx)
        sim_module_unload(library->in_ctx[--library->n_in_ctx]);
    for (size_t i = library->n_kernels; i-- > 0;) {
        sim_handle_free(SIM_KERNEL, library->kernels[i]->handle);
        free((char *)(uintptr_t)library->kernels[i]->name);
        free(library->kernels[i]);
    }
    sim_handle_free(SIM_LIBRARY, handle);
    free(library->kernels);
    free(library->image.bytes);
    free(library);
    return CUDA_SUCCESS;
}

/* The handle of a kernel that the library has. */
static CUresult kernel_named(struct sim_library *library, const char *name, CUkernel *out)
{
    for (size_t i = 0; i < library->n_kernels; i++) {
        if (!strcmp(library->kernels[i]->name, name)) {
            *out = library->kernels[i]->handle;
            return CUDA_SUCCESS;
        }
    }
    struct sim_kernel *kernel = calloc(1, sizeof(*kernel));
    struct sim_kernel **kernels = realloc(library->kernels, (library->n_kernels + 1) * sizeof(struct sim_kernel *));
    if (kernels)
        library->kernels = kernels;
    if (!kernel || !kernels) {
        free(kernel);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    kernel->library = library;
    kernel->name = strdup(name);
    kernel->max_shared = -1;
    kernel->handle = sim_handle_make(SIM_KERNEL, kernel);
    library->kernels[library->n_kernels++] = kernel;
    *out = kernel->handle;
    sim_log_detail(" %s=%p", name, (void *)kernel->handle);
    return CUDA_SUCCESS;
}

/* The simulator knows a library's kernels only from an instance of it. */
static CUresult any_instance(struct sim_library *library, struct sim_module **out)
{
    struct sim_ctx *ctx = sim_ctx_peek();
    if (library->n_in_ctx) {
        *out = library->in_ctx[0];
        return CUDA_SUCCESS;
    }
    return ctx ? instance(library, ctx, out) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult sim_cuLibraryGetKernel(CUkernel *out, CUlibrary handle, const char *name)
{
    struct sim_library *library = sim_handle_object(SIM_LIBRARY, handle);
    struct sim_module *module;
    if (!library)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!out || !name)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < library->n_kernels; i++)
        if (!strcmp(library->kernels[i]->name, name))
            return kernel_named(library, name, out);
    struct sim_ctx *ctx = sim_ctx_peek();
    CUresult result = ctx ? instance(library, ctx, &module) : CUDA_ERROR_INVALID_CONTEXT;
    if (result)
        return result;
    return sim_module_func(module, name) ? kernel_named(library, name, out) : CUDA_ERROR_NOT_FOUND;
}

CUresult sim_cuLibraryEnumerateKernels(CUkernel *out, unsigned int count, CUlibrary handle)
{
    struct sim_library *library = sim_handle_object(SIM_LIBRARY, handle);
    struct sim_module *module;
    unsigned int n = 0;
    if (!library)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!out || !count)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = any_instance(library, &module);
    for (size_t i = 0; !result && i < module->n_funcs && n < count; i++)
        if (!module->funcs[i].info->global)
            result = kernel_named(library, module->funcs[i].info->name, &out[n++]);
    return result;
}

CUresult sim_cuLibraryGetModule(CUmodule *out, CUlibrary handle)
{
    struct sim_library *library = sim_handle_object(SIM_LIBRARY, handle);
    struct sim_ctx *ctx;
    struct sim_module *module;
    CUresult result = sim_ctx_current(&ctx);
    if (!library)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!result)
        result = instance(library, ctx, &module);
    if (!result)
        *out = module->handle;
    return result;
}

CUresult sim_cuLibraryGetGlobal(CUdeviceptr *address, size_t *size, CUlibrary handle, const char *name)
{
    struct sim_library *library = sim_handle_object(SIM_LIBRARY, handle);
    struct sim_ctx *ctx;
    struct sim_module *module;
    CUresult result = sim_ctx_current(&ctx);
    if (!library)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!result)
        result = instance(library, ctx, &module);
    return result ? result : sim_module_global(module, name, address, size);
}

CUresult sim_cuLibraryGetKernelCount(unsigned int *count, CUlibrary handle)
{
    struct sim_library *library = sim_handle_object(SIM_LIBRARY, handle);
    struct sim_module *module;
    if (!library)
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = any_instance(library, &module);
    return result ? result : sim_cuModuleGetFunctionCount(count, module->handle);
}

static struct sim_kernel *of(CUkernel handle)
{
    return sim_handle_object(SIM_KERNEL, handle);
}

CUresult sim_cuKernelGetFunction(CUfunction *out, CUkernel handle)
{
    struct sim_kernel *kernel = of(handle);
    struct sim_ctx *ctx;
    struct sim_func *func;
    CUresult result = sim_ctx_current(&ctx);
    if (result)
        return result;
    if (!kernel || !out)
        return kernel ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    result = sim_kernel_func(kernel, ctx, &func);
    if (result)
        return result;
    func->loaded = true;
    *out = func->handle;
    sim_log_detail(" %s=%p", kernel->name, (void *)func->handle);
    return CUDA_SUCCESS;
}

CUresult sim_cuKernelGetLibrary(CUlibrary *out, CUkernel handle);
CUresult sim_cuKernelGetLibrary(CUlibrary *out, CUkernel handle)
{
    struct sim_kernel *kernel = of(handle);
    if (!kernel)
        return CUDA_ERROR_INVALID_HANDLE;
    *out = kernel->library->handle;
    return CUDA_SUCCESS;
}

CUresult sim_cuKernelGetName(const char **name, CUkernel handle)
{
    struct sim_kernel *kernel = of(handle);
    if (!kernel)
        return CUDA_ERROR_INVALID_HANDLE;
    *name = kernel->name;
    return CUDA_SUCCESS;
}

CUresult sim_cuKernelGetParamInfo(CUkernel handle, size_t index, size_t *offset, size_t *size)
{
    struct sim_kernel *kernel = of(handle);
    struct sim_func *func;
    if (!kernel)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!kernel->library->n_in_ctx)
        return CUDA_ERROR_INVALID_CONTEXT;
    func = sim_module_func(kernel->library->in_ctx[0], kernel->name);
    if (!func || !offset || index >= func->info->n_params)
        return CUDA_ERROR_INVALID_VALUE;
    *offset = func->info->params[index].offset;
    if (size)
        *size = func->info->params[index].size;
    return CUDA_SUCCESS;
}

/* Attributes of a kernel are those of its function in the device's context that is in use, but for the limit of dynamic
 * shared memory: there the kernel answers what was last set through itself, whatever is in force. */
static CUresult on_device(CUkernel handle, CUdevice dev, struct sim_func **out)
{
    struct sim_kernel *kernel = of(handle);
    struct sim_ctx *ctx = sim_ctx_peek();
    if (!kernel)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!ctx || ctx->device != dev)
        ctx = dev >= 0 && dev < SIM_DEVICES_MAX ? sim_ctx_primary(dev) : NULL;
    return ctx ? sim_kernel_func(kernel, ctx, out) : CUDA_ERROR_INVALID_DEVICE;
}

CUresult sim_cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel handle, CUdevice dev)
{
    struct sim_func *func;
    CUresult result = on_device(handle, dev, &func);
    if (!result)
        result = sim_cuFuncGetAttribute(value, attribute, func->handle);
    if (!result && attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
        *value = of(handle)->max_shared >= 0 ? of(handle)->max_shared : 49152 - func->info->static_shared;
    return result;
}

CUresult sim_cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel handle, CUdevice dev)
{
    struct sim_func *func;
    CUresult result = on_device(handle, dev, &func);
    if (!result)
        result = sim_func_set(func->handle, attribute, value, true);
    if (!result && attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
        of(handle)->max_shared = value;
    return result;
}

CUresult sim_cuKernelSetCacheConfig(CUkernel handle, CUfunc_cache config, CUdevice dev)
{
    struct sim_func *func;
    (void)config;
    return on_device(handle, dev, &func);
}
