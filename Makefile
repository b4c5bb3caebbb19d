# autograph: build, test and install. `make help` lists the targets and what can be set.
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:
MAKEFLAGS += --no-builtin-rules
SHELL := /bin/bash

VERSION := 0.1.0
V ?= ## 1 shows the commands
SAN ?= ## address,undefined or thread: with that sanitizer, in a build folder of its own
comma := ,
B ?= build$(if $(SAN),-$(subst $(comma),-,$(SAN)))
PREFIX ?= /usr/local
CC ?= cc
ifeq ($(origin CC),default)
CC := cc
endif
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-6s %s\n' '$(1)' '$(2)')

# The toolkit's headers: CUDA_HOME, the usual place, beside nvcc, or a Python nvidia package.
CUDA_INC := $(shell tests/lib/find-cuda 2>/dev/null)
CUDA_HOME_FOUND := $(patsubst %/include,%,$(CUDA_INC))
NVCC ?= $(firstword $(wildcard $(CUDA_HOME_FOUND)/bin/nvcc) $(shell command -v nvcc 2>/dev/null))

# A newer compiler may warn of more: that stops `make check` and CI (WERROR=1), nobody's build.
WERROR ?= ## 1 makes errors of the compiler's warnings, as make check and CI do
WARN := -Wall -Wextra $(if $(WERROR),-Werror) -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 -Wundef -Wvla
# What a sanitizer reports needs lines only, and at -O2 its checks take twice as long to compile.
OPT ?= $(if $(SAN),-O1,-O2)
CFLAGS_ALL = -std=gnu11 $(OPT) -g$(if $(SAN),1) -fPIC -fvisibility=hidden -pthread $(WARN) -DAG_VERSION='"$(VERSION)"' \
             $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer) $(CFLAGS)
LDFLAGS_ALL = -pthread $(if $(SAN),-fsanitize=$(SAN)) $(LDFLAGS)
CUDA_CPPFLAGS = -isystem $(CUDA_INC)

ALL :=
CLEAN := $(B)

# Each folder says in its own fragment what is built from it.
include analysis/module.mk
include $(wildcard shim/module.mk tools/module.mk samples/module.mk tests/*/module.mk)

JOBS ?= $(shell nproc 2>/dev/null || echo 2)
PARALLEL = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(JOBS))
SETUP = AUTOGRAPH_SETUP=1 tests/lib/prerequisites
# The longest first, so that no processor is idle at the end; one more at once than there are processors, as some wait much.
BATS_LONG := $(wildcard $(patsubst %,tests/bats/%.bats,reports failures verify_memory doors_aarch64 doors liveness record \
               observe verify samples))
# Where a sanitizer has nothing to see every test would skip, each for a tenth of a second: tools without the shim, another
# machine's programs; for thread sanitizer also what has one thread.
BATS_SKIPPED := $(patsubst %,tests/bats/%.bats,$(if $(SAN),both gpu_suite doors_aarch64 setup) $(if $(filter thread,$(SAN)),tools trace))
BATS := $(filter-out $(BATS_SKIPPED),$(BATS_LONG) $(filter-out $(BATS_LONG),$(wildcard tests/bats/*.bats)))
SUITE_JOBS ?= $(shell expr $(JOBS) + 1)
# What the suites know about the build, and with a sanitizer about the one without.
PLAIN_B := $(if $(SAN),build)
TEST_ENV = AUTOGRAPH_BUILD='$(abspath $(B))' TEST_SAN='$(SAN)' TEST_PLAIN_BUILD='$(if $(PLAIN_B),$(abspath $(PLAIN_B)))'

.PHONY: all help clean prerequisites test test-run demo check aarch64 install uninstall
all: prerequisites $(B)/table-checked $(ALL) ## everything that is shipped, and the samples and the simulated driver

prerequisites:
	@tests/lib/prerequisites build

# A toolkit that is newer than the hook table is worth a warning, not a failed build.
$(B)/table-checked: $(wildcard shim/hook/table.def) $(CUDA_INC)/cuda.h tests/lib/check-table
	@mkdir -p $(@D)
	@if command -v python3 >/dev/null; then tests/lib/check-table --warn && touch $@; else \
		echo 'no python3: not checked whether this toolkit has driver functions that the hook table lacks' >&2; fi

$(B)/%.o: %.c | prerequisites
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(CPPFLAGS_$(firstword $(subst /, ,$<))) -I. -MMD -MP -c -o $@ $<

$(B)/%.o: %.S | prerequisites
	$(call say,AS,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(CPPFLAGS_$(firstword $(subst /, ,$<))) -I. -MMD -MP -c -o $@ $<

# Set-up comes first and in a make of its own: what it installs changes what the rest finds.
test: ## set-up and every test that needs no GPU (T=text: only suites with it in their path)
	@$(SETUP) test
	@$(MAKE) --no-print-directory $(PARALLEL) test-run

test-run: all $(UNIT_TESTS) $(SIM_TESTS) $(TEST_EXTRA)
	@$(if $(PLAIN_B),$(MAKE) --no-print-directory SAN= B=$(PLAIN_B) all)
	@$(TEST_ENV) tests/lib/run-suite -j $(SUITE_JOBS) --match '$(T)' $(filter $(BATS_LONG),$(BATS)) $(UNIT_TESTS) $(SIM_TESTS) \
		$(filter-out $(BATS_LONG),$(BATS))

demo: ## set-up, build, and a launch-bound program without and with the shim
	@$(SETUP) build
	@$(MAKE) --no-print-directory $(PARALLEL) all
	@tests/lib/demo $(B)

# What was built without WERROR says nothing about warnings, so that it has a folder of its own here.
CHECK_B := $(if $(WERROR),$(B),$(B)/strict)
check: ## no warnings, format, lint, layers, tables and docs in step
	@$(MAKE) --no-print-directory $(PARALLEL) WERROR=1 B=$(CHECK_B) all
	@tests/lib/check $(CHECK_B)

# In the folder in which the tests build the shim for that machine.
AARCH64_B := $(B)/aarch64
aarch64: ## what is shipped, for aarch64; the command starts (cross compiler, qemu-user)
	@$(MAKE) --no-print-directory $(PARALLEL) CC=aarch64-linux-gnu-gcc B=$(AARCH64_B) SAN= \
		$(addprefix $(AARCH64_B)/,libautograph.so libautograph_cuda.so autograph)
	@qemu-aarch64 -L /usr/aarch64-linux-gnu $(AARCH64_B)/autograph --version

LIBDIR = $(DESTDIR)$(PREFIX)/lib/autograph
BINDIR = $(DESTDIR)$(PREFIX)/bin
install: all ## the command and both libraries below PREFIX (default /usr/local)
	$(Q)install -d $(BINDIR) $(LIBDIR)
	$(Q)install -m 755 $(B)/autograph $(BINDIR)/
	$(Q)install -m 755 $(B)/libautograph.so $(B)/libautograph_cuda.so $(LIBDIR)/

uninstall: ## what install put there
	$(Q)rm -f $(BINDIR)/autograph $(LIBDIR)/libautograph.so $(LIBDIR)/libautograph_cuda.so
	$(Q)rmdir $(LIBDIR) 2>/dev/null || true

clean: ## the build folder
	$(Q)rm -rf $(CLEAN)

-include $(shell find $(B) -name '*.d' 2>/dev/null)

help: ## this list
	@awk -F':.*## ' '/^[a-z][a-z0-9-]*:.*## /{printf "  make %-14s %s\n",$$1,$$2}' $(MAKEFILE_LIST)
	@awk -F' [?]=.*## ' '/^[A-Z]+ [?]=.*## /{printf "  %-19s %s\n",$$1"=…",$$2}' $(MAKEFILE_LIST)
