# Tests of analysis/, one program for each of its modules. No CUDA, no driver.
UNIT_SRC := $(wildcard tests/unit/test_*.c)
ifneq ($(filter thread,$(SAN)),)
# Without threads there is nothing for it to see; the locks are the shim's.
UNIT_SRC := tests/unit/test_lock.c
endif
UNIT_TESTS := $(UNIT_SRC:%.c=$(B)/%)
ALL += $(UNIT_TESTS)

$(UNIT_TESTS): %: %.o $(B)/tests/unit/unit.o $(ANALYSIS_LIB)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -o $@ $(filter %.o,$^) $(ANALYSIS_LIB) $(LDFLAGS_ALL)

.PHONY: memcheck
memcheck: $(UNIT_TESTS) ## the tests of analysis/ under valgrind: no error, nothing lost
	@$(SETUP) memcheck || true
	@tests/lib/memcheck '$(SAN)' $(UNIT_TESTS)
