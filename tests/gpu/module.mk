# The GPU suite. Its programs are built only where nvcc is.
GPU := $(B)/tests/gpu
GPU_PROGRAMS := launches order objects errors nested memory plugins profiled faulty doors_static doors_shared doors_per_thread
GPU_BINARIES = $(addprefix $(GPU)/,$(GPU_PROGRAMS) driver handles doors_driver)
GPU_TOOLKIT = $(patsubst %/bin/nvcc,%,$(NVCC))
GPU_DRIVER = $(firstword $(wildcard $(addsuffix /lib64/stubs/libcuda.so,$(GPU_TOOLKIT) $(CUDA_HOME_FOUND)) \
               /usr/lib/x86_64-linux-gnu/libcuda.so.1 /usr/local/nvidia/lib64/libcuda.so.1))

$(GPU)/doors_static: GPU_FLAGS := -cudart static
$(GPU)/doors_shared: GPU_FLAGS = -cudart shared -Xlinker -rpath,$(GPU_TOOLKIT)/lib64
$(GPU)/doors_per_thread: GPU_FLAGS := -cudart static --default-stream per-thread
$(GPU)/nested: GPU_FLAGS := -rdc=true -lcudadevrt
$(GPU)/memory: GPU_FLAGS = $(GPU_DRIVER)
$(GPU)/plugins $(GPU)/profiled: GPU_FLAGS := -ldl

# Profiling needs CUPTI, which not every toolkit has; what is tested with it is skipped without.
GPU_CUPTI = $(firstword $(wildcard $(addsuffix /cupti.h,$(CUDA_INC) $(GPU_TOOLKIT)/extras/CUPTI/include)))
GPU_CUPTI_LIB = $(firstword $(wildcard $(addsuffix /libcupti.so,$(GPU_TOOLKIT)/lib64 $(GPU_TOOLKIT)/extras/CUPTI/lib64)))
GPU_LIBRARIES = $(addprefix $(GPU)/,libplugin.so libplugin_copy.so \
                  $(if $(and $(GPU_CUPTI),$(GPU_CUPTI_LIB)),libcount_kernels.so))

$(GPU)/libplugin.so: tests/gpu/plugin.cu tests/gpu/gpu.h
	$(call say,NVCC,$@)
	@mkdir -p $(@D)
	$(Q)$(NVCC_ALL) -cudart static -shared -Xcompiler -fPIC $< -o $@

$(GPU)/libplugin_copy.so: $(GPU)/libplugin.so
	$(Q)cp $< $@

$(GPU)/libcount_kernels.so: tests/gpu/count_kernels.c
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -g -fPIC -fvisibility=hidden -pthread -Wall -Wextra $(if $(WERROR),-Werror) $(CUDA_CPPFLAGS) \
	  -isystem $(dir $(GPU_CUPTI)) -shared $< -o $@ $(GPU_CUPTI_LIB) -Wl,-rpath,$(dir $(GPU_CUPTI_LIB))

$(GPU)/doors_%: tests/gpu/doors.cu tests/gpu/gpu.h
	$(call say,NVCC,$@)
	@mkdir -p $(@D)
	$(Q)$(NVCC_ALL) $(GPU_FLAGS) $< -o $@

$(GPU)/%: tests/gpu/%.cu tests/gpu/gpu.h
	$(call say,NVCC,$@)
	@mkdir -p $(@D)
	$(Q)$(NVCC_ALL) $(GPU_FLAGS) $< -o $@

$(GPU)/driver $(GPU)/handles $(GPU)/doors_driver: $(GPU)/%: tests/gpu/%.c tests/gpu/driver.h
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -g -pthread -Wall -Wextra $(if $(WERROR),-Werror) $(CUDA_CPPFLAGS) $< -o $@ $(GPU_DRIVER) -ldl

# Needs no GPU: the doors on the simulated driver are held against it too (tests/bats/audit.bats).
ALL += $(B)/tests/libaudit.so

$(B)/tests/libaudit.so: tests/gpu/audit.c
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -shared $< -o $@

.PHONY: gpu-build test-gpu
gpu-build: $(B)/tests/libaudit.so $(if $(NVCC),$(GPU_BINARIES) $(GPU_LIBRARIES) $(CUDA_SAMPLES))
test-gpu: ## the tests that need a GPU (GPU_ARGS=…)
	$(Q)tests/gpu/run --build $(B) $(GPU_ARGS)
