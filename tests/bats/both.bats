#!/usr/bin/env bats
# tests/lib/both.c, on which other suites rely: whatever differs is told.

# shellcheck disable=SC2154  # names from helpers.bash
load helpers

setup() {
  not_sanitized 'it is of the other build'
}

# both STATUS OPTION… SCRIPT: its exit status; in the script $W is 1 in the run without the shim and 2 in that with it.
both() {
  run "-$1" "$build/tests/both" -s lazy -s eager -p W=1 -x W=2 "${@:2:$#-2}" sh -c "${!#}"
  echo "$output"
}

@test "the same output and status" {
  both 0 'echo one; exit 3'
  both 0 -w 3 'echo one; exit 3'
  both 0 -w 134 'kill -ABRT $$'
  both 0 -i time_us 'echo time_us=$W; echo one'
  both 0 -w 5 'exec >&- 2>&-; sleep 0.1; exit 5'
}

@test "another output, on either stream, or one that ends earlier" {
  both 1 'echo one; echo $W'
  [[ $output == *$'lazy: the output differs'* && $output != *eager* ]]
  both 1 'echo one; echo $W >&2'
  both 1 'echo one; [ $W = 1 ] || echo two'
  both 1 'echo one; [ $W = 2 ] || echo two'
  both 1 'printf $W'
}

@test "another status, and one that is not wanted" {
  both 1 'exit $W'
  [[ $output == *'lazy: exit status 1 without, 2 with the shim'* ]]
  both 1 '[ $W = 1 ] || kill -SEGV $$'
  both 1 -w 2 'exit 3'
}

@test "what hangs is killed, and is never the same" {
  both 1 -t 1 'echo one; sleep 60'
  [[ $output == *'exit status 124'* ]]
  both 1 -t 1 '[ $W = 1 ] || { exec >&- 2>&-; sleep 60; }'
  both 1 -t 1 -v a -v b '[ $W = 1 ] || sleep 60'
  [[ $output == *'lazy, a: shim'* && $output != *'lazy, b'* ]]
}

@test "schedules, settings, variations: each is run" {
  both 0 -o seed=7 'echo "$AUTOGRAPH_SIM"'
  [[ $output == *'lazy: plain (0): schedule=lazy,seed=7'*'lazy: shim (0): schedule=lazy,seed=7'*'eager: shim (0): schedule=eager,seed=7'* ]]
  both 1 -v one -v two 'echo "$AUTOGRAPH_SIM"'
  [[ $output == *'lazy, one: shim (0): schedule=lazy,one'*'lazy, two: shim (0): schedule=lazy,two'* ]]
  both 1 -v one -v two 'case $AUTOGRAPH_SIM in *eager,two) exit 1 ;; esac'
  [[ $output == *'eager: exit status 0 without, 1 with the shim'* ]]
}

@test "the last run's status and output are left, files that it may have left before are not" {
  cd "$BATS_TEST_TMPDIR"
  both 0 -l last -c 'left.*' '[ $W = 1 ] || [ ! -e left.1 ]; echo $? two; [ $W = 1 ] || touch left.1; exit 4'
  [ "$(cat last)" = $'4\n0 two' ]
}

@test "without the shim the other build" {
  KERNELS=/x/k both 0 -r /x/ /y/ '[ $W = 2 ] || [ "$KERNELS" = /y/k ]'
  run -1 "$build/tests/both" -s lazy -r /x/ /y/ echo /x/a
  [[ $output == *'plain (0): /y/a'*'shim (0): /x/a'* ]]
}

@test "bad arguments" {
  for arguments in '-x abc true' '-r a' 'true' '-s lazy' '-s lazy -w x true' '-s lazy /nonexistent'; do
    # shellcheck disable=SC2086
    run -2 "$build/tests/both" $arguments
  done
}
