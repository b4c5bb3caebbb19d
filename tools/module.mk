# The command `autograph`: plain C, no CUDA headers, nothing linked but libc.
CPPFLAGS_tools := -D_GNU_SOURCE
TOOL_OBJ := $(patsubst %.c,$(B)/%.o,$(sort $(wildcard tools/*.c)))
ALL += $(B)/autograph

$(B)/autograph: $(TOOL_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ -ldl
