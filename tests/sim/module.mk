# The simulated driver and its own tests.
CPPFLAGS_tests = $(CUDA_CPPFLAGS)

SIM_SRC := $(wildcard tests/sim/*.c)
SIM_OBJ := $(SIM_SRC:%.c=$(B)/%.o)
SIM_LIB := $(B)/sim/libcuda.so.1

$(SIM_LIB): $(SIM_OBJ)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -shared -Wl,-soname,libcuda.so.1 -Wl,-Bsymbolic $(if $(SAN),,-Wl,-z,defs) -o $@ $^ $(LDFLAGS_ALL) -ldl

ALL += $(SIM_LIB)

SIM_SUITE := $(filter-out tests/sim/suite/tap.c,$(wildcard tests/sim/suite/*.c))
SIM_TESTS += $(SIM_SUITE:tests/sim/suite/%.c=$(B)/tests/sim/%)

$(SIM_SUITE:tests/sim/suite/%.c=$(B)/tests/sim/%): $(B)/tests/sim/%: $(B)/tests/sim/suite/%.o $(B)/tests/sim/suite/tap.o $(SIM_LIB) \
		$(B)/samples/kernels.ptx $(B)/samples/kernels.ptx.sim.so
	$(call say,LD,$@)
	$(Q)$(CC) -o $@ $(filter %.o,$^) $(SIM_LIB) -Wl,-rpath,'$$ORIGIN/../../sim' $(LDFLAGS_ALL)
