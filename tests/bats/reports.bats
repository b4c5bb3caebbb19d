#!/usr/bin/env bats
# shellcheck disable=SC2154
# Behaviours from public reports and reviews that something which holds launches could break: each is a small program in
# tests/reports that prints what it saw and ends with 0 when that is right, without and with the shim, under each schedule.

load helpers

setup() {
  need_simulator
  need_unsanitized
}

# reported STATUS PROGRAM [ARG…]: without and with the shim the same output, and this status.
reported() {
  local wanted=$1 program=$build/tests/reports/$2 schedule plain shimmed
  shift 2
  for schedule in "${schedules[@]}"; do
    local plain_status=0 shimmed_status=0
    plain=$(SAMPLE_TIMEOUT=30 on_simulator "$schedule" "$program" "$@" 2>&1) || plain_status=$?
    shimmed=$(SAMPLE_TIMEOUT=30 on_simulator_shimmed "$schedule" "$program" "$@" 2>&1) || shimmed_status=$?
    echo "$schedule: plain ($plain_status): $plain"
    echo "$schedule: shim ($shimmed_status): $shimmed"
    [ "$plain_status" = "$wanted" ] && [ "$shimmed_status" = "$wanted" ] && [ "$plain" = "$shimmed" ]
  done
}

@test "B05: a module is unloaded beside another thread's launches" { reported 0 unload_beside_launches; }
@test "a first launch beside another thread's launches on the same stream" { reported 0 first_launch_beside_launches; }
@test "a question about occupancy does not take shared memory from a held launch" { reported 0 occupancy_after_lowering; }
@test "a limit does not outlive its function" { reported 0 limit_after_reload; }
@test "a limit outlives the unloading of other modules" { reported 0 limit_after_other_unload; }
@test "a kernel and its function have one limit" { reported 0 two_handles_one_limit; }
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
