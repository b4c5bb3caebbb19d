// The ideal case: the same hundred tiny kernels with the same arguments in every iteration, one synchronisation at the end.
#include "sample.cuh"

int main(int argc, char **argv)
{
    const unsigned count = 64;
    Sample sample("constant_loop", 20, 100, 1, argc, argv);
    unsigned *data = sample_words(count);
    std::vector<unsigned> expected(count);
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    sample.start();
    for (unsigned i = 0; i < sample.iterations; i++) {
        for (unsigned k = 0; k < sample.kernels; k++, sample.launches++) {
            step<<<1, count, 0, stream>>>(data, k, count);
            CHECK(cudaGetLastError());
        }
    }
    CHECK(cudaStreamSynchronize(stream));
    sample.finish();
    for (unsigned i = 0; i < sample.iterations; i++)
        for (unsigned k = 0; k < sample.kernels; k++)
            host_step(expected, k);
    bool ok = sample.compare(data, expected);
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(data));
    return sample.report(ok);
}
