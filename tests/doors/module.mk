# Programs that reach the driver in every way there is, and programs that begin and end in every way (tests/bats/doors.bats).
# With a cross compiler for aarch64 at hand, the same for that machine, in a build folder of its own inside this one.
DOORS := $(B)/doors
DOOR_PROGRAMS := $(addprefix $(DOORS)/,linked door door_runpath process early failing refused_late unrepeated contents hungry later stubs absent \
  libruntime_a.so libruntime_b.so libearly.so interpose_dlsym.so interpose_dlopen.so interpose_driver.so)
ALL += $(DOOR_PROGRAMS)

$(DOORS)/process: $(B)/tests/doors/process_fork.o

$(DOORS)/linked $(DOORS)/process $(DOORS)/hungry $(DOORS)/later: $(DOORS)/%: $(B)/tests/doors/%.o $(B)/tests/doors/work.o $(B)/sim/libcuda.so.1
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -o $@ $^ $(LDFLAGS_ALL)

$(DOORS)/door: $(B)/tests/doors/door.o $(B)/tests/doors/work.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -o $@ $^ $(LDFLAGS_ALL) -ldl

$(DOORS)/failing $(DOORS)/refused_late $(DOORS)/unrepeated $(DOORS)/contents: $(DOORS)/%: $(B)/tests/doors/%.o $(B)/sim/libcuda.so.1
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -o $@ $^ $(LDFLAGS_ALL)

$(DOORS)/stubs: $(B)/tests/doors/stubs.o $(B)/shim/hook/stubs.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -o $@ $^ $(LDFLAGS_ALL)

# It looks for the driver's names, and is linked with none.
$(DOORS)/absent: $(B)/tests/doors/absent.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -o $@ $^ $(LDFLAGS_ALL) -ldl

# The driver's folder is known to this program alone.
$(DOORS)/door_runpath: $(B)/tests/doors/door.o $(B)/tests/doors/work.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -o $@ $^ $(LDFLAGS_ALL) -ldl -Wl,--enable-new-dtags,-rpath,'$$ORIGIN/../sim'

$(DOORS)/libruntime_%.so: $(B)/tests/doors/runtime.o $(B)/tests/doors/work.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -shared -o $@ $^ $(LDFLAGS_ALL) -ldl

$(DOORS)/interpose_driver.so: $(B)/tests/doors/interpose_driver.o $(patsubst %.c,$(B)/%.o,$(wildcard tests/sim/*.c))
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -shared -Wl,-z,muldefs -o $@ $^ $(LDFLAGS_ALL) -ldl

$(DOORS)/interpose_%.so: $(B)/tests/doors/interpose_%.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -shared -o $@ $^ $(LDFLAGS_ALL) -ldl

$(DOORS)/libearly.so: $(B)/tests/doors/early.o $(B)/tests/doors/work.o $(B)/sim/libcuda.so.1
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -shared -o $@ $^ $(LDFLAGS_ALL) -Wl,-soname,libearly.so

# A program that is linked with a library whose constructor launches.
$(DOORS)/early: $(DOORS)/libearly.so $(B)/sim/libcuda.so.1
	$(call say,LD,$@)
	$(Q)echo 'int early_result(void); int main(void) { return early_result(); }' | \
	  $(CC) -o $@ -x c - -x none $^ $(LDFLAGS_ALL) -Wl,-rpath,'$$ORIGIN'

# What the aarch64 machine needs: the shim, the simulated driver, the kernels and these programs.
DOORS_ALL := $(DOOR_PROGRAMS) $(B)/libautograph.so $(B)/libautograph_cuda.so $(B)/sim/libcuda.so.1 $(SAMPLE_KERNELS)
.PHONY: doors
doors: $(DOORS_ALL)

# doors_aarch64.bats would build them itself, but under its time limit.
.PHONY: doors-aarch64
doors-aarch64:
	$(Q)$(MAKE) --no-print-directory -s CC=aarch64-linux-gnu-gcc B=$(B)/aarch64 SAN= doors

ifeq ($(SAN)$(shell uname -m),x86_64)
TEST_EXTRA += $(if $(and $(shell command -v aarch64-linux-gnu-gcc),$(shell command -v qemu-aarch64)),doors-aarch64)
endif
