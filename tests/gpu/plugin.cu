/* A library with a CUDA runtime of its own, for plugins.cu: it works on what it is given. */
#include "gpu.h"

extern "C" void plugin_train(unsigned *state, void *stream, int rounds)
{
    train(state, (cudaStream_t)stream, rounds);
}
