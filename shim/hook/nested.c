#include "shim/hook/nested.h"

#include <stdlib.h>
#include <string.h>

#include "shim/base/real.h"
#include "shim/hook/known.h"

/* A variable of the device runtime that every program sees; none of a program's own may have such a name. */
#define VARIABLE "__CNPRT_VERSION_NUMBER__"

/* In the names of the device runtime's kernels, which are local to its translation unit:
 * "..._22_cuda_device_runtime_cu_3ecce0c0_..._memset_3d_device..." */
#define UNIT "_cuda_device_runtime_cu_"

/* The code that a function is of: one of both, or neither where the driver does not say. */
struct code {
    CUmodule module;
    CUlibrary library;
};

static struct code code_of(CUfunction function, bool is_kernel)
{
    struct code code = {NULL, NULL};
    if (is_kernel) {
        CUkernel kernel = (CUkernel)(void *)function;
#if CUDA_VERSION >= 12050
        if (ag_real.cuKernelGetLibrary(&code.library, kernel) == CUDA_SUCCESS)
            return code;
        code.library = NULL;
#endif
        if (ag_real.cuKernelGetFunction(&function, kernel) != CUDA_SUCCESS)
            return code;
    }
    if (ag_real.cuFuncGetModule(&code.module, function) != CUDA_SUCCESS)
        code.module = NULL;
    return code;
}

static bool has_variable(const struct code *code)
{
    CUdeviceptr address;
    size_t size;
    return (code->library != NULL
                    ? ag_real.cuLibraryGetGlobal(&address, &size, code->library, VARIABLE)
                    : ag_real.cuModuleGetGlobal_v2(&address, &size, code->module, VARIABLE)) == CUDA_SUCCESS;
}

static bool is_runtime_kernel(CUresult result, const char *name)
{
    return result == CUDA_SUCCESS && name != NULL && strstr(name, UNIT) != NULL;
}

static bool module_has_kernel(CUmodule module)
{
    unsigned count = 0;
    bool has = false;
    if (ag_real.cuModuleGetFunctionCount(&count, module) != CUDA_SUCCESS || count == 0)
        return false;
    CUfunction *functions = calloc(count, sizeof(CUfunction));
    if (functions != NULL && ag_real.cuModuleEnumerateFunctions(functions, count, module) == CUDA_SUCCESS)
        for (unsigned i = 0; !has && i < count && functions[i] != NULL; i++) {
            const char *name = NULL;
            CUresult result = ag_real.cuFuncGetName(&name, functions[i]);
            has = is_runtime_kernel(result, name);
        }
    free(functions);
    return has;
}

static bool library_has_kernel(CUlibrary library)
{
    unsigned count = 0;
    bool has = false;
    if (ag_real.cuLibraryGetKernelCount(&count, library) != CUDA_SUCCESS || count == 0)
        return false;
    CUkernel *kernels = calloc(count, sizeof(CUkernel));
    if (kernels != NULL && ag_real.cuLibraryEnumerateKernels(kernels, count, library) == CUDA_SUCCESS)
        for (unsigned i = 0; !has && i < count && kernels[i] != NULL; i++) {
            const char *name = NULL;
            CUresult result = ag_real.cuKernelGetName(&name, kernels[i]);
            has = is_runtime_kernel(result, name);
        }
    free(kernels);
    return has;
}

bool ag_nested(CUfunction function)
{
    int nested = ag_known_nested(function);
    if (nested >= 0)
        return nested > 0;
    size_t offset, size;
    bool is_kernel = ag_real.cuFuncGetParamInfo(function, 0, &offset, &size) == CUDA_ERROR_INVALID_HANDLE;
    const void *owner = ag_known_owner(function, is_kernel);
    struct code code = code_of(function, is_kernel);
    void *handle = code.library != NULL ? (void *)code.library : (void *)code.module;
    if (handle == NULL)
        return false;
    nested = ag_known_nested(handle);
    if (nested < 0) {
        nested = has_variable(&code) ||
                 (code.library != NULL ? library_has_kernel(code.library) : module_has_kernel(code.module));
        ag_known_set_nested(handle, owner, nested > 0);
    }
    ag_known_set_nested(function, owner, nested > 0);
    return nested > 0;
}
