#!/usr/bin/env bats
# Set-up and the build's own checks: what is missing is named rightly, a toolkit that is newer than the hook table is noticed,
# and continuous integration runs what README says.

# shellcheck disable=SC2154  # names from helpers.bash
load helpers

setup() {
  not_sanitized 'the build is tested here'
  top=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  unset MAKEFLAGS MFLAGS MAKELEVEL C_INCLUDE_PATH CPATH
  cd "$top" || return 1
}

# compiler OPTION…: $CC is a compiler that knows no folders of headers but those.
compiler() {
  printf '#!/bin/sh\nexec gcc -nostdinc %s "$@"\n' "$*" >"$BATS_TEST_TMPDIR/cc"
  chmod +x "$BATS_TEST_TMPDIR/cc"
  export CC=$BATS_TEST_TMPDIR/cc
}

@test "a C library's headers and uthash: whichever is missing is named, and no other" {
  local headers=$BATS_TEST_TMPDIR/headers
  mkdir "$headers" "$headers/ut" "$headers/c"
  echo '#include <string.h>' >"$headers/ut/uthash.h"
  touch "$headers/c/string.h" "$headers/c/stdlib.h"
  compiler "-isystem $headers/ut"
  run -1 tests/lib/prerequisites build
  echo "$output"
  [[ $output == *'missing: stdlib.h; install with: apt-get install libc6-dev'* && $output != *uthash* ]]
  compiler "-isystem $headers/c"
  run -1 tests/lib/prerequisites build
  echo "$output"
  [[ $output == *'missing: uthash.h; install with: apt-get install uthash-dev'* && $output != *libc6* ]]
  compiler "-isystem $headers/c -isystem $headers/ut"
  run -0 tests/lib/prerequisites build
  [ -z "$output" ]
}

# newer: CUDA_HOME is a toolkit with one function more than the hook table has.
newer() {
  export CUDA_HOME=$BATS_TEST_TMPDIR/cuda
  mkdir -p "$CUDA_HOME/include"
  cp "$(tests/lib/find-cuda)/cuda.h" "$CUDA_HOME/include/"
  echo 'CUresult cuNewerThanTheTable(int flags);' >>"$CUDA_HOME/include/cuda.h"
}

@test "a driver function that is not classified: make check fails, a normal build warns" {
  local check='every driver function of the toolkit is classified'
  run -0 tests/lib/check "$build" "$check"
  [[ $output == "ok 1 - $check"* ]]
  run -0 make -n check
  [[ $output == *tests/lib/check\ * ]]
  newer
  run -1 tests/lib/check "$build" "$check"
  echo "$output"
  [[ $output == "not ok 1 - $check"*'error: cuNewerThanTheTable has no row; at run time it flushes everything'* ]]
  [[ $output == *$'\n0 passed, 1 failed, 0 skipped' ]]
  run -0 make B="$BATS_TEST_TMPDIR/b" "$BATS_TEST_TMPDIR/b/table-checked"
  echo "$output"
  lines "$output" 1
  [[ $output == *'warning: cuNewerThanTheTable has no row; at run time it flushes everything' ]]
}

@test "without python3 a build says in one line what it did not check, and checks it later" {
  newer
  mkdir "$BATS_TEST_TMPDIR/bin"
  ln -s /usr/bin/* /bin/* "$BATS_TEST_TMPDIR/bin/" 2>/dev/null || true
  rm -f "$BATS_TEST_TMPDIR"/bin/python*
  PATH=$BATS_TEST_TMPDIR/bin run -0 make B="$BATS_TEST_TMPDIR/b" "$BATS_TEST_TMPDIR/b/table-checked"
  echo "$output"
  lines "$output" 1
  [[ $output == *'not checked whether this toolkit has driver functions that the hook table lacks' ]]
  run -0 make B="$BATS_TEST_TMPDIR/b" "$BATS_TEST_TMPDIR/b/table-checked"
  [[ $output == *'warning: cuNewerThanTheTable has no row'* ]]
}

@test "each target of continuous integration is in README and in make help, as it is run" {
  local command commands
  commands=$(sed -nE "s/^step ('[^']*'|[a-z0-9-]+) (thread_sanitized )?(make .*)/\3/p" .ci/run)
  [ "$(wc -l <<<"$commands")" -ge 9 ]
  run -1 grep -nE '^ *make [^i]|&& *make ' .ci/run # nothing past these steps
  while read -r command; do
    echo "$command"
    grep -qF "\`$command\`" README.md
    run -0 make -s help
    [[ $output == *"make $(tr ' ' '\n' <<<"${command#make }" | grep -v = | head -n 1) "* ]]
  done <<<"$commands"
}
