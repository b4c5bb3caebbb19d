# Differential fuzzing on the simulated driver; see tests/fuzz/README.md.
FUZZ_SRC := $(filter-out tests/fuzz/kernels.c,$(wildcard tests/fuzz/*.c))
FUZZ_RUN := $(B)/fuzz/fuzz-run
FUZZ_KERNELS := $(B)/fuzz/kernels.ptx.sim.so

# It finds the driver by itself, as programs do, so it is not linked with it.
$(FUZZ_RUN): $(FUZZ_SRC:%.c=$(B)/%.o)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -o $@ $^ $(LDFLAGS_ALL) -ldl

$(FUZZ_KERNELS): $(B)/tests/fuzz/kernels.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -shared -o $@ $^ $(LDFLAGS_ALL)

ALL += $(FUZZ_RUN) $(FUZZ_KERNELS)

.PHONY: fuzz
fuzz: all ## differential fuzzing on the simulated driver (FUZZ_SECONDS=N FUZZ_PROGRAMS=N FUZZ_SEED=N FUZZ_JOBS=N FUZZ_SCHEDULES=all)
	@TEST_SAN='$(SAN)' tests/fuzz/run --build '$(B)' --seconds '$(FUZZ_SECONDS)' --programs '$(FUZZ_PROGRAMS)' --seed '$(FUZZ_SEED)' --jobs '$(FUZZ_JOBS)' --schedules '$(FUZZ_SCHEDULES)'
