#!/usr/bin/env bats
# Each driver call that the shim makes for itself fails in turn (the simulator's `fail` setting): the program's output,
# codes and status are those without the shim.

# shellcheck disable=SC2154  # names from helpers.bash
load helpers

# What reaches the driver with the shim only.
setup_file() {
  load helpers
  [ -e "$build/doors/failing" ] || return 0
  export KERNELS=$samples/kernels.ptx
  SIM_OPTIONS=report=$BATS_FILE_TMPDIR/plain on_simulator lazy "$build/doors/failing" >/dev/null
  AUTOGRAPH_STATS='' SIM_OPTIONS=report=$BATS_FILE_TMPDIR/shimmed on_simulator_shimmed lazy "$build/doors/failing" >/dev/null
  own_calls=$(python3 -IS - "$BATS_FILE_TMPDIR/plain" "$BATS_FILE_TMPDIR/shimmed" <<'PYTHON'
import json, sys
plain, shimmed = (json.load(open(path))["calls"] for path in sys.argv[1:])
print(" ".join(name for name in shimmed if name not in plain))
PYTHON
  )
  export own_calls
}

setup() {
  need_simulator
  export KERNELS=$samples/kernels.ptx
}

# unharmed NTH CODE…: with each call failing so, nothing changes for the program.
unharmed() {
  local nth=$1 call code settings=()
  shift
  # a sanitizer makes each run slow, and what it looks for does not depend on the code
  [ -z "${TEST_SAN:-}" ] || set -- "$1"
  for call in $own_calls; do
    for code; do
      # the driver says with this code that a function has no further parameter
      [[ $call == *GetParamInfo && $code == 1 ]] || settings+=(-v "fail=$call:$nth:$code")
    done
  done
  [ "${#settings[@]}" -gt 20 ]
  under "${SIM_SCHEDULE:-lazy}" -w 0 "${settings[@]}" "$build/doors/failing"
}

@test "the program reaches what the shim does for itself" {
  echo "$own_calls"
  local call
  for call in cuGraphCreate cuGraphAddKernelNode_v2 cuGraphAddMemsetNode cuGraphAddMemcpyNode cuGraphAddDependencies \
    cuGraphAddDependencies_v2 cuGraphKernelNodeSetAttribute cuGraphInstantiateWithFlags cuGraphExecKernelNodeSetParams_v2 \
    cuGraphExecMemsetNodeSetParams cuGraphExecMemcpyNodeSetParams cuGraphLaunch cuGraphExecDestroy cuGraphDestroy \
    cuCtxPushCurrent_v2 cuCtxPopCurrent_v2 cuCtxGetCurrent cuCtxGetDevice cuFuncGetParamInfo cuKernelGetParamInfo \
    cuPointerGetAttributes cuStreamGetFlags cuStreamGetCtx cuStreamGetPriority cuStreamGetGreenCtx cuDeviceTotalMem_v2 \
    cuThreadExchangeStreamCaptureMode; do
    [[ " $own_calls " == *" $call "* ]]
  done
}

# What is done about a failure is the same wherever it comes: a sanitizer sees the first, all, and all but the first, thread
# sanitizer the first and all but the first.
other_place() {
  not_sanitized 'the first, all, and all but the first are more than enough for it'
}

@test "the first such call fails" { unharmed 1 2 700 801 1; }
@test "the second one" { other_place; unharmed 2 2 801; }
@test "the tenth one" { other_place; unharmed 10 2 801; }
@test "all of them" {
  [[ ${TEST_SAN:-} != *thread* ]] || other_place
  unharmed 1+ 2 801 3
}
@test "all from the fifth on" { other_place; unharmed 5+ 2 801; }
@test "all from the second on, in a random schedule" { SIM_SCHEDULE=random unharmed 2+ 2; }

@test "the program runs out of device memory: the shim gives back what its graphs take, and the program gets it" {
  local schedule hungry
  for schedule in "${schedules[@]}"; do
    export SIM_OPTIONS=memory_mb=32,graph_kb=400
    hungry=$(on_simulator "$schedule" "$build/doors/hungry")
    AUTOGRAPH_GRAPH_MB=64 AUTOGRAPH_HOLD_US=20000 run -0 on_simulator_shimmed "$schedule" "$build/doors/hungry"
    printf '%s\n\n%s\n' "$hungry" "$output"
    [ "$output" = "$hungry" ]
    [[ $output == *'turn 0: 31 blocks, then code 2'* ]]
    holds "$(statistic evictions) > 0 and $(statistic replayed) > 100"
  done
}
