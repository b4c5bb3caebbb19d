#!/usr/bin/env bats
# Verify mode: every node is read back before each graph launch; the simulated driver gets nodes wrong on request (its
# `corrupt` setting).

# shellcheck disable=SC2154  # names from helpers.bash
load helpers

setup() {
  need_simulator
  export KERNELS=$samples/kernels.ptx
  failing=$build/doors/failing
  stats=$BATS_TEST_TMPDIR/stats.json
  report=$BATS_TEST_TMPDIR/report
}

# verified SCHEDULE COMMAND…: in verify mode; SIM_OPTIONS as for on_simulator.
verified() {
  # a busy machine must not look like a program that pauses
  AUTOGRAPH_MODE=${MODE-verify} AUTOGRAPH_HOLD_US=${HOLD-20000} AUTOGRAPH_LOG=warn AUTOGRAPH_STATS=$stats \
    on_simulator "$1" env LD_PRELOAD="$shim" "${@:2}"
}

# number KEY: of the statistics file.
number() {
  statistic "$1" "$stats"
}

# calls PATTERN: how often functions with such a name were called, from the simulator's report.
calls() {
  grep -oE "\"($1)\": *[0-9]+" "$report" | awk -F: '{ n += $2 } END { print n + 0 }'
}

@test "every sample under every schedule: same output, no divergence, as many nodes read as were launched" {
  local sample schedule plain
  for sample in constant_loop changing_args double_buffer growing_grid two_streams memset_copy sync_every mixed_kernels \
    mapped_poll; do
    for schedule in "${schedules[@]}"; do
      echo "$sample, $schedule"
      plain=$(on_simulator "$schedule" "$samples/$sample")
      rm -f "$report"
      # the host polls: there the watchdog submits
      HOLD=$([ "$sample" = mapped_poll ] && echo 200 || echo 20000) SIM_OPTIONS=report=$report \
        run -0 verified "$schedule" "$samples/$sample"
      echo "$output"
      [ "$output" = "$plain" ]
      [ "$(number divergences) $(number failures)" = '0 0' ]
      [ "$sample" = mapped_poll ] || [ "$((2 * $(number replayed)))" -ge "$(number launches)" ]
      [ "$(calls 'cuGraph(Kernel|Memset|Memcpy)NodeGetParams\w*')" = "$(number replayed)" ]
      [ "$(calls 'cuGraph(Kernel|Memset|Memcpy)NodeSetParams\w*')" = "$(calls 'cuGraphExec\w*NodeSetParams\w*')" ]
    done
  done
}

@test "in replay mode nothing is read" {
  MODE=replay SIM_OPTIONS=report=$report run -0 verified lazy "$samples/mixed_kernels"
  [ "$(number replayed)" -gt 0 ]
  [ "$(calls 'cuGraph(Kernel|Memset|Memcpy)Node[GS]etParams\w*')" = 0 ]
}

# noticed LINE SETTING…: with a node that the driver got wrong so, the result is right, and a line with this text is there.
noticed() {
  local line=$1 setting bad=0
  shift
  for setting; do
    SIM_OPTIONS=corrupt=$setting run --separate-stderr verified lazy "$failing"
    if [ "$status" != 0 ] || [ "$output" != "$plain" ] || [ "$(number divergences)" -lt 1 ] ||
      [ "$(number failures)" != 0 ] || [[ $stderr != *'autograph: warn: verify: node '*" of "*"$line"* ]]; then
      echo "$setting: status $status, $(number divergences) divergences, $(number failures) failures"
      diff <(echo "$plain") <(echo "$output") | head -n 6
      printf '%s\n' "$stderr" | head -n 3
      bad=1
    fi
  done
  return "$bad"
}

@test "whatever the driver gets wrong in a node is noticed, and the program's results are right" {
  local nth plain bad=0 add set
  plain=$(on_simulator lazy "$failing")
  for nth in $(few -1 1+ 2); do
    add=cuGraphAddKernelNode_v2:$nth set=cuGraphKernelNodeSetParams_v2:$nth
    noticed 'argument 0 is 0x' "$add:0" "$set:0" || bad=1
    noticed 'argument 1 is 0x' "$add:8" "$set:8" || bad=1
    noticed 'the function is' "$add:function" "$set:function" || bad=1
    noticed "the grid's x is 0x2, the program issued 0x1" "$add:grid" "$set:grid" || bad=1
    noticed "the block's x is 0x41, the program issued 0x40" "$add:block" "$set:block" || bad=1
    noticed 'shared memory is' "$add:shared" "$set:shared" || bad=1
    add=cuGraphAddMemsetNode:$nth set=cuGraphMemsetNodeSetParams:$nth
    noticed 'the target is' "$add:target" "$set:target" || bad=1
    noticed 'the value is' "$add:value" "$set:value" || bad=1
    noticed "the element's size is" "$add:element" "$set:element" || bad=1
    noticed 'the width is' "$add:size" "$set:size" || bad=1
    add=cuGraphAddMemcpyNode:$nth set=cuGraphMemcpyNodeSetParams:$nth
    noticed 'the target is' "$add:target" "$set:target" || bad=1
    noticed 'the source is' "$add:source" "$set:source" || bad=1
    noticed 'the size is' "$add:size" "$set:size" || bad=1
  done
  [ "$bad" = 0 ]
}

@test "one wrong node is one divergence and one line; its graph is built anew and replayed" {
  SIM_OPTIONS=corrupt=cuGraphKernelNodeSetParams_v2:7:8 run -0 --separate-stderr verified eager "$samples/constant_loop"
  printf '%s\n' "$stderr"
  [ "$output" = "$(on_simulator eager "$samples/constant_loop")" ]
  [ "$(number divergences)" = 1 ]
  lines "$stderr" 1
  [ "$((2 * $(number replayed)))" -ge "$(number launches)" ]
  [ "$(number builds)" -gt 1 ]
}

@test "work that never repeats goes out through templates: their nodes are read too" {
  local plain setting
  plain=$(on_simulator lazy "$build/doors/unrepeated")
  SIM_OPTIONS=report=$report run -0 verified lazy "$build/doors/unrepeated"
  [ "$output" = "$plain" ]
  [ "$(number retargeted)" -gt 100 ] && [ "$(number divergences)" = 0 ]
  [ "$(calls 'cuGraphKernelNodeGetParams\w*')" = "$(number replayed)" ]
  # here nothing else is ever patched
  [ "$(number patched)" = "$(number retargeted)" ]
  for setting in cuGraphKernelNodeSetParams_v2:20:function cuGraphKernelNodeSetParams_v2:30:8; do
    SIM_OPTIONS=corrupt=$setting run -0 --separate-stderr verified lazy "$build/doors/unrepeated"
    [ "$output" = "$plain" ]
    [ "$(number divergences)" = 1 ] && [ "$(number failures)" = 0 ] && [ "$(number retargeted)" -gt 0 ]
    [[ $stderr == *'verify: node '* ]]
  done
}

@test "a node that cannot be read is not launched" {
  local call plain
  plain=$(on_simulator lazy "$failing")
  for call in cuGraphKernelNodeGetParams_v2 cuGraphMemsetNodeGetParams cuGraphMemcpyNodeGetParams \
    cuGraphKernelNodeSetParams_v2 cuGraphMemsetNodeSetParams cuGraphMemcpyNodeSetParams; do
    for nth in $(few 1+ 5 1); do
      echo "$call:$nth"
      SIM_OPTIONS=fail=$call:$nth:801 run -0 verified lazy "$failing"
      [ "$output" = "$plain" ]
      [ "$(number failures)" -gt 0 ] && [ "$(number divergences)" = 0 ]
    done
  done
  SIM_OPTIONS='fail=cuGraphKernelNodeGetParams_v2:1+:801' run -0 verified lazy "$samples/constant_loop"
  [ "$(number replayed)" = 0 ]
}

@test "autograph verify on the simulated driver: 0 when nothing differs; 1 for a divergence, or another result" {
  export AUTOGRAPH_HOLD_US=20000
  run -0 on_simulator lazy "$autograph" verify -- "$samples/constant_loop"
  [[ $output == *'no divergence in '*' launches, '*' of them replayed'* ]]
  SIM_OPTIONS=corrupt=cuGraphKernelNodeSetParams_v2:7:8 run -1 on_simulator lazy "$autograph" verify -- "$samples/constant_loop"
  [[ $output == *'1 divergences'* && $output != *'output differs'* ]]
  # what only the executable graph got cannot be read, but the program's output tells
  SIM_OPTIONS=corrupt=cuGraphExecKernelNodeSetParams_v2:7:8 run -1 on_simulator lazy "$autograph" verify -- "$samples/constant_loop"
  [[ $output == *'output differs'* && $output != *divergences* ]]
}

@test "autograph verify: 4 when nothing was replayed, and so nothing checked" {
  CUDA_LAUNCH_BLOCKING=1 run -4 on_simulator lazy "$autograph" verify -- "$samples/constant_loop"
  [ "$output" = 'nothing was checked: none of 2000 launches was replayed' ]
}
