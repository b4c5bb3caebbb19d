#!/usr/bin/env bats
# shellcheck disable=SC2154
# Behaviours from public reports and reviews that something which holds launches could break: each is a small program in
# tests/reports that prints what it saw and ends with 0 when that is right, without and with the shim, under each schedule.

load helpers

setup() {
  need_simulator
  limit=30 # seconds
  [ -z "${TEST_SAN:-}" ] || limit=90
}

# reported STATUS [OPTION VALUE]… PROGRAM [ARG…]: without and with the shim the same output, and this status.
reported() {
  local status=$1 options=()
  shift
  while [[ $1 == -* ]]; do
    options+=("$1" "$2")
    shift 2
  done
  SAMPLE_TIMEOUT=$limit both_ways -w "$status" "${options[@]}" "$build/tests/reports/$1" "${@:2}"
}

@test "B01: host and running kernel take turns, without a call" {
  reported 0 host_and_kernel_in_turn pinned
  reported 0 host_and_kernel_in_turn managed
}

@test "B02: launches that the driver refuses are refused at the call" {
  reported 0 launch_errors
  holds "$(statistic replayed) > 200"
}

@test "B03: events inside a repeating sequence still time it" { reported 0 event_times; }

@test "B04: fork in a known loop, fork and exec, fork before the first call" {
  reported 0 fork_ways exit
  reported 0 fork_ways exec
  reported 0 fork_ways early
}

@test "B04: a child of fork beside another thread's launches" { reported 0 fork_beside_launches; }

@test "B05: a function's handle comes back for another kernel" { reported 0 function_again; }
@test "a limit is lowered beside a thread that ends contexts: what is above it is refused at once" {
  local schedules=(lazy eager) # the random one pauses, and this takes many rounds
  AUTOGRAPH_HOLD_US=10 reported 0 limit_beside_destroy "$([ -n "${TEST_SAN:-}" ] && echo 1500 || echo 10000)"
}
@test "a limit is lowered while another thread's submission is kept from the processor: nothing is refused late" {
  AUTOGRAPH_HOLD_US=100 SIM_OPTIONS=slow=cuLaunchKernel:1+:30000 reported 0 limit_beside_slow other
  local schedules=(eager)
  AUTOGRAPH_HOLD_US=100 SIM_OPTIONS=slow=cuLaunchKernel:2:1500000 reported 0 limit_beside_slow own # beyond any patience
}
@test "graphs of a stream that is idle make room for those of another" {
  AUTOGRAPH_GRAPH_MB=1 reported 0 graphs_of_idle_stream
  holds "$(statistic replayed) > 15000"
  holds "$(statistic evictions) > 1"
  holds "$(statistic device_bytes) > 500000 and $(statistic device_bytes) <= 1048576"
  SIM_OPTIONS=memory_mb=64 reported 0 graphs_of_idle_stream # the default: 2 % of that
  holds "$(statistic replayed) > 15000"
  holds "$(statistic evictions) > 1"
  holds "$(statistic device_bytes) > 500000 and $(statistic device_bytes) <= 1342177"
}
@test "B05: a module is unloaded beside another thread's launches" { reported 0 unload_beside_launches; }
@test "a first launch beside another thread's launches on the same stream" { reported 0 first_launch_beside_launches; }
@test "a question about occupancy does not take shared memory from a held launch" { reported 0 occupancy_after_lowering; }
@test "unloading ends what is unloaded, and nothing else" {
  reported 0 unload_others
  holds "$(statistic replayed) > 1800"
}
@test "a limit does not outlive its function" { reported 0 limit_after_reload; }
@test "a limit outlives the unloading of other modules" { reported 0 limit_after_other_unload; }
@test "a kernel and its function have one limit" {
  local seed
  for seed in 1 2 3; do
    reported 0 two_handles_one_limit "$seed"
    holds "$(statistic replayed) > 10"
  done
}

@test "kernels of code that launches kernels itself are passed, others are replayed" {
  local code
  for code in nested_kernels nested_variable; do
    reported 0 nested_kernels "$code"
    # each launch of such code, the first too; there are 14400 of other code
    holds "$(statistic bypass.nested) == 4800"
    holds "13000 < $(statistic replayed) <= 14400"
  done
}

@test "a misaligned memset is refused by its own call" { reported 0 misaligned_memset; }

@test "a stream destroyed while it captures does not stop replays" {
  reported 0 capture_given_up
  holds "$(statistic replayed) > 500"
}

@test "B06: the process ends with work pending: return, exit handlers, destructor, second thread" {
  for how in return before after destructor; do
    reported 3 exit_with_work "$how"
  done
  reported 7 exit_with_work thread
}

@test "B06: the process ends with work pending: _exit" { reported 5 exit_with_work fast; }
@test "B06: the process ends with work pending: abort" { reported 134 exit_with_work abort; }

@test "B07: calls of the shim's own that fail are not the program's" {
  for call in cuGraphCreate:2:2 cuGraphAddKernelNode_v2:7:1 cuGraphAddMemsetNode:2:1 cuGraphAddDependencies:4:1 \
    cuGraphInstantiateWithFlags:1:2 cuGraphInstantiateWithFlags:2:1 cuGraphExecKernelNodeSetParams_v2:5:1 \
    cuGraphExecMemsetNodeSetParams:2:1 cuGraphLaunch:3:2; do
    SIM_OPTIONS=fail=$call reported 0 own_failures
    holds "$(statistic failures) == 1 and $(statistic replayed) + $(statistic eager) == 3000"
  done
}

@test "B07: a failure of the shim's own that passes does not cost replay for good" {
  for nth in 1 2 3; do
    export AUTOGRAPH_HOLD_US=20000
    SIM_OPTIONS=fail=cuGraphInstantiateWithFlags:$nth:2 reported 0 own_failures
    holds "$(statistic failures) == 1 and $(statistic replayed) > 2000"
  done
}

@test "B07: after a sticky error no launch is accepted" { reported 0 sticky_error first stream; }

# How the last launch of the faulting kernel reached the simulated driver, of the log: graph, or single.
fault_by() {
  awk '/ call cuGraphLaunch .*= 0$/ { by = "graph" } / call cuLaunchKernel .* fault .*= 0$/ { by = "single" } END { print by }' \
    "$BATS_TEST_TMPDIR/log"
}

@test "B07: a kernel faults inside a replayed graph, and inside a held launch that is submitted by itself" {
  local how by
  export AUTOGRAPH_CHUNK_RAMP=0 AUTOGRAPH_HOLD_US=1000000
  for how in $(few stream context event query copy); do
    for by in graph single; do
      rm -f "$BATS_TEST_TMPDIR/log"
      local more=''
      [ "$by" = graph ] || more=',fail=cuGraphCreate:1+:801'
      reported 0 -v "log=$BATS_TEST_TMPDIR/log$more" sticky_error known "$how"
      [ "$(fault_by)" = "$by" ]
      holds "$(statistic bypass.error) > 200"
      [ "$by" = single ] || holds "$(statistic replayed) > 100"
    done
  done
}

@test "B09: nothing is held where a tool is attached" {
  export CUDA_INJECTION64_PATH=/tool.so
  reported 0 own_failures
  holds "$(statistic replayed) == 0 and $(statistic bypass.tool) == 3000"
}

@test "B10: contexts and threads" { reported 0 contexts_and_threads; }

@test "B14: large argument blocks of which one word changes, and random padding" {
  reported 0 large_arguments
  holds "$(statistic replayed) > 1000"
}

@test "B15: launch attributes" {
  reported 0 launch_attributes
  holds "$(statistic replayed) > 500"
}

@test "a kernel blocks the device while a known loop is launched behind it" { reported 0 blocked_device; }
@test "a stream's handle comes back" { reported 0 stream_again; }
@test "a module's variable is written between launches" { reported 0 symbol_between_launches; }

@test "memory is freed behind its launches and its address comes back" {
  reported 0 memory_again plain
  reported 0 memory_again ordered
}

@test "a thread that only asks events sees each complete" { reported 0 event_poller; }

@test "a full queue of one stream does not stop other threads' calls" {
  for call in event stream copy launch first state cooperative capture; do
    SIM_OPTIONS=queue=8 reported 0 full_queue "$call"
  done
}

@test "a full queue of one stream does not keep another stream's held launch" {
  AUTOGRAPH_CHUNK_RAMP=0 SIM_OPTIONS=queue=8 reported 0 full_queue_beside_held
}

@test "driver calls inside host functions are refused at once while their stream's queue is full" {
  for how in function callback graph; do
    SIM_OPTIONS=queue=16 reported 0 calls_in_callback "$how"
    [ "$how" = graph ] || holds "$(statistic bypass.host) == 2"
    reported 0 calls_in_callback "$how"
  done
}

@test "host functions inside captures and streams, many at once, lost with their context" {
  reported 0 captured_functions
}

@test "without a thread for the watchdog nothing stays held" { reported 0 no_watchdog; }

@test "the program's own limit of shared memory holds for launches that are passed" {
  reported 0 limit_passed thread
  reported 0 limit_passed capture
  reported 0 limit_passed cooperative
}

@test "setting what is set already does not stop replays" {
  for call in cache context-cache limit retain carveout unload; do
    reported 0 state_in_a_loop "$call"
    holds "$(statistic replayed) > 2000"
  done
}

@test "asking for the function of a kernel that was launched flushes nothing" {
  reported 0 state_in_a_loop function
  holds "$(statistic replayed) > 2000"
  holds "$(statistic flushes.module) < 4"
}

@test "a kernel without parameters, and a driver that refuses to say what they are" {
  local kind nth refused=()
  for nth in 1 2 3 4 5 6; do
    refused+=(-v "fail=cuFuncGetParamInfo:$nth:1" -v "fail=cuKernelGetParamInfo:$nth:1")
  done
  for kind in function kernel; do
    reported 0 bare_kernel "$kind"
    holds "$(statistic replayed) > 1500"
    both_ways -w 0 "${refused[@]}" "$build/tests/reports/bare_kernel" "$kind"
  done
}

@test "the first question that loads a function comes after what is held" {
  reported 0 question_after_name
  [ "$(statistic flush_calls.cuOccupancyMaxActiveBlocksPerMultiprocessor)" = 20 ]
}

@test "a launch that the driver has no memory for is tried again without the graphs" {
  local schedule
  for schedule in "${schedules[@]}"; do
    for way in extended:cuLaunchKernelEx cooperative:cuLaunchCooperativeKernel load:cuFuncLoad; do
      export SIM_OPTIONS=fail=${way#*:}:1:2
      run -2 on_simulator "$schedule" "$build/tests/reports/short_of_memory" "${way%:*}"
      run -0 on_simulator_shimmed "$schedule" "$build/tests/reports/short_of_memory" "${way%:*}"
      [ "$output" = 'code 0, as it says, sum right' ]
      holds "$(statistic evictions) > 0 and $(statistic replayed) > 1500"
      holds "$(statistic driver_calls) == $(statistic eager) + $(statistic graph_launches)"
    done
  done
}

@test "operations on memory that the program made synchronous are done when they return" { reported 0 synchronous_memory; }

@test "host memory is pinned again at its former address" {
  for how in registered allocated; do
    reported 0 pinned_again "$how"
    holds "$(statistic replayed) > 4000"
  done
}

@test "what reaches beyond a mapping is refused by its own call" {
  reported 0 mapping_ends
  holds "$(statistic replayed) > 1000"
}

@test "a driver that says nothing of mappings: memory of contexts is held all the same, mapped memory is not" {
  SIM_OPTIONS=fail=cuPointerGetAttributes:1:1 reported 0 own_failures
  holds "$(statistic bypass.memory) == 0 and $(statistic replayed) > 2000"
  SIM_OPTIONS=fail=cuPointerGetAttributes:1:1 reported 0 mapping_ends
  holds "$(statistic bypass.memory) > 1000"
}
