#!/usr/bin/env bats
# AUTOGRAPH_MODE=observe: nothing is held, and what replay mode would do is foretold.
# shellcheck disable=SC2154  # names from helpers.bash

load helpers

setup() {
  need_simulator
  cd "$BATS_TEST_TMPDIR" || return
  # nothing may depend on how busy the machine is
  export AUTOGRAPH_HOLD_US=1000000 AUTOGRAPH_COSTS=fixed
}

# modes PROGRAM [ARG…]: the same output in both modes, and no driver call that the program did not make by itself.
modes() {
  local mode
  for mode in observe replay; do
    AUTOGRAPH_MODE=$mode AUTOGRAPH_STATS=$PWD/$mode.json SIM_OPTIONS=log=$PWD/$mode.log on_simulator_shimmed lazy "$@" >"$mode.out"
  done
  diff observe.out replay.out
  SIM_OPTIONS=log=$PWD/plain.log on_simulator lazy "$@" | diff - observe.out
}

# Without an interpreter's start for each: these are asked for often.
observed() { statistic "$1" observe.json; }
replayed() { statistic "$1" replay.json; }

@test "the forecast is what replay mode does" {
  for sample in $(few -3 mixed_kernels two_streams changing_args constant_loop double_buffer growing_grid sync_every); do
    modes "$samples/$sample"
    echo "$sample: $(observed replayable) of $(observed launches), $(replayed replayed)"
    [ "$(observed launches)" = "$(observed eager)" ]
    [ "$(observed launches)" = "$(observed driver_calls)" ]
    [ "$(observed replayed)" = 0 ]
    [ "$(observed replayable)" = "$(replayed replayed)" ]
    [ "$(observed replayable_graphs)" = "$(replayed graph_launches)" ]
    [ "$(replayed replayable)" = 0 ]
  done
}

@test "a short program is seen whole, a long one by samples" {
  local sample mode
  modes "$samples/constant_loop"
  [ "$(observed observed)" = "$(observed launches)" ]
  [ "$(replayed observed)" = 0 ]
  for sample in $(few -1 mixed_kernels constant_loop changing_args sync_every); do
    # 200 thousand launches: the beginning, and some blocks
    for mode in observe replay; do
      AUTOGRAPH_MODE=$mode AUTOGRAPH_STATS=$PWD/$mode.json on_simulator_shimmed eager "$samples/$sample" --iterations 2000 >"$mode.out"
    done
    diff observe.out replay.out
    echo "$sample: $(observed replayable) of $(observed launches), $(replayed replayed); from $(observed observed)"
    [ "$(observed launches)" = "$(observed eager)" ]
    holds "8192 + 2560 <= $(observed observed) < 0.15 * $(observed launches)"
    holds "abs($(observed replayable) - $(replayed replayed)) < 0.02 * $(observed launches)"
    holds "abs($(observed replayable_graphs) - $(replayed graph_launches)) < 0.03 * $(replayed graph_launches)"
    "$autograph" report observe.json >printed
    grep -q "foretold from $(observed observed) of the $(observed launches) launches" printed
  done
}

@test "with a trace everything is seen" {
  AUTOGRAPH_MODE=observe AUTOGRAPH_TRACE=$PWD/trace on_simulator_shimmed eager "$samples/constant_loop" --iterations 300 >/dev/null
  holds "$(statistic observed) == $(statistic launches) == 30000"
}

@test "samples of the recorded traces foretell them" {
  one_thread
  local json
  json=$("$autograph" trace simulate --json --sampled --plays 60 "$BATS_TEST_DIRNAME"/../traces/torch-*.tsv.xz)
  python3 -IS -c '
import json, sys
for trace in json.load(sys.stdin)["traces"]:
    s = trace["sampled"]
    print(trace["file"], s)
    if s["launches"] < 8192:
        assert s["observed"] == s["launches"] and s["replayable"] == s["replayed"]
    else:
        assert s["observed"] < max(24576, s["launches"] / 5)
        assert abs(s["replayable"] - s["replayed"]) < 0.01 * s["launches"]
        assert abs(s["replayable_graphs"] - s["graph_launches"]) < 0.03 * s["graph_launches"]' <<<"$json"
}

@test "copies that may read host memory are not foretold" {
  modes "$samples/memset_copy"
  holds "0.5 * $(replayed replayed) < $(observed replayable) <= $(replayed replayed)"
}

@test "no work of the program's calls is submitted in another way" {
  for sample in $(few memset_copy two_streams mixed_kernels); do
    modes "$samples/$sample"
    for name in cuLaunchKernel cuMemsetD8Async cuMemcpyDtoDAsync_v2 cuStreamSynchronize cuGraphLaunch cuPointerGetAttribute cuCtxPushCurrent_v2; do
      [ "$(grep -cw -- "call $name" plain.log)" = "$(grep -cw -- "call $name" observe.log)" ]
    done
  done
}

@test "what programs of reported behaviours print is the same in observe mode" {
  for program in $(few -6 contexts_and_threads fork_beside_launches unload_beside_launches memory_again capture_given_up \
    large_arguments function_again launch_attributes launch_errors limit_after_reload); do
    plain_status=0 status=0
    plain=$(on_simulator lazy "$build/tests/reports/$program" 2>&1) || plain_status=$?
    output=$(AUTOGRAPH_MODE=observe on_simulator_shimmed lazy "$build/tests/reports/$program" 2>&1) || status=$?
    echo "$program: $output"
    [ "$status" = "$plain_status" ] && [ "$output" = "$plain" ]
    holds "$(statistic replayable) <= $(statistic launches) == $(statistic eager)"
  done
}

@test "a trace in observe mode has the arguments, and gives the same forecast" {
  modes "$samples/mixed_kernels"
  AUTOGRAPH_MODE=observe AUTOGRAPH_TRACE=$PWD/trace on_simulator_shimmed lazy "$samples/mixed_kernels"
  "$autograph" trace simulate --plays 1 --json trace >out.json
  [ "$(python3 -IS -c 'import json; print(json.load(open("out.json"))["traces"][0]["replayed"])')" = "$(observed replayable)" ]
}

@test "a trace says which memory copies read, so that they are foretold with it" {
  modes "$samples/memset_copy"
  AUTOGRAPH_MODE=observe AUTOGRAPH_TRACE=$PWD/trace AUTOGRAPH_STATS=$PWD/observe.json on_simulator_shimmed lazy "$samples/memset_copy"
  echo "$(observed replayable) foretold, $(replayed replayed) replayed"
  [ "$(observed replayable)" = "$(replayed replayed)" ]
  [ "$(observed replayable_graphs)" = "$(replayed graph_launches)" ]
  "$autograph" trace simulate --plays 1 --json trace >out.json
  [ "$(python3 -c 'import json; print(json.load(open("out.json"))["traces"][0]["replayed"])')" = "$(observed replayable)" ]
}

@test "profile and report say it" {
  run -0 --separate-stderr on_simulator lazy "$autograph" profile --set COSTS=fixed -- "$samples/sync_every"
  echo "$stderr"
  forecast='Replay mode would submit ([0-9.]+) % of the launches inside graphs, ([0-9.]+) in each: about ([0-9]+) driver calls instead of 2000\.'
  [[ $stderr =~ $forecast ]]
  share=${BASH_REMATCH[1]} length=${BASH_REMATCH[2]} calls=${BASH_REMATCH[3]}
  holds "$share > 95"
  holds "8 < $length <= 10" # it waits after every ten
  holds "$calls < 300"
  [[ $stderr =~ replayable\ +([0-9]+)\ +$share\ % ]]
}
