// The normal case: the same kernels in every iteration, other arguments each time; two kernels with different layouts.
#include "sample.cuh"

static __global__ void gaps(unsigned char small, unsigned *data, unsigned short middle, double wide, unsigned count)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        data[i] = data[i] * 5u + small + 256u * middle + static_cast<unsigned>(wide);
}

static void host_gaps(std::vector<unsigned> &data, unsigned char small, unsigned short middle, double wide)
{
    for (unsigned &word : data)
        word = word * 5u + small + 256u * middle + static_cast<unsigned>(wide);
}

int main(int argc, char **argv)
{
    const unsigned count = 64;
    Sample sample("changing_args", 20, 100, 1, argc, argv);
    unsigned *data = sample_words(count);
    std::vector<unsigned> expected(count);
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    sample.start();
    for (unsigned i = 0; i < sample.iterations; i++) {
        for (unsigned k = 0; k < sample.kernels; k++, sample.launches++) {
            if (k % 3 == 2)
                gaps<<<1, count, 0, stream>>>(static_cast<unsigned char>(i + k), data,
                                              static_cast<unsigned short>(i * 7), k * 2.0, count);
            else
                step<<<1, count, 0, stream>>>(data, i * 1000 + k, count);
            CHECK(cudaGetLastError());
        }
    }
    CHECK(cudaStreamSynchronize(stream));
    sample.finish();
    for (unsigned i = 0; i < sample.iterations; i++) {
        for (unsigned k = 0; k < sample.kernels; k++) {
            if (k % 3 == 2)
                host_gaps(expected, static_cast<unsigned char>(i + k), static_cast<unsigned short>(i * 7), k * 2.0);
            else
                host_step(expected, i * 1000 + k);
        }
    }
    bool ok = sample.compare(data, expected);
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(data));
    return sample.report(ok);
}
