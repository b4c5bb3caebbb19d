#!/usr/bin/env bats
# Each driver call that the shim makes for itself fails in turn (the simulator's `fail` setting): the program's output,
# codes and status are those without the shim.

# shellcheck disable=SC2154  # names from helpers.bash
load helpers

setup() {
  need_simulator
  export KERNELS=$samples/kernels.ptx
  failing=$build/doors/failing
  plain=$(SIM_OPTIONS=report=$BATS_TEST_TMPDIR/plain on_simulator lazy "$failing")
  SIM_OPTIONS=report=$BATS_TEST_TMPDIR/shimmed on_simulator_shimmed lazy "$failing" >/dev/null
  # what reached the driver with the shim only
  calls=$(python3 - "$BATS_TEST_TMPDIR/plain" "$BATS_TEST_TMPDIR/shimmed" <<'PYTHON'
import json, sys
plain, shimmed = (json.load(open(path))["calls"] for path in sys.argv[1:])
print(" ".join(name for name in shimmed if name not in plain))
PYTHON
)
}

# unharmed NTH CODE…: with each call failing so, nothing changes for the program.
unharmed() {
  local nth=$1 call code bad=0
  shift
  # a sanitizer makes each run slow, and what it looks for does not depend on the code
  [ -z "${TEST_SAN:-}" ] || set -- "$1"
  for call in $calls; do
    for code; do
      # the driver says with this code that a function has no further parameter
      [[ $call == *GetParamInfo && $code == 1 ]] && continue
      SIM_OPTIONS=fail=$call:$nth:$code run on_simulator_shimmed "${SIM_SCHEDULE:-lazy}" "$failing"
      if [ "$status" != 0 ] || [ "$output" != "$plain" ]; then
        echo "$call, $nth, code $code: status $status"
        diff <(echo "$plain") <(echo "$output") | head -n 6
        bad=1
      fi
    done
  done
  return "$bad"
}

@test "the program reaches what the shim does for itself" {
  echo "$calls"
  local call
  for call in cuGraphCreate cuGraphAddKernelNode_v2 cuGraphAddMemsetNode cuGraphAddMemcpyNode cuGraphAddDependencies \
    cuGraphAddDependencies_v2 cuGraphKernelNodeSetAttribute cuGraphInstantiateWithFlags cuGraphExecKernelNodeSetParams_v2 \
    cuGraphExecMemsetNodeSetParams cuGraphExecMemcpyNodeSetParams cuGraphLaunch cuGraphExecDestroy cuGraphDestroy \
    cuCtxPushCurrent_v2 cuCtxPopCurrent_v2 cuCtxGetCurrent cuCtxGetDevice cuFuncGetParamInfo cuKernelGetParamInfo \
    cuPointerGetAttributes cuStreamGetFlags cuStreamGetCtx cuStreamGetPriority cuStreamGetGreenCtx cuDeviceTotalMem_v2 \
    cuThreadExchangeStreamCaptureMode; do
    [[ " $calls " == *" $call "* ]]
  done
}

# What is done about a failure is the same wherever it comes: a sanitizer sees the first, all, and all but the first.
other_place() {
  not_sanitized 'the first, all, and all but the first are more than enough for it'
}

@test "the first such call fails" { unharmed 1 2 700 801 1; }
@test "the second one" { other_place; unharmed 2 2 801; }
@test "the tenth one" { other_place; unharmed 10 2 801; }
@test "all of them" { unharmed 1+ 2 801 3; }
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
