/* Looking up functions by name and version, and naming errors. */
#include "tests/sim/config.h"
#include "tests/sim/report.h"

static bool known(const char *symbol)
{
    for (int i = 0; i < SIM_FN_COUNT; i++)
        if (!strcmp(sim_fn_table[i].api, symbol))
            return true;
    return false;
}

CUresult sim_cuGetProcAddress_v2(const char *symbol, void **pfn, int version, cuuint64_t flags,
                                 CUdriverProcAddressQueryResult *status)
{
    if (!symbol || !pfn || flags & ~3ull)
        return CUDA_ERROR_INVALID_VALUE;
    bool per_thread = flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    const struct sim_fn_info *best = NULL;
    for (int i = 0; i < SIM_FN_COUNT; i++) {
        const struct sim_fn_info *info = &sim_fn_table[i];
        if (strcmp(info->api, symbol) || info->since > version || (unsigned long)info->since > sim_config.driver)
            continue;
        /* A per-thread variant wins when asked for, the plain one otherwise; then the newest. */
        if ((info->variant != SIM_LEGACY) && !per_thread)
            continue;
        bool better = !best || info->since > best->since ||
                      (info->since == best->since && per_thread && info->variant != SIM_LEGACY &&
                       best->variant == SIM_LEGACY);
        if (better)
            best = info;
    }
    sim_log_detail(" symbol=%s version=%d flags=%llu", symbol, version, (unsigned long long)flags);
    void *address = best ? best->address : sim_unlisted(symbol);
    *pfn = address;
    if (status)
        *status = address         ? CU_GET_PROC_ADDRESS_SUCCESS
                  : known(symbol) ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                  : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return address || status ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult sim_cuGetProcAddress(const char *symbol, void **pfn, int version, cuuint64_t flags)
{
    CUdriverProcAddressQueryResult status;
    CUresult result = sim_cuGetProcAddress_v2(symbol, pfn, version, flags, &status);
    return result ? result : status == CU_GET_PROC_ADDRESS_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult sim_cuGetExportTable(const void **table, const CUuuid *id)
{
    (void)id;
    if (table)
        *table = NULL;
    return CUDA_ERROR_NOT_FOUND;
}

/* clang-format off */
#define ERRORS(x) \
	x(CUDA_SUCCESS) x(CUDA_ERROR_INVALID_VALUE) x(CUDA_ERROR_OUT_OF_MEMORY) x(CUDA_ERROR_NOT_INITIALIZED) \
	x(CUDA_ERROR_DEINITIALIZED) x(CUDA_ERROR_NO_DEVICE) x(CUDA_ERROR_INVALID_DEVICE) x(CUDA_ERROR_INVALID_IMAGE) \
	x(CUDA_ERROR_INVALID_CONTEXT) x(CUDA_ERROR_INVALID_SOURCE) x(CUDA_ERROR_FILE_NOT_FOUND) x(CUDA_ERROR_INVALID_HANDLE) \
	x(CUDA_ERROR_ILLEGAL_STATE) x(CUDA_ERROR_LOSSY_QUERY) x(CUDA_ERROR_NOT_FOUND) x(CUDA_ERROR_NOT_READY) \
	x(CUDA_ERROR_ILLEGAL_ADDRESS) x(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES) x(CUDA_ERROR_LAUNCH_TIMEOUT) \
	x(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) x(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED) x(CUDA_ERROR_CONTEXT_IS_DESTROYED) \
	x(CUDA_ERROR_ASSERT) x(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED) x(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED) \
	x(CUDA_ERROR_MISALIGNED_ADDRESS) x(CUDA_ERROR_LAUNCH_FAILED) x(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE) \
	x(CUDA_ERROR_NOT_PERMITTED) x(CUDA_ERROR_NOT_SUPPORTED) x(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) \
	x(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) x(CUDA_ERROR_STREAM_CAPTURE_MERGE) x(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED) \
	x(CUDA_ERROR_STREAM_CAPTURE_UNJOINED) x(CUDA_ERROR_STREAM_CAPTURE_ISOLATION) x(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) \
	x(CUDA_ERROR_CAPTURED_EVENT) x(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD) x(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE) \
	x(CUDA_ERROR_INVALID_CLUSTER_SIZE) x(CUDA_ERROR_UNKNOWN)
/* clang-format on */

CUresult sim_cuGetErrorName(CUresult error, const char **text)
{
    if (!text)
        return CUDA_ERROR_INVALID_VALUE;
    switch ((int)error) {
#define CASE(code)                                                                                                     \
    case code:                                                                                                         \
        *text = #code;                                                                                                 \
        return CUDA_SUCCESS;
        ERRORS(CASE)
    default:
        *text = NULL;
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult sim_cuGetErrorString(CUresult error, const char **text)
{
    return sim_cuGetErrorName(error, text);
}
