#!/usr/bin/env bats
# shellcheck disable=SC2154
# Programs that the fuzzer once found different with the shim (tests/fuzz/regressions; the first line of each says which
# rule it holds), and the fuzzer's own manners.

load helpers

fuzz() {
  "$BATS_TEST_DIRNAME/../fuzz/run" --build "$build" "$@"
}

@test "regressions: every program is the same without and with the shim" {
  need_shim
  fuzz --replay "$BATS_TEST_DIRNAME"/../fuzz/regressions/*.txt
}

@test "a few random programs: the same, and replayed" {
  need_shim
  run fuzz --programs 60 --seed 1
  echo "$output"
  [ "$status" = 0 ]
  [[ $output == *" 0 differences"* ]]
}

@test "a few random programs under all three schedules" {
  not_sanitized 'two of them have run with it'
  need_shim
  run -0 fuzz --programs 20 --seed 1 --schedules all --jobs 1
  [[ $output == *": 20 programs of"*" 0 differences"* ]]
  launches=${output##*with the shim } launches=${launches%% *}
  run -0 fuzz --programs 20 --seed 1 --jobs 1
  [[ $output == *" 0 differences"* ]]
  fewer=${output##*with the shim } fewer=${fewer%% *}
  [ $((2 * launches)) = $((3 * fewer)) ]
}

@test "a program means the same after printing and reading" {
  need_shim
  export LD_LIBRARY_PATH=$build/sim
  "$build/fuzz/fuzz-run" --print 7 >"$BATS_TEST_TMPDIR/program"
  [ "$("$build/fuzz/fuzz-run" --settle "$BATS_TEST_TMPDIR/program")" = "$(cat "$BATS_TEST_TMPDIR/program")" ]
  [ "$("$build/fuzz/fuzz-run" --replay "$BATS_TEST_TMPDIR/program")" = "$("$build/fuzz/fuzz-run" --log 7)" ]
}

@test "fewer programs than asked for in the time: one line and status 2" {
  need_shim
  run -2 --separate-stderr fuzz --programs 1000000 --seconds 1 --jobs 1
  [[ ${lines[-1]} == *" 0 differences"* ]]
  [ "${#stderr_lines[@]}" = 1 ]
  [[ $stderr == "fuzz: only "*" of 1000000 programs ran in 1 s"* ]]
}

@test "the breaks that show that the fuzzer can fail apply to the shim" {
  "$BATS_TEST_DIRNAME/../fuzz/breaks" --check
}

@test "bad arguments: one line and status 2" {
  one_thread
  need_shim
  printf 'program seed=1 ptsz=0\n0 stream_new stream=0 fla' >"$BATS_TEST_TMPDIR/cut"
  printf '0 ctx_sync\n' >"$BATS_TEST_TMPDIR/headless"
  : >"$BATS_TEST_TMPDIR/empty"
  for arguments in '--seconds x' '--programs 0' '--seed -1' '--jobs 0' '--schedules three' '--nonsense' '--seconds' '--replay' \
    "--replay $BATS_TEST_TMPDIR/none" "--replay $BATS_TEST_TMPDIR/cut" "--replay $BATS_TEST_TMPDIR/headless" \
    "--replay $BATS_TEST_TMPDIR/empty" "--replay $BATS_TEST_TMPDIR"; do
    # shellcheck disable=SC2086
    run -2 fuzz $arguments
    [ "${#lines[@]}" = 1 ]
  done
}
