/* Stream memory operations, prefetches and hints. */
#include "tests/sim/core.h"
#include "tests/sim/report.h"

static CUresult value_op(enum sim_task_kind kind, CUstream handle, CUdeviceptr address, uint64_t value,
                         unsigned int bytes, unsigned int flags)
{
    struct sim_stream *stream;
    CUresult result = sim_stream_find(handle, &stream);
    if (result)
        return result;
    if (!sim_range_find((uintptr_t)address) || address % bytes)
        return CUDA_ERROR_INVALID_VALUE;
    if (stream->capture)
        return CUDA_ERROR_NOT_SUPPORTED;
    struct sim_task task = {.kind = kind};
    task.u.value.address = (void *)(uintptr_t)address;
    task.u.value.value = value;
    task.u.value.bytes = bytes;
    task.u.value.flags = flags;
    sim_log_detail(" at=%#llx value=%llu", (unsigned long long)address, (unsigned long long)value);
    return sim_stream_submit(stream, &task, NULL);
}

CUresult sim_cuStreamWriteValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned int flags)
{
    return value_op(SIM_TASK_WRITE, stream, address, value, 4, flags);
}
SIM_ALSO(cuStreamWriteValue32_ptsz, cuStreamWriteValue32);
SIM_ALSO(cuStreamWriteValue32_v2, cuStreamWriteValue32);
SIM_ALSO(cuStreamWriteValue32_v2_ptsz, cuStreamWriteValue32);

CUresult sim_cuStreamWriteValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int flags)
{
    return value_op(SIM_TASK_WRITE, stream, address, value, 8, flags);
}
SIM_ALSO(cuStreamWriteValue64_ptsz, cuStreamWriteValue64);
SIM_ALSO(cuStreamWriteValue64_v2, cuStreamWriteValue64);
SIM_ALSO(cuStreamWriteValue64_v2_ptsz, cuStreamWriteValue64);

CUresult sim_cuStreamWaitValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned int flags)
{
    return value_op(SIM_TASK_WAITVALUE, stream, address, value, 4, flags);
}
SIM_ALSO(cuStreamWaitValue32_ptsz, cuStreamWaitValue32);
SIM_ALSO(cuStreamWaitValue32_v2, cuStreamWaitValue32);
SIM_ALSO(cuStreamWaitValue32_v2_ptsz, cuStreamWaitValue32);

CUresult sim_cuStreamWaitValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int flags)
{
    return value_op(SIM_TASK_WAITVALUE, stream, address, value, 8, flags);
}
SIM_ALSO(cuStreamWaitValue64_ptsz, cuStreamWaitValue64);
SIM_ALSO(cuStreamWaitValue64_v2, cuStreamWaitValue64);
SIM_ALSO(cuStreamWaitValue64_v2_ptsz, cuStreamWaitValue64);

CUresult sim_cuStreamBatchMemOp(CUstream stream, unsigned int count, CUstreamBatchMemOpParams *ops, unsigned int flags)
{
    CUresult result = count && ops && !flags ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    for (unsigned int i = 0; !result && i < count; i++) {
        const CUstreamBatchMemOpParams *op = &ops[i];
        if (op->operation == CU_STREAM_MEM_OP_WAIT_VALUE_32)
            result = sim_cuStreamWaitValue32(stream, op->waitValue.address, op->waitValue.value, op->waitValue.flags);
        else if (op->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64)
            result = sim_cuStreamWaitValue64(stream, op->waitValue.address, op->waitValue.value64, op->waitValue.flags);
        else if (op->operation == CU_STREAM_MEM_OP_WRITE_VALUE_32)
            result = sim_cuStreamWriteValue32(stream, op->writeValue.address, op->writeValue.value,
                                              op->writeValue.flags);
        else if (op->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64)
            result = sim_cuStreamWriteValue64(stream, op->writeValue.address, op->writeValue.value64,
                                              op->writeValue.flags);
        else if (op->operation != CU_STREAM_MEM_OP_BARRIER)
            result = CUDA_ERROR_NOT_SUPPORTED;
    }
    return result;
}
SIM_ALSO(cuStreamBatchMemOp_ptsz, cuStreamBatchMemOp);
SIM_ALSO(cuStreamBatchMemOp_v2, cuStreamBatchMemOp);
SIM_ALSO(cuStreamBatchMemOp_v2_ptsz, cuStreamBatchMemOp);

/* A prefetch moves nothing here, but takes its place in the stream. */
static CUresult prefetch(CUdeviceptr address, CUstream handle)
{
    struct sim_stream *stream;
    struct sim_task task = {.kind = SIM_TASK_EMPTY};
    CUresult result = sim_stream_find(handle, &stream);
    if (result)
        return result;
    struct sim_range *range = sim_range_find((uintptr_t)address);
    if (!range || range->kind != SIM_MEM_MANAGED)
        return CUDA_ERROR_INVALID_VALUE;
    return sim_stream_submit(stream, &task, NULL);
}

CUresult sim_cuMemPrefetchAsync(CUdeviceptr address, size_t size, CUdevice device, CUstream stream)
{
    (void)size, (void)device;
    return prefetch(address, stream);
}
SIM_ALSO(cuMemPrefetchAsync_ptsz, cuMemPrefetchAsync);

CUresult sim_cuMemPrefetchAsync_v2(CUdeviceptr address, size_t size, CUmemLocation where, unsigned int flags,
                                   CUstream stream)
{
    (void)size, (void)where, (void)flags;
    return prefetch(address, stream);
}
SIM_ALSO(cuMemPrefetchAsync_v2_ptsz, cuMemPrefetchAsync_v2);

CUresult sim_cuStreamAttachMemAsync(CUstream stream, CUdeviceptr address, size_t size, unsigned int flags)
{
    (void)size, (void)flags;
    return prefetch(address, stream);
}
SIM_ALSO(cuStreamAttachMemAsync_ptsz, cuStreamAttachMemAsync);

CUresult sim_cuMemAdvise(CUdeviceptr address, size_t size, CUmem_advise advice, CUdevice device)
{
    (void)size, (void)advice, (void)device;
    return sim_range_find((uintptr_t)address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuMemAdvise_v2(CUdeviceptr address, size_t size, CUmem_advise advice, CUmemLocation where)
{
    (void)where;
    return sim_cuMemAdvise(address, size, advice, 0);
}

/* ---- user objects: counted, destroyed on the calling thread ---- */
struct object {
    void *pointer;
    CUhostFn destroy;
    unsigned int refs;
};

CUresult sim_cuUserObjectCreate(CUuserObject *out, void *pointer, CUhostFn destroy, unsigned int refs,
                                unsigned int flags)
{
    struct object *object = calloc(1, sizeof(*object));
    if (!object || !out || !destroy || !refs || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) {
        free(object);
        return CUDA_ERROR_INVALID_VALUE;
    }
    *object = (struct object){pointer, destroy, refs};
    *out = sim_handle_make(SIM_USEROBJ, object);
    return CUDA_SUCCESS;
}

CUresult sim_cuUserObjectRetain(CUuserObject handle, unsigned int count)
{
    struct object *object = sim_handle_object(SIM_USEROBJ, handle);
    if (!object)
        return CUDA_ERROR_INVALID_VALUE;
    object->refs += count;
    return CUDA_SUCCESS;
}

CUresult sim_cuUserObjectRelease(CUuserObject handle, unsigned int count)
{
    struct object *object = sim_handle_object(SIM_USEROBJ, handle);
    if (!object || object->refs < count)
        return CUDA_ERROR_INVALID_VALUE;
    object->refs -= count;
    if (object->refs)
        return CUDA_SUCCESS;
    sim_handle_free(SIM_USEROBJ, handle);
    bool outer = sim_self.in_callback;
    sim_self.in_callback = true; /* no CUDA call is legal in a destructor: it returns before the lock is asked for */
    object->destroy(object->pointer);
    sim_self.in_callback = outer;
    free(object);
    return CUDA_SUCCESS;
}
