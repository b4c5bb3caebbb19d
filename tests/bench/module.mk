# Benchmarks. The CUDA programs are built only where nvcc is; `make bench` says so where there is none.
GPU_ARCH = $(eval GPU_ARCH := $(shell tests/gpu/arch))$(GPU_ARCH)
NVCCFLAGS ?= -O2
NVCC_ALL = $(NVCC) -std=c++17 $(NVCCFLAGS) $(GPU_ARCH) -Xcompiler -Wall,-Wextra,-Wno-unused-parameter
BENCH := $(B)/bench
BENCH_LOOPS := $(BENCH)/loops

# Needs a driver to be loaded, so it is built against an empty library of the driver's name.
$(BENCH)/stub/libcuda.so:
	@mkdir -p $(@D)
	$(Q)echo | $(CC) -shared -Wl,-soname,libcuda.so.1 -x c - -o $@

$(BENCH)/libfloor.so: tests/bench/floor.c $(BENCH)/stub/libcuda.so
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -O2 -Wno-missing-prototypes $(CUDA_CPPFLAGS) -shared $< -o $@ -L$(BENCH)/stub -Wl,--no-as-needed -lcuda -ldl

$(BENCH)/%.o: tests/bench/%.cu tests/bench/loops.h
	$(call say,NVCC,$<)
	@mkdir -p $(@D)
	$(Q)$(NVCC_ALL) -c $< -o $@

$(BENCH_LOOPS): $(BENCH)/loops.o $(BENCH)/loops_rows.o
	$(call say,LD,$@)
	$(Q)$(NVCC_ALL) -cudart static $^ -o $@

# cuBLAS and cuFFT are looked for beside nvcc.
BENCH_LIBS = $(wildcard $(addprefix $(BENCH_LIB_DIR)/lib,cublas.so cufft.so))
BENCH_LIB_DIR = $(firstword $(wildcard $(addsuffix /lib64,$(patsubst %/bin/nvcc,%,$(NVCC)) $(CUDA_HOME_FOUND))))
$(BENCH)/libraries: tests/bench/libraries.cu tests/bench/loops.h
	$(call say,NVCC,$@)
	@mkdir -p $(@D)
	$(Q)$(NVCC_ALL) -cudart static $< -o $@ -L$(BENCH_LIB_DIR) -lcublas -lcufft -Xlinker -rpath,$(BENCH_LIB_DIR)

$(BENCH)/pass_through $(BENCH)/held_for: $(BENCH)/%: tests/bench/%.c $(B)/sim/libcuda.so.1 tests/bench/driver_loop.h
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -I. $(CUDA_CPPFLAGS) $(filter-out %.h,$^) -o $@ -ldl

BENCH_BUILT = $(BENCH)/libfloor.so $(BENCH)/pass_through $(BENCH)/held_for $(if $(NVCC),$(BENCH_LOOPS) $(if $(word 2,$(BENCH_LIBS)),$(BENCH)/libraries))

.PHONY: bench bench-build
bench-build: $(BENCH_BUILT)
bench: all bench-build ## GPU benchmarks: eager, shim, hand-written graph, host floor (BENCH_ARGS=…)
	$(Q)python3 tests/bench/bench.py --build $(B) $(BENCH_ARGS)

.PHONY: bench-hot
bench-hot: all ## instructions of the shim's own for one launch (valgrind, simulated driver)
	$(Q)python3 tests/bench/hot_path.py $(B)

.PHONY: bench-sim
bench-sim: all ## the policy over recorded traces and the samples on the simulated driver; needs no GPU
	$(Q)python3 tests/bench/bench_sim.py --build $(B)
