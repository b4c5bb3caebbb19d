#!/usr/bin/env bats
# Which driver functions were bound, and by whom, as the loader's audit interface tells it (tests/gpu/audit.c): every binding of
# a hooked name to the driver must be the shim's own. An oracle that does not depend on what the shim counts.

# shellcheck disable=SC2154  # names from helpers.bash
load helpers

setup() {
  need_simulator
  not_sanitized 'the audit library is loaded before its runtime'
  audit=$build/tests/libaudit.so log=$BATS_TEST_TMPDIR/bindings
  doors=$build/doors
  [ -e "$audit" ] || skip 'the audit library is not built'
  command -v python3 >/dev/null || skip 'no python3'
  export KERNELS=$samples/kernels.ptx
}

# audited PROGRAM…: the program under the audit library, its bindings added to $log.
audited() {
  local before=0
  [ ! -e "$log" ] || before=$(wc -l <"$log")
  AUTOGRAPH_STATS=$BATS_TEST_TMPDIR/stats.%p.json AUTOGRAPH_AUDIT=$log on_simulator lazy \
    env LD_AUDIT="$audit" LD_PRELOAD="$shim" "$@" >"$BATS_TEST_TMPDIR/out" 2>&1 || return 1
  [ "$(wc -l <"$log")" -gt "$before" ]
}

# check: says which bindings of hooked names in $log are not the shim's.
check() {
  python3 "$BATS_TEST_DIRNAME/../gpu/audit_check.py" "$BATS_TEST_DIRNAME/../../shim/hook/table.def" "$log"
}

# both_submit PROGRAM…: with chunks submitted by the program's own threads, then by the shim's.
both_submit() {
  AUTOGRAPH_SUBMIT=caller audited "$@"
  AUTOGRAPH_SUBMIT=thread audited "$@"
}

@test "linked with the driver, and processes that fork" {
  both_submit "$doors/linked"
  both_submit "$doors/process" fork_first
  both_submit "$doors/failing"
  check
}

@test "dlopen and dlsym in every way" {
  both_submit "$doors/door" dlopen
  both_submit "$doors/door" path "$simulator/libcuda.so.1"
  both_submit "$doors/door" global
  both_submit "$doors/door_runpath" dlopen
  check
}

@test "the driver's own look-up, runtimes, functions that the table does not list" {
  both_submit "$doors/door" lookup
  both_submit "$doors/door" copies "$doors/libruntime_a.so:$doors/libruntime_b.so"
  both_submit "$doors/later" sequence
  check
}

@test "the samples" {
  local sample
  for sample in constant_loop memset_copy two_streams mapped_poll; do
    both_submit "$samples/$sample"
    grep -q ': ok' "$BATS_TEST_TMPDIR/out"
  done
  check
}

@test "a binding past the shim is told: a library that looks in its own libraries first" {
  ${CC:-cc} -shared -fPIC -o "$BATS_TEST_TMPDIR/plugin.so" -x c - -x none "$simulator/libcuda.so.1" <<'C'
int cuCtxSynchronize(void);
int use(void);
int use(void)
{
    return cuCtxSynchronize() == 0;
}
C
  ${CC:-cc} -o "$BATS_TEST_TMPDIR/loader" -x c - -ldl <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
int main(int argc, char **argv)
{
    void *plugin = dlopen(argv[argc - 1], RTLD_NOW | RTLD_DEEPBIND);
    return ((int (*)(void))dlsym(plugin, "use"))();
}
C
  audited "$BATS_TEST_TMPDIR/loader" "$BATS_TEST_TMPDIR/plugin.so"
  run -1 check
  echo "$output"
  [[ $output == *"missed: cuCtxSynchronize by link from $BATS_TEST_TMPDIR/plugin.so"* ]]
}
