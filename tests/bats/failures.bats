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
  [ "${#settings[@]}" -gt 6 ]
  SIM_OPTIONS=idle_ms=1 under "${SIM_SCHEDULE:-lazy}" -w 0 "${settings[@]}" "$build/doors/failing"
}

# Calls that a poisoned context answers like any other: no error of theirs stays.
healthy=(cuDriverGetVersion cuCtxPushCurrent_v2 cuCtxPopCurrent_v2 cuCtxGetCurrent cuCtxGetDevice)

# stay FAILURE:CODE…: an error of the context that stays, from a call of the shim's own. The program is told what it would be
# told if a kernel had caused it, by whichever call; results up to there are not compared.
stay() {
  local failure settings=() ignored=(-i first -i second -i flag -i shared -i there -i here)
  for failure; do
    settings+=(-v "fail=$failure")
  done
  under eager -w 0 "${ignored[@]}" -p "FAULT=${1##*:}" -l "$BATS_TEST_TMPDIR/last" "${settings[@]}" "$build/doors/failing"
  grep -q "^code ${1##*:} stays: 0 calls say something else; after a reset 0 failed, sum right$" "$BATS_TEST_TMPDIR/last"
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

@test "the first such call fails" { unharmed 1 2; }
@test "the first of four such calls each, with every code" {
  local code call calls settings=() failures at=0
  read -ra calls <<<"$own_calls"
  for code in $(few -1 1 3 4 201 400 709 801 900 999); do
    # other groups for each code
    ((++at))
    for call in "${!calls[@]}"; do
      ((call % 4)) || failures=''
      local name=${calls[(call + at) % ${#calls[@]}]}
      [[ $name == *GetParamInfo && $code == 1 ]] || failures+=";$name:1:$code"
      ((call % 4 == 3 || call == ${#calls[@]} - 1)) && settings+=(-v "fail=${failures#;}")
    done
  done
  [ "${#settings[@]}" -gt 12 ]
  under eager -w 0 "${settings[@]}" "$build/doors/failing"
}
@test "with an error that the context does not recover from" {
  local call code failures
  for code in $(few -1 700 719 716 710); do
    failures=()
    for call in $own_calls; do
      [[ " ${healthy[*]} " == *" $call "* ]] || failures+=("$call:1:$code")
    done
    [ "${#failures[@]}" -gt 20 ]
    stay "${failures[@]}"
  done
}
@test "the same later, and in another context than the current one" {
  local nth failures=()
  for nth in 20 40 48 50 52 54 56; do
    failures+=("cuGraphLaunch:$nth:700")
  done
  for nth in 100 160 170 180 190 200; do
    failures+=("cuGraphExecKernelNodeSetParams_v2:$nth:700")
  done
  stay "${failures[@]}" cuGraphCreate:8:700 cuGraphInstantiateWithFlags:10:700
}
@test "the same where a poisoned context would not say so" {
  local own_calls=${healthy[*]}
  SIM_SCHEDULE=eager unharmed 1 700 719
}
@test "the second one" { other_place; unharmed 2 2; }
@test "the tenth one" { other_place; unharmed 10 801; }
@test "all of them" {
  [[ ${TEST_SAN:-} != *thread* ]] || other_place
  unharmed 1+ 2 801
}
@test "all from the fifth on" { other_place; unharmed 5+ 2; }
@test "all from the second on, in a random schedule" { SIM_SCHEDULE=random unharmed 2+ 2; }

# late EXPECT WAY FAILURE…: with each of these, every held operation being submitted by itself.
late() {
  local expect=$1 way=$2 failure failures=()
  shift 2
  [ -z "${TEST_SAN:-}" ] || set -- "$1" "${@: -1}"
  for failure; do
    failures+=(-v "fail=${unbuilt-cuGraphCreate:1+:801;}$failure:${expect%+}")
  done
  AUTOGRAPH_CHUNK_RAMP=0 AUTOGRAPH_HOLD_US=${HOLD_US:-1000000} \
    under eager -w 0 "${failures[@]}" -x "EXPECT=$expect" "$build/doors/refused_late" "$way"
}

# Six rounds of ten operations each; the first of each kind is passed.
launches=(cuLaunchKernel:{7,12,18,25,36} cuLaunchKernelEx:{2,6})
others=(cuMemsetD32Async:{2,6} cuMemcpyHtoDAsync_v2:{2,5} cuMemcpyDtoDAsync_v2:{3,6})

@test "a held operation that the driver refuses is told once, by the next call that waits for it at the latest" {
  local way code
  for way in $(few sync event stream module full); do
    for code in $(few -1 1 2 701); do
      late "$code" "$way" "${launches[@]}" "${others[@]}"
    done
  done
}

@test "the same where the watchdog or another thread submits it" {
  HOLD_US=1000 late 2 sleep cuLaunchKernel:{7,14,30} cuMemsetD32Async:3 cuMemcpyHtoDAsync_v2:6
  holds "$(statistic watchdog_flushes) > 0"
  AUTOGRAPH_SUBMIT=thread late 2 full "${launches[@]}" "${others[@]}"
  holds "$(statistic handed_over) > 0"
}

@test "a held operation meets an error that stays: every call from there on tells it, and the context can be reset" {
  local way code
  for code in $(few -1 700 719); do
    for way in $(few sync event stream module full); do
      late "$code+" "$way" cuLaunchKernel:{8,30} cuMemsetD32Async:3 cuMemcpyHtoDAsync_v2:6 cuLaunchKernelEx:2
    done
    HOLD_US=1000 late "$code+" sleep cuLaunchKernel:9 cuMemsetD32Async:3
    AUTOGRAPH_SUBMIT=thread late "$code+" full cuLaunchKernel:9 cuMemcpyDtoDAsync_v2:4
  done
}

@test "a held operation that the driver has no memory for is tried again without the graphs, once" {
  local unbuilt='' settings=(-v fail=cuMemsetD16Async:2:2)
  export AUTOGRAPH_CHUNK_RAMP=0 AUTOGRAPH_HOLD_US=1000000
  under eager -w 0 "${settings[@]}" "$build/doors/refused_late" graphs
  holds "$(statistic evictions) > 0 and $(statistic replayed) > 200"
  late 2 graphs cuMemsetD16Async:2+
  holds "$(statistic evictions) > 0 and $(statistic replayed) > 200"
}

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
