# Samples: the smallest programs that show a behaviour, linked against whichever libcuda.so.1 is found at run time.
CPPFLAGS_samples = $(CUDA_CPPFLAGS)

SAMPLE_NAMES := $(patsubst samples/%.c,%,$(filter-out samples/sample.c samples/kernels.c,$(wildcard samples/*.c)))
SAMPLES := $(SAMPLE_NAMES:%=$(B)/samples/%)
SAMPLE_KERNELS := $(B)/samples/kernels.ptx $(B)/samples/kernels.ptx.sim.so

$(SAMPLES): $(B)/samples/%: $(B)/samples/%.o $(B)/samples/sample.o $(B)/sim/libcuda.so.1 $(SAMPLE_KERNELS)
	$(call say,LD,$@)
	$(Q)$(CC) -o $@ $(filter %.o,$^) $(B)/sim/libcuda.so.1 $(LDFLAGS_ALL)

$(B)/samples/kernels.ptx: samples/kernels.ptx
	@mkdir -p $(@D)
	$(Q)cp $< $@

$(B)/samples/kernels.ptx.sim.so: $(B)/samples/kernels.o
	$(call say,LD,$@)
	$(Q)$(CC) -shared -o $@ $^ $(LDFLAGS_ALL)

ALL += $(SAMPLES) $(SAMPLE_KERNELS)

# The committed PTX lets machines without nvcc run the samples on a GPU. Its version is lowered to the oldest that can
# express it, so that older drivers load it; ptxas checks that it still can.
.PHONY: samples-ptx
samples-ptx: ## refresh samples/kernels.ptx (needs nvcc)
	$(call say,NVCC,samples/kernels.ptx)
	$(Q)$(NVCC) -ptx -x cu -arch=compute_75 -I. -o $(B)/kernels.new.ptx samples/kernels.c
	$(Q)sed -i -e 's/^\.version .*/.version 6.4/' -e '/^\/\/ Compiler Build ID/d' $(B)/kernels.new.ptx
	$(Q)$(dir $(NVCC))ptxas -arch=sm_75 -o /dev/null $(B)/kernels.new.ptx
	$(Q)mv $(B)/kernels.new.ptx samples/kernels.ptx

# The same programs written with <<<>>>, linked with the static runtime. They need a GPU to run and nvcc to build.
CUDA_SAMPLES := $(patsubst samples/cuda/%.cu,$(B)/samples/cuda/%,$(wildcard samples/cuda/*.cu))
ARCHS := -gencode arch=compute_75,code=[sm_75,compute_75] -gencode arch=compute_90,code=sm_90

.PHONY: samples-cuda
samples-cuda: $(if $(NVCC),$(CUDA_SAMPLES)) ## the <<<>>> versions of the samples (needs nvcc)
	$(if $(NVCC),,@echo 'nvcc was not found: the <<<>>> samples were not built')

$(B)/samples/cuda/%: samples/cuda/%.cu samples/cuda/sample.cuh
	$(call say,NVCC,$@)
	@mkdir -p $(@D)
	$(Q)$(NVCC) -O2 -std=c++17 -cudart static $(ARCHS) -o $@ $<
