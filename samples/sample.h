/* What the samples share: options, set-up, launching, checking. Each sample is one file with a `sample_run`.
 *
 * Every sample prints one line `name: ok checksum=<hex>` (or `name: FAILED ...`), the same in every run with the same
 * options, and with --time a second line `time_us_per_launch=<x>`. Exit status 0 or 1.
 * Any driver call that fails ends the program with one line on stderr and status 1.
 */
#ifndef SAMPLES_SAMPLE_H
#define SAMPLES_SAMPLE_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHECK(call) sample_check((call), #call, __FILE__, __LINE__)

struct sample {
    const char *name;
    unsigned int iterations; /* --iterations */
    unsigned int kernels;    /* --kernels: per iteration */
    unsigned int every;      /* --every: sync_every's k */
    uint64_t seed;           /* --seed */
    bool quiet, time;
    CUcontext context;
    CUmodule module;
    uint64_t checksum;
    uint64_t launches; /* what the time is divided by */
    uint64_t start_ns;
    double us_per_launch;
};

/* Defaults of this sample; set before the options are read. */
extern const struct sample sample_defaults;
/* The sample itself. Returns true when the result is right. */
bool sample_run(struct sample *sample);

void sample_check(CUresult result, const char *call, const char *file, int line);
CUfunction sample_kernel(struct sample *sample, const char *name);
CUdeviceptr sample_buffer(size_t bytes); /* zeroed */
void sample_launch(struct sample *sample, CUfunction kernel, unsigned int blocks, unsigned int threads, CUstream stream,
                   void **args);
void sample_start(struct sample *sample);  /* the clock runs from here */
void sample_finish(struct sample *sample); /* to here; call after the last synchronisation */
/* Copies `count` words from the device, adds them to the checksum and compares them. */
bool sample_compare(struct sample *sample, CUdeviceptr buffer, const unsigned int *expected, size_t count);
void sample_mix_checksum(struct sample *sample, const void *bytes, size_t size);
uint64_t sample_random(uint64_t *state);
uint64_t sample_now_ns(void);

/* The kernels of samples/kernels.c, computed on the host. */
void host_step(unsigned int *data, unsigned int value, size_t count);
void host_mix(unsigned int *out, const unsigned int *in, unsigned int key, size_t count);
void host_gaps(unsigned int *data, unsigned char small, unsigned short middle, double wide, size_t count);

#endif
