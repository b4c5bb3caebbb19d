#!/usr/bin/env bats
# shellcheck disable=SC2154
# The runner of the GPU suite, with programs that stand in for its own and a machine that only claims to have a GPU.

load helpers

setup() {
  need_shim
  command -v python3 >/dev/null || skip 'no python3'
  not_sanitized 'the runner is tested here'
  fake=$BATS_TEST_TMPDIR/build
  mkdir -p "$fake/tests/gpu" "$BATS_TEST_TMPDIR/bin"
  ln -s "$shim" "$fake/libautograph.so"
  printf '#!/bin/sh\necho "GPU 0: none"\n' >"$BATS_TEST_TMPDIR/bin/nvidia-smi"
  chmod +x "$BATS_TEST_TMPDIR/bin/nvidia-smi"
  export PATH="$BATS_TEST_TMPDIR/bin:$PATH"
}

# stand_in TEXT: the program `launches` of the suite is this shell script.
stand_in() {
  printf '#!/bin/bash\n%s\n' "$1" >"$fake/tests/gpu/launches"
  chmod +x "$fake/tests/gpu/launches"
}

suite() {
  IN_SUITE=$BATS_TEST_TMPDIR timeout -k 5 60 "$BATS_TEST_DIRNAME/../gpu/run" --build "$fake" --no-build "$@"
}

# shellcheck disable=SC2016 # the scripts are expanded where they run
@test "the same text and status pass; another text, status or a message of the shim's fails" {
  stand_in 'echo "# $RANDOM"; echo "state 1"'
  run -0 suite --only launches.pdl
  [[ $output == *$'\n1 passed, 0 failed, 0 skipped' ]]
  stand_in 'echo "state ${LD_PRELOAD:+2}"'
  run -1 suite --only launches.pdl
  [[ $output == *'not ok 1 - launches.pdl'*'text differs'*$'\n0 passed, 1 failed, 0 skipped' ]]
  stand_in 'exit ${LD_PRELOAD:+3}'
  run -1 suite --only launches.pdl
  stand_in '[ -z "$LD_PRELOAD" ] || echo "autograph: oh" >&2'
  run -1 suite --only launches.pdl
  stand_in 'exit 77'
  run -0 suite --only launches.pdl
  [[ $output == *$'\n0 passed, 0 failed, 1 skipped' ]]
}

# shellcheck disable=SC2016
@test "a test that must be replayed fails when nothing was, and a time that grew too much fails" {
  stand_in 'echo "@ replayed 1"'
  run -1 suite --only launches.pdl
  [[ $output == *'replayed 0 launches, at least 1 expected'* ]]
  run -0 suite --only launches.pdl --modes observe
  stand_in 'echo "~ turn_us ${LD_PRELOAD:+2}1 2.0"'
  run -1 suite --only launches.pdl
  run -0 suite --only launches.pdl --modes verify
  stand_in 'echo "~ turn_us 1${LD_PRELOAD:+.9} 2.0"'
  run -0 suite --only launches.pdl
}

# shellcheck disable=SC2016
@test "the budget ends the suite: what runs is killed and skipped, the failures and the summary are told" {
  stand_in 'case $1 in pdl) exit ${LD_PRELOAD:+4};; *) touch "$0.$1"; sleep 100 & setsid sleep 100 & sleep 100;; esac'
  local begin=$SECONDS
  run -1 suite --only 'launches.pdl,launches.cluster,launches.pools,launches.managed,launches.textures' --jobs 2 --budget-seconds 3
  [ $((SECONDS - begin)) -lt 30 ]
  [ "$(grep -c '# SKIP no time left' <<<"$output")" = 4 ]
  [ "$(grep -cE '^(not )?ok' <<<"$output")" = 5 ]
  [[ $output == *'# failed: launches.pdl: shim: status 4'*$'\n0 passed, 1 failed, 4 skipped' ]]
  [ "$(find "$fake/tests/gpu" -name 'launches.*' | wc -l)" = 2 ]
  run ! grep -qsa "IN_SUITE=$BATS_TEST_TMPDIR" /proc/[0-9]*/environ
}

# shellcheck disable=SC2016
@test "a signal ends the suite in the same way" {
  stand_in 'echo here >>"$0.began"; sleep 100'
  "$BATS_TEST_DIRNAME/../gpu/run" --build "$fake" --no-build --only 'launches.pdl,launches.pools' >"$BATS_TEST_TMPDIR/log" 2>&1 3>&- &
  local suite=$! tries=0
  until [ -e "$fake/tests/gpu/launches.began" ] || [ $((tries += 1)) -gt 200 ]; do sleep 0.1; done
  kill -TERM "$suite"
  wait "$suite"
  [ "$(tail -n 1 "$BATS_TEST_TMPDIR/log")" = '0 passed, 0 failed, 2 skipped' ]
}

@test "what a program leaves behind does not hold the suite" {
  stand_in 'setsid sleep 100 & echo "state 1"'
  run -0 suite --only launches.pdl
}

# The samples are programs of the suite that run on the simulated driver as well.
@test "the samples: most is replayed, or the test fails; under the audit library nothing passes the shim" {
  need_simulator
  ln -s "$samples" "$fake/samples"
  ln -s "$build/tests/libaudit.so" "$fake/tests/libaudit.so"
  export LD_LIBRARY_PATH=$simulator AUTOGRAPH_SIM=schedule=lazy AUTOGRAPH_HOLD_US=20000
  run -0 suite --only 'sample.constant_loop,sample.mapped_poll,audit.sample.constant_loop'
  [[ $output == *'ok '*' - sample.constant_loop'* && $output == *$'\n3 passed, 0 failed, 0 skipped' ]]
  CUDA_LAUNCH_BLOCKING=1 run -1 suite --only 'sample.constant_loop,sample.mapped_poll'
  echo "$output"
  [[ $output == *'shim: replayed 0 launches, at least 10000 expected'*$'\n1 passed, 1 failed, 0 skipped' ]]
}

@test "each sample is a test, and each test but for tools is audited" {
  local name
  run -0 suite --list
  for name in "$BATS_TEST_DIRNAME"/../../samples/*.c "$BATS_TEST_DIRNAME"/../../samples/cuda/*.cu; do
    [[ $name == */cuda/* ]] && name=sample_cuda.$(basename "$name" .cu) || name=sample.$(basename "$name" .c)
    [[ $name == sample.sample || $name == sample.kernels ]] || grep -qx "$name" <<<"$output"
  done
  while read -r name; do
    [[ $name =~ ^(audit|tool)\.|^mps$|^profiled.injected$|^plugins.deep$ ]] || grep -qx "audit.$name" <<<"$output"
  done <<<"$output"
  run ! grep -E '^audit\.(tool|mps|audit)' <<<"$output"
}
