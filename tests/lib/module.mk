# What the suites run most often (tests/bats/helpers.bash), without the shell.
BOTH := $(B)/tests/both
ALL += $(BOTH)

$(BOTH): $(B)/tests/lib/both.o
	$(call say,LD,$@)
	$(Q)$(CC) -o $@ $^ $(LDFLAGS_ALL)
