# Pure C11: no CUDA, no I/O, no locks. One archive, linked into the shim, the tools, the tests and the fuzzers.
ANALYSIS_SRC := $(wildcard analysis/*.c)
ANALYSIS_LIB := $(B)/analysis/libanalysis.a
ALL += $(ANALYSIS_LIB)

$(ANALYSIS_LIB): $(ANALYSIS_SRC:%.c=$(B)/%.o)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^
