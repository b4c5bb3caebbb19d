// Synchronises after every k launches (--every k): how early is held work submitted, and what does it cost?
#include "sample.cuh"

int main(int argc, char **argv)
{
    const unsigned count = 64;
    Sample sample("sync_every", 20, 100, 20, argc, argv);
    unsigned *data = sample_words(count);
    std::vector<unsigned> expected(count);
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    sample.start();
    for (unsigned i = 0; i < sample.iterations; i++) {
        for (unsigned k = 0; k < sample.kernels; k++) {
            step<<<1, count, 0, stream>>>(data, i + k, count);
            CHECK(cudaGetLastError());
            if (++sample.launches % sample.every == 0)
                CHECK(cudaStreamSynchronize(stream));
        }
    }
    CHECK(cudaStreamSynchronize(stream));
    sample.finish();
    for (unsigned i = 0; i < sample.iterations; i++)
        for (unsigned k = 0; k < sample.kernels; k++)
            host_step(expected, i + k);
    bool ok = sample.compare(data, expected);
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(data));
    return sample.report(ok);
}
