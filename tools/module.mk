# The command `autograph`: plain C, no CUDA headers, nothing linked but libc and, for traces, the pure analysis code.
CPPFLAGS_tools := -D_GNU_SOURCE
TOOL_OBJ := $(patsubst %.c,$(B)/%.o,$(sort $(wildcard tools/*.c)))
ALL += $(B)/autograph

$(B)/autograph: $(TOOL_OBJ) $(if $(wildcard tools/trace*.c),$(ANALYSIS_LIB))
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ -ldl
