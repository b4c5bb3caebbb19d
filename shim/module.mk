# Everything inside the host process. libautograph.so is preloaded; libautograph_cuda.so (the facade) is what dlopen
# gives to whoever asks for libcuda.so.1: it has no code, only the two libraries whose symbols dlsym then finds in this
# order.
CPPFLAGS_shim = $(CUDA_CPPFLAGS) $(if $(SAN),-DAG_DEBUG_LOCKS)
SHIM_SRC := $(wildcard shim/*/*.c shim/*/*.S)
SHIM_OBJ := $(patsubst %.S,$(B)/%.o,$(patsubst %.c,$(B)/%.o,$(SHIM_SRC)))
ALL += $(B)/libautograph.so $(B)/libautograph_cuda.so

$(B)/libautograph.so: $(SHIM_OBJ) $(ANALYSIS_LIB) shim/preload/exports.map
	$(call say,LD,$@)
	$(Q)$(CC) -shared -o $@ $(SHIM_OBJ) $(ANALYSIS_LIB) $(LDFLAGS_ALL) -Wl,-soname,libautograph.so \
	  -Wl,--version-script=shim/preload/exports.map $(if $(SAN),,-Wl,-z,defs) -Wl,-z,nodelete -Wl,-z,now -Wl,--as-needed

# An empty library with the driver's name, to link the facade against.
$(B)/facade/libcuda.so.1:
	@mkdir -p $(@D)
	$(Q)echo 'int autograph_facade_placeholder;' | $(CC) -shared -fPIC -x c - -o $@ -Wl,-soname,libcuda.so.1

$(B)/libautograph_cuda.so: $(B)/libautograph.so $(B)/facade/libcuda.so.1
	$(call say,LD,$@)
	$(Q)echo '/* no code: see shim/preload/preload.c */' | $(CC) -shared -fPIC -x c - -o $@ -Wl,-soname,libautograph_cuda.so \
	  -Wl,--no-as-needed -x none $(B)/libautograph.so $(B)/facade/libcuda.so.1 -Wl,-z,nodelete
