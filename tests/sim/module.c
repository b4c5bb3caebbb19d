/* Modules and functions. A module is a shared object made from samples/kernel.h, loaded from a private in-memory copy,
 * so that every load has its own globals and its own kernels. `X.ptx` stands for `X.ptx.sim.so` beside it. */
#define _GNU_SOURCE /* memfd_create */
#include "tests/sim/core.h"
#include "tests/sim/module.h"
#include "tests/sim/report.h"
#include "samples/kernel_info.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct sim_module *modules;

/* The kernels of samples/kernels.c that read memory or the clock until it is time. */
static const char *const waiting[] = {"turn", "wait_for", "spin"};

void sim_module_hold(struct sim_module *module)
{
    module->refs++;
}

/* The shared object stays mapped: a worker may still stand in its code's epilogue, and sanitizers want its symbols. */
void sim_module_release(struct sim_module *module)
{
    if (--module->refs)
        return;
    free(module->funcs);
    free(module);
}

CUresult sim_image_read(const char *path, struct sim_image *out)
{
    char sibling[4200];
    struct stat info;
    snprintf(sibling, sizeof(sibling), "%s.sim.so", path);
    int fd = open(sibling, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return CUDA_ERROR_FILE_NOT_FOUND;
    if (fstat(fd, &info) || !info.st_size) {
        close(fd);
        return CUDA_ERROR_INVALID_IMAGE;
    }
    out->size = (size_t)info.st_size;
    out->bytes = malloc(out->size);
    size_t got = 0;
    while (out->bytes && got < out->size) {
        ssize_t n = read(fd, out->bytes + got, out->size - got);
        if (n <= 0)
            break;
        got += (size_t)n;
    }
    close(fd);
    if (out->bytes && got == out->size)
        return CUDA_SUCCESS;
    free(out->bytes);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sim_image_copy(const void *image, struct sim_image *out)
{
    Elf64_Ehdr head;
    if (!image)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(head.e_ident, image, SELFMAG);
    if (memcmp(head.e_ident, ELFMAG, SELFMAG))
        return CUDA_ERROR_INVALID_IMAGE;
    memcpy(&head, image, sizeof(head));
    out->size = head.e_shoff + (size_t)head.e_shnum * head.e_shentsize;
    out->bytes = malloc(out->size);
    if (!out->bytes)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(out->bytes, image, out->size);
    return CUDA_SUCCESS;
}

/* The loader takes two equal names for one object, so every load spells its number into the name as "./" and "/". */
static void unique_name(char *out, size_t size, int fd)
{
    static unsigned int loads;
    int n = snprintf(out, size, "/proc/self/fd/");
    loads++;
    for (int bit = 0; bit < 20; bit++)
        n += snprintf(out + n, size - (size_t)n, "%s", loads >> bit & 1 ? "./" : "/");
    snprintf(out + n, size - (size_t)n, "%d", fd);
}

static void *open_private(const struct sim_image *image)
{
    char path[96];
    int fd = memfd_create("sim-module", MFD_CLOEXEC);
    void *so = NULL;
    if (fd < 0)
        return NULL;
    if (write(fd, image->bytes, image->size) == (ssize_t)image->size) {
        unique_name(path, sizeof(path), fd);
        so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    close(fd);
    return so;
}

/* Objects whose module was unloaded: the next load of the same image gets one, its variables as they were at first. */
struct sim_object {
    struct sim_object *next;
    void *so;
    struct sim_image image, variables;
};
static struct sim_object *spares;

static size_t variables_size(const struct sim_kernel_info *const *table)
{
    size_t size = 0;
    for (; *table; table++)
        size += (*table)->global ? (*table)->global_size : 0;
    return size;
}

static void copy_variables(const struct sim_kernel_info *const *table, unsigned char *store, bool back)
{
    for (; *table; table++) {
        if (!(*table)->global)
            continue;
        memcpy(back ? (*table)->global : store, back ? store : (*table)->global, (*table)->global_size);
        store += (*table)->global_size;
    }
}

/* An object of this image that no module uses, and what is needed to give it to another later. */
static struct sim_object *object_take(const struct sim_image *image)
{
    struct sim_object **link = &spares, *spare;
    while (*link &&
           ((*link)->image.size != image->size || memcmp((*link)->image.bytes, image->bytes, image->size) != 0))
        link = &(*link)->next;
    if ((spare = *link)) {
        *link = spare->next;
        copy_variables(dlsym(spare->so, "sim_kernel_table"), spare->variables.bytes, true);
        return spare;
    }
    void *so = open_private(image);
    const struct sim_kernel_info *const *table = so ? dlsym(so, "sim_kernel_table") : NULL;
    if (!table || !(spare = calloc(1, sizeof(*spare))))
        return NULL;
    spare->so = so;
    spare->image.size = image->size;
    spare->image.bytes = malloc(image->size);
    spare->variables.bytes = malloc(variables_size(table) + 1);
    if (!spare->image.bytes || !spare->variables.bytes)
        return NULL;
    memcpy(spare->image.bytes, image->bytes, image->size);
    copy_variables(table, spare->variables.bytes, false);
    return spare;
}

CUresult sim_module_make(struct sim_ctx *ctx, const struct sim_image *image, struct sim_library *library,
                         struct sim_module **out)
{
    struct sim_object *object = object_take(image);
    if (!object)
        return CUDA_ERROR_INVALID_IMAGE;
    const struct sim_kernel_info *const *table = dlsym(object->so, "sim_kernel_table");
    struct sim_module *module = calloc(1, sizeof(*module));
    if (!module)
        return CUDA_ERROR_OUT_OF_MEMORY;
    while (table[module->n_funcs])
        module->n_funcs++;
    module->funcs = calloc(module->n_funcs + 1, sizeof(*module->funcs));
    if (!module->funcs)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < module->n_funcs; i++) {
        module->funcs[i].module = module;
        module->funcs[i].info = table[i];
        module->funcs[i].max_shared = 49152 - table[i]->static_shared;
        module->funcs[i].carveout = -1;
        for (size_t k = 0; k < sizeof(waiting) / sizeof(waiting[0]); k++)
            module->funcs[i].waits |= !strcmp(table[i]->name, waiting[k]);
    }
    module->refs = 1;
    module->object = object;
    module->ctx = ctx;
    module->library = library;
    module->handle = sim_handle_make(SIM_MODULE, module);
    module->next = modules;
    modules = module;
    *out = module;
    return CUDA_SUCCESS;
}

static CUresult load(CUmodule *out, const struct sim_image *image)
{
    struct sim_ctx *ctx;
    struct sim_module *module;
    CUresult result = sim_ctx_current(&ctx);
    if (!result)
        result = sim_module_make(ctx, image, NULL, &module);
    free(image->bytes);
    if (!result) {
        *out = module->handle;
        sim_log_detail(" made=%p", (void *)module->handle);
    }
    return result;
}

CUresult sim_cuModuleLoad(CUmodule *out, const char *path)
{
    struct sim_image image;
    if (!out || !path)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sim_capture_unsafe();
    if (!result)
        result = sim_image_read(path, &image);
    return result ? result : load(out, &image);
}

CUresult sim_cuModuleLoadData(CUmodule *out, const void *data)
{
    struct sim_image image;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sim_capture_unsafe();
    if (!result)
        result = sim_image_copy(data, &image);
    return result ? result : load(out, &image);
}
SIM_ALSO(cuModuleLoadFatBinary, cuModuleLoadData);

CUresult sim_cuModuleLoadDataEx(CUmodule *out, const void *data, unsigned int count, CUjit_option *options,
                                void **values)
{
    (void)count, (void)options, (void)values;
    return sim_cuModuleLoadData(out, data);
}

/* Function handles die with their module and come back, last first, for the next one. */
void sim_module_unload(struct sim_module *module)
{
    struct sim_module **link = &modules;
    while (*link && *link != module)
        link = &(*link)->next;
    if (*link)
        *link = module->next;
    for (size_t i = module->n_funcs; i-- > 0;) {
        struct sim_func *func = &module->funcs[i];
        __atomic_store_n(&func->dead, true, __ATOMIC_RELEASE);
        if (func->handle)
            sim_handle_free(SIM_FUNC, func->handle);
        func->handle = NULL;
        if (func->info->global)
            sim_range_remove((uintptr_t)func->info->global);
    }
    module->dead = true;
    module->object->next = spares;
    spares = module->object;
    sim_handle_free(SIM_MODULE, module->handle);
    sim_module_release(module);
}

void sim_module_forget(struct sim_ctx *ctx)
{
    for (struct sim_module *module = modules, *next; module; module = next) {
        next = module->next;
        if (module->ctx != ctx)
            continue;
        sim_library_forget(module);
        sim_module_unload(module);
    }
}

CUresult sim_cuModuleUnload(CUmodule handle)
{
    struct sim_module *module = sim_handle_object(SIM_MODULE, handle);
    CUresult result = sim_capture_unsafe();
    if (result)
        return result;
    if (!module || module->library)
        return CUDA_ERROR_INVALID_HANDLE;
    sim_ctx_drain(module->ctx);
    if (sim_handle_object(SIM_MODULE, handle) != module)
        return CUDA_ERROR_INVALID_HANDLE;
    sim_module_unload(module);
    return CUDA_SUCCESS;
}

struct sim_func *sim_module_func(struct sim_module *module, const char *name)
{
    for (size_t i = 0; i < module->n_funcs; i++) {
        struct sim_func *func = &module->funcs[i];
        if (func->info->global || strcmp(func->info->name, name))
            continue;
        if (!func->handle)
            func->handle = sim_handle_make(SIM_FUNC, func);
        return func->handle ? func : NULL;
    }
    return NULL;
}

CUresult sim_module_global(struct sim_module *module, const char *name, CUdeviceptr *address, size_t *size)
{
    for (size_t i = 0; i < module->n_funcs; i++) {
        const struct sim_kernel_info *info = module->funcs[i].info;
        if (!info->global || strcmp(info->name, name))
            continue;
        if (!sim_range_find((uintptr_t)info->global))
            sim_range_add((uintptr_t)info->global, info->global_size, SIM_MEM_DEVICE, module->ctx)->registered = true;
        if (address)
            *address = (CUdeviceptr)(uintptr_t)info->global;
        if (size)
            *size = info->global_size;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_NOT_FOUND;
}

CUresult sim_cuModuleGetFunction(CUfunction *out, CUmodule handle, const char *name)
{
    struct sim_module *module = sim_handle_object(SIM_MODULE, handle);
    if (!module)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!out || !name)
        return CUDA_ERROR_INVALID_VALUE;
    struct sim_func *func = sim_module_func(module, name);
    if (!func)
        return CUDA_ERROR_NOT_FOUND;
    *out = func->handle;
    sim_log_detail(" %s=%p", name, (void *)func->handle);
    return CUDA_SUCCESS;
}

CUresult sim_cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *size, CUmodule handle, const char *name)
{
    struct sim_module *module = sim_handle_object(SIM_MODULE, handle);
    return module ? sim_module_global(module, name, address, size) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_cuModuleGetFunctionCount(unsigned int *count, CUmodule handle)
{
    struct sim_module *module = sim_handle_object(SIM_MODULE, handle);
    if (!module)
        return CUDA_ERROR_INVALID_HANDLE;
    *count = 0;
    for (size_t i = 0; i < module->n_funcs; i++)
        *count += !module->funcs[i].info->global;
    return CUDA_SUCCESS;
}

CUresult sim_cuModuleEnumerateFunctions(CUfunction *out, unsigned int count, CUmodule handle)
{
    struct sim_module *module = sim_handle_object(SIM_MODULE, handle);
    unsigned int n = 0;
    if (!module)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!out || !count)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < module->n_funcs && n < count; i++) {
        if (module->funcs[i].info->global)
            continue;
        struct sim_func *func = sim_module_func(module, module->funcs[i].info->name);
        if (!func)
            return CUDA_ERROR_OUT_OF_MEMORY;
        out[n++] = func->handle;
    }
    return CUDA_SUCCESS;
}

CUresult sim_cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
    *mode = CU_MODULE_LAZY_LOADING;
    return CUDA_SUCCESS;
}
