/* Libraries that bring a CUDA runtime of their own, are opened in several ways, and go while their work is under way.
 */
#include "gpu.h"
#include <dlfcn.h>
#include <string>

typedef void train_type(unsigned *, void *, int);

static std::string plugin_path(const char *name)
{
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    std::string path(self, length > 0 ? (size_t)length : 0);
    return path.substr(0, path.rfind('/') + 1) + name;
}

static void *open_plugin(const char *name, int flags)
{
    void *handle = dlopen(plugin_path(name).c_str(), RTLD_NOW | flags);
    if (!handle) {
        printf("%s\n", dlerror());
        exit(1);
    }
    return handle;
}

static train_type *train_of(void *handle)
{
    return (train_type *)dlsym(handle, "plugin_train");
}

/* The library is closed with launches of its own and of the program pending, and opened again. */
static int closed(void)
{
    unsigned *state = device_zeros<unsigned>(64), *own = device_zeros<unsigned>(64);
    cudaStream_t stream;
    int unmapped = 0;
    OK(cudaStreamCreate(&stream));
    for (int life = 0; life < 8; life++) {
        void *handle = open_plugin("libplugin.so", RTLD_LOCAL);
        for (int k = 0; k < 10; k++) {
            train_of(handle)(state, stream, 3);
            train(state, stream, 1);
            train(own, 0, 2);
        }
        printf("close %d\n", dlclose(handle));
        unmapped += !dlopen(plugin_path("libplugin.so").c_str(), RTLD_NOW | RTLD_NOLOAD);
        train(state, stream, 5);
        if (life % 3 == 2)
            print_hash("state", state, 256);
    }
    printf("# unmapped %d times\n", unmapped);
    print_hash("state", state, 256);
    print_hash("own", own, 256);
    return 0;
}

/* Three runtimes, the program's and two copies of one library, launch on one stream in turn. */
static int copies(void)
{
    unsigned *state = device_zeros<unsigned>(64);
    cudaStream_t stream;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    void *first = open_plugin("libplugin.so", RTLD_LOCAL), *second = open_plugin("libplugin_copy.so", RTLD_LOCAL);
    for (int k = 0; k < 150; k++) {
        train_of(first)(state, stream, 1 + k % 2);
        train(state, stream, 1);
        train_of(second)(state, stream, 1);
    }
    OK(cudaStreamSynchronize(stream));
    print_hash("state", state, 256);
    must_replay(2000);
    return 0;
}

/* A library that looks for names in its own libraries first does not meet the preloaded one. */
static int deep(void)
{
    unsigned *state = device_zeros<unsigned>(64);
    cudaStream_t stream;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    train(state, stream, 100);
    void *handle = open_plugin("libplugin.so", RTLD_LOCAL | RTLD_DEEPBIND);
    for (int k = 0; k < 150; k++) {
        train(state, stream, 1);
        train_of(handle)(state, stream, 1);
    }
    OK(cudaStreamSynchronize(stream));
    print_hash("state", state, 256);
    return 0;
}

static const struct test tests[] = {{"closed", closed}, {"copies", copies}, {"deep", deep}};
TESTS_MAIN(tests)
