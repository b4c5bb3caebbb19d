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
