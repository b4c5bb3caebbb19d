# Programs that show one behaviour each, on the simulated driver: tests/bats/reports.bats runs them.
REPORT_NAMES := $(patsubst tests/reports/%.c,%,$(wildcard tests/reports/*.c))
REPORTS := $(REPORT_NAMES:%=$(B)/tests/reports/%)

$(REPORTS): CPPFLAGS_tests += $(CUDA_CPPFLAGS)
$(REPORTS): %: %.o $(B)/sim/libcuda.so.1 $(SAMPLE_KERNELS)
	$(call say,LD,$@)
	$(Q)$(CC) -o $@ $< $(B)/sim/libcuda.so.1 $(LDFLAGS_ALL)

# Code of their own, for the simulated driver.
REPORT_IMAGES := $(patsubst tests/reports/images/%.c,$(B)/tests/reports/%.sim.so,$(wildcard tests/reports/images/*.c))

$(REPORT_IMAGES): $(B)/tests/reports/%.sim.so: $(B)/tests/reports/images/%.o
	$(call say,LD,$@)
	$(Q)$(CC) -shared -o $@ $^ $(LDFLAGS_ALL)

ALL += $(REPORTS) $(REPORT_IMAGES)
