# autograph: build, test and install. `make help` lists the targets; V=1 shows the commands, SAN=address,undefined or
# SAN=thread builds into a folder of its own with that sanitizer.
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules
SHELL := /bin/bash

VERSION := 0.1.0
SAN ?=
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

WARN := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 -Wundef -Wvla
OPT ?= -O2
CFLAGS_ALL = -std=gnu11 $(OPT) -g -fPIC -fvisibility=hidden -pthread $(WARN) -DAG_VERSION='"$(VERSION)"' \
             $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer) $(CFLAGS)
LDFLAGS_ALL = -pthread $(if $(SAN),-fsanitize=$(SAN)) $(LDFLAGS)
CUDA_CPPFLAGS = -isystem $(CUDA_INC)

ALL :=
CLEAN := $(B)

# Each folder says in its own fragment what is built from it.
include analysis/module.mk
include $(wildcard shim/module.mk tools/module.mk samples/module.mk tests/*/module.mk)

.PHONY: all help clean
all: prerequisites $(ALL)

.PHONY: prerequisites
prerequisites:
	@tests/lib/prerequisites build

$(B)/%.o: %.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(CPPFLAGS_$(firstword $(subst /, ,$<))) -I. -MMD -MP -c -o $@ $<

$(B)/%.o: %.S
	$(call say,AS,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(CPPFLAGS_$(firstword $(subst /, ,$<))) -I. -MMD -MP -c -o $@ $<

clean:
	$(Q)rm -rf $(CLEAN)

-include $(shell find $(B) -name '*.d' 2>/dev/null)

help: ## this list
	@awk -F':.*## ' '/^[a-z][a-z-]*:.*## /{printf "  make %-14s %s\n",$$1,$$2}' $(MAKEFILE_LIST)
