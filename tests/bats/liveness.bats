#!/usr/bin/env bats
# shellcheck disable=SC2154
# Liveness: work that the program leaves to the device gets done although the program makes no further call, and a process
# with nothing to do sleeps. Judged by progress (within ten seconds or never), without and with the shim.

load helpers

setup() {
  need_simulator
}

# alive PROGRAM [ARG…]: it ends with 0 and the same output without and with the shim.
alive() {
  local schedule
  for schedule in lazy random; do
    SAMPLE_TIMEOUT=100 under "$schedule" -w 0 "$build/tests/reports/$1" "${@:2}"
  done
}

# by_watchdog: what was held was submitted by nobody else.
by_watchdog() {
  holds "$(statistic watchdog_flushes) > 0"
}

@test "the host polls mapped memory that a held kernel writes" {
  alive host_and_kernel_in_turn pinned
  by_watchdog
}

@test "two threads hand over through memory alone" {
  alive hand_over
  by_watchdog
}

@test "a program that never synchronises finds its work done when it wakes" {
  alive never_synchronises
  by_watchdog
}

@test "the next round is launched when a host function of the last one says so" {
  alive callback_loop function
  alive callback_loop callback
  holds "$(statistic flushes.host) > 0"
}

@test "a process that is stopped behind its launches and continued finds its work done" {
  alive never_synchronises stop
  by_watchdog
}

@test "idle processes sleep" {
  local plain shimmed count=100 spare=1
  [ -z "${TEST_SAN:-}" ] || count=5 spare=10
  # of the same build: a sanitizer's runtime wakes up by itself
  plain=$(plain_build=$build on_simulator eager "$build/tests/reports/idle" "$count")
  shimmed=$(on_simulator_shimmed eager "$build/tests/reports/idle" "$count")
  echo "without: $plain; with the shim: $shimmed"
  # a watchdog that never slept would wake up some thousand times a second in each
  holds "${shimmed% *} <= ${plain% *} + $spare * $count"
}
