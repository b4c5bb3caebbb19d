#!/usr/bin/env bats
# shellcheck disable=SC2154
# AUTOGRAPH_SUBMIT=thread: whole chunks are submitted by a thread of the shim's own. The fuzzer runs this mode as well.

load helpers

setup() {
  need_simulator
  export AUTOGRAPH_SUBMIT=thread AUTOGRAPH_HOLD_US=20000
}

# handed SAMPLE SHARE [ARG…]: the same output under each schedule, chunks were handed over, SHARE percent was replayed.
handed() {
  local sample=$1 share=$2
  shift 2
  same_with_shim "$sample" "$@"
  holds "$(statistic handed_over) > 0"
  holds "$(statistic launches) == $(statistic replayed) + $(statistic eager)"
  holds "100 * $(statistic replayed) >= $share * $(statistic launches)"
  [ "$(statistic failures)" = 0 ]
}

@test "constant arguments" { handed constant_loop 90; }
@test "changing arguments" { handed changing_args 75; }
@test "two streams with events" { handed two_streams 90; }
@test "memsets and copies" { handed memset_copy 90; }
@test "a synchronise every few launches" { handed sync_every 90; }

@test "verify mode finds nothing" {
  AUTOGRAPH_MODE=verify handed double_buffer 90
  [ "$(statistic divergences)" = 0 ]
}

@test "a program that launches and goes to sleep: what was handed over reaches the device" {
  AUTOGRAPH_CHUNK_MIN=1 AUTOGRAPH_CHUNK_MAX=1 AUTOGRAPH_HOLD_US=1000000 same_with_shim mapped_poll
  holds "$(statistic handed_over) > 0"
}

@test "graphs that fail in that thread change nothing" {
  local call
  for call in cuGraphLaunch cuGraphInstantiateWithFlags cuGraphExecKernelNodeSetParams_v2; do
    for code in 2 801 999; do
      SIM_OPTIONS="fail=$call:3+:$code" same_with_shim changing_args
      echo "$call $code: $(statistic failures) failures"
      holds "$(statistic failures) > 0"
    done
  done
}

@test "an error of the device is told" {
  local when
  for when in first known; do
    under eager -w 0 "$build/tests/reports/sticky_error" "$when" stream
  done
}

@test "fixed costs: auto hands nothing over" {
  AUTOGRAPH_SUBMIT=auto same_with_shim constant_loop
  [ "$(statistic handed_over)" = 0 ]
}

@test "measured costs: auto changes no result" {
  AUTOGRAPH_SUBMIT=auto AUTOGRAPH_COSTS=measured same_with_shim changing_args
  AUTOGRAPH_SUBMIT=auto AUTOGRAPH_COSTS=measured same_with_shim two_streams
}
