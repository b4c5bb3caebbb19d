// Two streams that take turns: each iteration runs kernels in both, ordered by events in both directions.
#include "sample.cuh"

static __global__ void mix(unsigned *out, const unsigned *in, unsigned key, unsigned count)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = (in[i] ^ key) * 2654435761u + in[(i + 1) % count];
}

static void host_mix(std::vector<unsigned> &out, const std::vector<unsigned> &in, unsigned key)
{
    for (size_t i = 0; i < in.size(); i++)
        out[i] = (in[i] ^ key) * 2654435761u + in[(i + 1) % in.size()];
}

int main(int argc, char **argv)
{
    const unsigned count = 64;
    Sample sample("two_streams", 50, 16, 1, argc, argv);
    unsigned *buffers[2] = {sample_words(count), sample_words(count)};
    std::vector<unsigned> host[2] = {std::vector<unsigned>(count), std::vector<unsigned>(count)};
    cudaStream_t streams[2];
    cudaEvent_t events[2];
    for (int s = 0; s < 2; s++) {
        CHECK(cudaStreamCreateWithFlags(&streams[s], cudaStreamNonBlocking));
        CHECK(cudaEventCreateWithFlags(&events[s], cudaEventDisableTiming));
    }
    sample.start();
    for (unsigned i = 0; i < sample.iterations; i++) {
        for (unsigned s = 0; s < 2; s++) {
            CHECK(cudaStreamWaitEvent(streams[s], events[1 - s], 0));
            for (unsigned k = 0; k < sample.kernels; k++, sample.launches++) {
                mix<<<1, count, 0, streams[s]>>>(buffers[(s + k) % 2], buffers[(s + k + 1) % 2], i * 64 + k, count);
                CHECK(cudaGetLastError());
            }
            CHECK(cudaEventRecord(events[s], streams[s]));
        }
    }
    CHECK(cudaStreamSynchronize(streams[0]));
    CHECK(cudaStreamSynchronize(streams[1]));
    sample.finish();
    for (unsigned i = 0; i < sample.iterations; i++)
        for (unsigned s = 0; s < 2; s++)
            for (unsigned k = 0; k < sample.kernels; k++)
                host_mix(host[(s + k) % 2], host[(s + k + 1) % 2], i * 64 + k);
    bool ok = sample.compare(buffers[0], host[0]);
    ok = sample.compare(buffers[1], host[1]) && ok;
    for (int s = 0; s < 2; s++) {
        CHECK(cudaStreamDestroy(streams[s]));
        CHECK(cudaEventDestroy(events[s]));
        CHECK(cudaFree(buffers[s]));
    }
    return sample.report(ok);
}
