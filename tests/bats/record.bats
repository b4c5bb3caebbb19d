#!/usr/bin/env bats
# AUTOGRAPH_TRACE: what the shim writes, and what `autograph trace` makes of it.
# shellcheck disable=SC2154  # names from helpers.bash

load helpers

setup() {
  need_simulator
  cd "$BATS_TEST_TMPDIR" || return
  # nothing may depend on how busy the machine is
  export AUTOGRAPH_HOLD_US=1000000 AUTOGRAPH_COSTS=fixed
}

# traced PROGRAM [ARG…]: runs it with the shim and a trace in the file trace.
traced() {
  rm -f trace stats.json
  AUTOGRAPH_TRACE=$PWD/trace on_simulator_shimmed lazy "$@"
}

# traced_undisturbed PROGRAM [ARG…]: the same until no launch was held for a whole second. What the watchdog submits then
# depends on where the machine stood still, and no trace is played with that; a second is the longest that may be set.
traced_undisturbed() {
  local try
  for try in 1 2 3 4 5; do
    traced "$@"
    [ "$(statistic watchdog_flushes stats.json)" != 0 ] || return 0
    echo "disturbed, try $try"
  done
  return 1
}

# as_simulated KEY…: the simulation's only trace (out.json) and the statistics have the same numbers.
as_simulated() {
  python3 -IS -c '
import json, sys
trace = json.load(open("out.json"))["traces"][0]
stats = json.load(open("stats.json"))
trace["eager"] = sum(trace["eager"].values())
numbers = {key: (trace[key], stats[key]) for key in sys.argv[1:]}
print(numbers)
sys.exit(any(a != b for a, b in numbers.values()))' "$@"
}

# played PROGRAM [ARG…]: its trace, played once, gives the shim's own numbers.
played() {
  echo "$*"
  traced_undisturbed "$@"
  "$autograph" trace simulate --plays 1 --json trace >out.json
  as_simulated launches replayed patched retargeted builds graph_launches eager
}

@test "a trace, played once, gives the shim's own numbers" {
  for sample in $(few memset_copy mixed_kernels two_streams constant_loop changing_args double_buffer growing_grid sync_every); do
    played "$samples/$sample"
  done
}

@test "memsets and copies that cannot be held: a trace says which" {
  local program
  for program in $(few symbol_between_launches mapping_ends misaligned_memset synchronous_memory); do
    played "$build/tests/reports/$program"
    [ "$(statistic bypass.memory stats.json)" -gt 0 ]
  done
}

@test "where the system places memory says nothing about it" {
  setarch -R true || skip 'addresses cannot be fixed here'
  played setarch -R "$samples/memset_copy"
}

@test "dump: lines that can be read again, one for each launch" {
  traced "$samples/memset_copy"
  "$autograph" trace dump trace >trace.tsv
  launches=$(awk -F'\t' '$1 == "K" || $1 == "C" && $4 ~ /^cuMem(set|cpy).*Async/ { n++ } END { print n }' trace.tsv)
  [ "$launches" = "$(statistic launches stats.json)" ]
  flushes=$(awk -F'\t' '$1 == "S" { n++ } END { print n }' trace.tsv)
  holds "$flushes == $(python3 -IS -c 'import json; print(sum(json.load(open("stats.json"))["flushes"].values()))')"
  # each kernel's name and parameters
  grep -qx $'F\t[0-9]*\tstep\t8,4,4' trace.tsv
  grep -qE $'^K\t[0-9.]+\t1\t16\t[0-9]+\t1,1,1\t64,1,1\t0\t-\t[0-9a-f]{16},[0-9a-f]{8},40000000$' trace.tsv
  "$autograph" trace simulate --json trace | sed 's/"file":"[^"]*"//' >binary
  "$autograph" trace simulate --json trace.tsv | sed 's/"file":"[^"]*"//' >lines
  diff binary lines
  "$autograph" trace dump trace.tsv | diff - trace.tsv
  xz -k trace
  "$autograph" trace dump trace.xz | diff - trace.tsv
  # each memset and copy says whether it could be held, here all of them, a quarter of them from pinned memory
  [ "$(grep -cE $'^C\t.*Async.*,61675f686f6c643[23]$' trace.tsv)" = 200 ]
  [ "$(grep -cE $'^C\t.*cuMemcpyHtoDAsync_v2\t.*,61675f686f6c6433$' trace.tsv)" = 50 ]
  # traces of the version that did not say it
  { head -c 8 trace; printf '\1'; tail -c +10 trace; } >older
  sed 's/,61675f686f6c643[0-9]$//' trace.tsv >unsaid.tsv
  "$autograph" trace dump older | diff - unsaid.tsv
  "$autograph" trace simulate --json older | sed 's/"file":"[^"]*"//' >binary
  "$autograph" trace simulate --json unsaid.tsv | sed 's/"file":"[^"]*"//' >lines
  diff binary lines
}

@test "launches that are passed are traced without arguments, attributes with their values" {
  traced "$build/tests/reports/launch_attributes" >/dev/null
  "$autograph" trace dump trace >trace.tsv
  [ "$(grep -c '^K' trace.tsv)" = "$(statistic launches stats.json)" ]
  grep -qE $'^K(\t[^\t]*){7}\t[0-9]+=[0-9]+' trace.tsv
  AUTOGRAPH_MODE=off traced "$samples/constant_loop"
  [ ! -e trace ]
}

@test "large arguments, several threads, captures: everything can be read back" {
  for program in $(few contexts_and_threads unload_beside_launches large_arguments capture_given_up fork_beside_launches); do
    plain=$(on_simulator lazy "$build/tests/reports/$program" 2>&1)
    [ "$(traced "$build/tests/reports/$program" 2>&1)" = "$plain" ]
    "$autograph" trace dump trace >trace.tsv
    [ "$(grep -c '^K' trace.tsv)" -gt 0 ]
    "$autograph" trace simulate trace >/dev/null
  done
}

@test "a path that cannot be written: one line, and the program runs as before" {
  plain=$(on_simulator lazy "$samples/constant_loop")
  for path in "$PWD/no/such/folder/trace" "$PWD" /dev/full; do
    AUTOGRAPH_TRACE=$path run -0 --separate-stderr on_simulator_shimmed lazy "$samples/constant_loop"
    [ "$output" = "$plain" ]
    echo "$stderr"
    lines "$stderr" 1
    [[ $stderr == "autograph: cannot write the trace to $path: "* ]]
    [ "$(statistic replayed stats.json)" -gt 0 ]
  done
  # a pipe without a reader is not waited for
  mkfifo pipe
  AUTOGRAPH_TRACE=$PWD/pipe run -0 --separate-stderr on_simulator_shimmed lazy "$samples/constant_loop"
  lines "$stderr" 1
}

@test "%p is the process id; processes without CUDA leave no trace" {
  AUTOGRAPH_TRACE=$PWD/trace.%p on_simulator_shimmed lazy sh -c 'echo $$ >pid; exec "$0"' "$samples/constant_loop"
  [ -s "trace.$(cat pid)" ]
  [ "$(find . -name 'trace.*' | wc -l)" = 1 ]
}

@test "two processes, one path: the first one has it" {
  AUTOGRAPH_TRACE=$PWD/trace run -0 --separate-stderr on_simulator_shimmed lazy flock trace "$samples/constant_loop"
  [[ $stderr == *'cannot write the trace to'*busy* ]]
  [ ! -s trace ]
}

@test "children of fork leave the file alone" {
  for way in exit exec early; do
    traced "$build/tests/reports/fork_ways" "$way" >/dev/null
    "$autograph" trace dump trace >trace.tsv
    [ "$(grep -c '^K' trace.tsv)" -gt 0 ]
  done
}

@test "a process that is killed leaves whole records" {
  for delay in 0.02 0.1 0.3; do
    rm -f trace
    AUTOGRAPH_TRACE=$PWD/trace on_simulator_shimmed eager timeout -s KILL "$delay" "$samples/constant_loop" 4000 100 || true
    [ ! -s trace ] || "$autograph" trace dump trace >/dev/null
  done
}

@test "a last record that is cut off is left out, and a line says so" {
  one_thread
  traced "$samples/mixed_kernels"
  "$autograph" trace dump trace >whole.tsv
  for less in 4 $(($(stat -c %s trace) / 2 + 4)); do
    head -c -"$less" trace >short
    run -0 --separate-stderr "$autograph" trace dump short
    [[ $stderr == 'autograph: short: the last record is cut off, its '*' bytes are left out' ]]
    echo "$output" >short.tsv
    kept=$(wc -l <short.tsv)
    holds "$kept < $(wc -l <whole.tsv)"
    head -n "$kept" whole.tsv | diff - short.tsv
  done
  [ "$kept" -gt 100 ]
}

@test "damaged traces are refused" {
  one_thread
  traced "$samples/mixed_kernels"
  { head -c 16 trace; printf '\0\0\0\1'; tail -c +21 trace; } >long
  run -2 "$autograph" trace dump long
  [[ $output == 'autograph: long: at byte 16: a record is damaged' ]]
  head -c 12 trace >header
  run -2 "$autograph" trace dump header
  { head -c 8 trace; printf '\3\0\0\0'; tail -c +13 trace; } >version
  run -2 "$autograph" trace dump version
  [[ $output == *'another version or machine' ]]
  { head -c 16 trace; printf '\3\0\0\0'; tail -c +21 trace; } >record
  run -2 "$autograph" trace dump record
  [[ $output == *'at byte 16: a record is damaged' ]]
  run -2 "$autograph" trace dump
  [[ $output == *'takes one file'* ]]
  # whatever is changed, it is refused or read, never more
  python3 -IS - "$autograph" <<'PYTHON'
import random, subprocess, sys
whole = open("trace", "rb").read()
random.seed(1)
for _ in range(150):
    changed = bytearray(whole[: random.randrange(64, 20000) & ~7])
    for _ in range(random.randrange(1, 6)):
        changed[random.randrange(16, len(changed))] = random.randrange(256)
    open("changed", "wb").write(changed)
    for command in (["dump", "changed"], ["simulate", "--plays", "1", "changed"]):
        done = subprocess.run([sys.argv[1], "trace", *command], capture_output=True)
        assert done.returncode in (0, 2), done
        assert done.returncode == 0 or (done.stdout == b"" and done.stderr.count(b"\n") == 1), done
PYTHON
}
