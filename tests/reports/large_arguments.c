/* large_arguments: a block of 4000 bytes of which one word changes, and a structure whose padding is random. */
#include "tests/reports/reports.h"

struct pair {
    unsigned char tag;
    unsigned factor;
    unsigned long long bias;
};

int main(void)
{
    report_open();
    CUfunction large = report_kernel(module, "large_argument"), by_value = report_kernel(module, "by_value");
    CUdeviceptr data = report_memory(4), other = report_memory(4);
    CUstream stream;
    static unsigned words[1000];
    unsigned expected = 0, other_expected = 0, count = 1;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < 1000; i++) {
        struct pair pair;
        unsigned sum = 0;
        memset(&pair, (int)(i * 37), sizeof pair);
        pair.tag = 3;
        pair.factor = 5;
        pair.bias = i;
        words[997] = i;
        words[i % 1000]++;
        for (unsigned k = 0; k < 1000; k++)
            sum = sum * 31u + words[k];
        void *args[] = {words, &data}, *more[] = {&pair, &other, &count};
        CHECK(cuLaunchKernel(large, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL));
        CHECK(cuLaunchKernel(by_value, 1, 1, 1, 1, 1, 1, 0, stream, more, NULL));
        memset(&pair, 255, sizeof pair); /* the bytes were taken at the call */
        expected = expected * 3u + sum;
        other_expected = other_expected * 5u + i + 3u;
    }
    CHECK(cuStreamSynchronize(stream));
    bool same = report_word(data) == expected && report_word(other) == other_expected;
    printf("%s\n", same ? "sums right" : "sums WRONG");
    return same ? 0 : 1;
}
