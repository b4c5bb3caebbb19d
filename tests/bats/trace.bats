#!/usr/bin/env bats
# `autograph trace`: numbers that can be worked out by hand, files that are no traces, the recorded traces.
# shellcheck disable=SC2154  # names from helpers.bash

load helpers

setup() {
  one_thread
  cd "$BATS_TEST_TMPDIR" || return
  traces=$BATS_TEST_DIRNAME/../traces
  # what the numbers below are worked out with, whatever the defaults are
  fixed=(--set chunk_min=4 --set chunk_max=4 --set chunk_ramp=0 --set build_after=2 --set build_us=1 --set advance=0
    --set learning_us=0 --set later=0)
}

# fails TEXT COMMAND…: status 2, nothing on standard output, one line on standard error that holds TEXT.
fails() {
  local text=$1 error got=0
  shift
  error=$("$@" 2>&1 >out) || got=$?
  echo "status $got, stderr: $error"
  [ "$got" = 2 ] && [ ! -s out ] && lines "$error" 1 && [[ $error == "autograph: "*"$text"* ]]
}

launch() { # ARGUMENT
  printf 'K\t1.0\t1\t0\t1\t2,1,1\t64,1,1\t0\t-\t%016x\n' "$1"
}

# Two chunks of four launches that differ in one argument, then a memset and a launch before a copy that flushes.
tiny() {
  printf 'F\t1\tstep\t8\n'
  for argument in 1 1 1 1 1 1 1 2; do launch "$argument"; done
  printf 'C\t2.0\t1\tcuMemsetD8Async\t7f0000000000,0,40,0,0\n'
  launch 1
  printf 'C\t3.0\t1\tcuMemcpyDtoHAsync_v2\t5000,7f0000000000,40,0,0\n'
}

# number FILTER: from the JSON in the file out.json
number() {
  python3 -IS -c 'import json; t = json.load(open("out.json")); print(eval("t" + __import__("sys").argv[1]))' "$1"
}

@test "the third play of a tiny trace, worked out by hand" {
  tiny >tiny.tsv
  run -0 "$autograph" trace simulate "${fixed[@]}" tiny.tsv
  # 10 held ops, 3 graphs, 2 nodes patched with 8 bytes each: (1.2 + 6.3 + 0.84 + 0.07 * 16 / 1024) / 10
  [ "$(echo "${lines[1]}" | tr -s ' ')" = 'tiny.tsv 10 1.0000 2 0 0 0.8341' ]
  [ "$(echo "${lines[2]}" | tr -s ' ')" = 'mean 1.0000 0.8341' ]
  "$autograph" trace simulate --json "${fixed[@]}" tiny.tsv >out.json
  [ "$(number '["traces"][0]["modelled_us_per_launch"]')" = 0.834109 ]
  [ "$(number '["traces"][0]["graph_launches"]')" = 3 ]
  [ "$(number '["traces"][0]["eager"]')" = "{'first': 0, 'passed': 0, 'unknown': 0}" ]
  [ "$(number '["mean"]["coverage"]')" = 1.0 ]
}

@test "the first play: new ops, their chunks, and one graph built" {
  tiny >tiny.tsv
  "$autograph" trace simulate --json --plays 1 "${fixed[@]}" tiny.tsv >out.json
  [ "$(number '["traces"][0]["eager"]')" = "{'first': 2, 'passed': 0, 'unknown': 4}" ]
  [ "$(number '["traces"][0]["builds"]')" = 1 ]
  # 6 eager, 8 held, 1 graph, 4 nodes built: (25.8 + 0.96 + 2.1 + 40) / 10
  [ "$(number '["traces"][0]["modelled_us_per_launch"]')" = 6.886 ]
}

@test "calls do to held work what the hook table says" {
  # after CALL: whether four launches with it in the middle go out as one graph of four or as two of two
  graphs() {
    { printf 'F\t1\tstep\t8\n'; launch 1; launch 1; printf 'C\t2.0\t1\t%s\n' "$1"; launch 1; launch 1; } >call.tsv
    "$autograph" trace simulate --json --plays 4 "${fixed[@]}" call.tsv >out.json
    number '["traces"][0]["graph_launches"]'
  }
  [ "$(graphs $'cuCtxGetCurrent\t7ffd00000000')" = 1 ]
  [ "$(graphs $'cuStreamSynchronize\t0')" = 2 ]
  [ "$(graphs $'cuEventRecord\t1,0')" = 2 ]
  [ "$(graphs $'cuEventRecord\t1,5000')" = 1 ]
  [ "$(graphs $'cuStreamWaitEvent\t5000,1,0')" = 1 ]
  [ "$(graphs $'cuCtxSynchronize\t')" = 2 ]
  [ "$(graphs $'cuNewerThanTheTable\t0')" = 2 ]
  # the first time such a limit is set it is passed on; later only when it grows
  [ "$(graphs $'cuKernelSetAttribute\t8,4000,70000000,0')" = 1 ]
  # a copy from the program's heap is passed on at once, one from pinned memory is held
  [ "$(graphs $'cuMemcpyHtoDAsync_v2\t7f0000000000,5000,40,0')" = 2 ]
  [ "$(number '["traces"][0]["launches"]')" = 4 ]
  graphs $'cuMemcpyHtoDAsync_v2\t7f0000000000,7f1000000000,40,0'
  [ "$(number '["traces"][0]["launches"]')" = 5 ]
  # the fifth argument is what chance left in a register
  graphs $'cuMemcpyHtoDAsync_v2\t7f0000000000,5000,40,0,1'
  [ "$(number '["traces"][0]["launches"]')" = 4 ]
  # or the shim's own word, which is believed whatever the addresses are
  [ "$(graphs $'cuMemcpyHtoDAsync_v2\t7f0000000000,7f1000000000,40,0,61675f686f6c6431')" = 2 ]
  [ "$(number '["traces"][0]["eager"]["passed"]')" = 1 ]
  [ "$(number '["traces"][0]["launches"]')" = 5 ]
  graphs $'cuMemcpyHtoDAsync_v2\t7f0000000000,5000,40,0,61675f686f6c6433'
  [ "$(number '["traces"][0]["eager"]["passed"]')" = 0 ]
  [ "$(number '["traces"][0]["launches"]')" = 5 ]
  # so are memsets
  graphs $'cuMemsetD8Async\t7f0000000000,0,40,0,61675f686f6c6431'
  [ "$(number '["traces"][0]["eager"]["passed"]')" = 1 ]
}

@test "launches that cannot be held: an attribute, a capture of the program" {
  { printf 'F\t1\tstep\t8\n'; launch 1 | sed 's/-\t/7=1\t/'; launch 1; } >attribute.tsv
  "$autograph" trace simulate --json attribute.tsv >out.json
  [ "$(number '["traces"][0]["eager"]["passed"]')" = 1 ]
  {
    printf 'F\t1\tstep\t8\n'
    printf 'C\t1\t1\tcuStreamBeginCapture_v2\t5000,0\n'
    launch 1
    printf 'C\t1\t1\tcuStreamEndCapture\t5000,0\n'
    launch 1
  } >capture.tsv
  "$autograph" trace simulate --json capture.tsv >out.json
  [ "$(number '["traces"][0]["eager"]["passed"]')" = 1 ]
  [ "$(number '["traces"][0]["launches"]')" = 2 ]
}

@test "files that are no traces: one line with the place, status 2, nothing printed" {
  tiny >tiny.tsv
  fails 'no trace given' "$autograph" trace simulate
  fails 'cannot read missing.tsv: No such file' "$autograph" trace simulate missing.tsv
  : >empty.tsv
  fails 'empty.tsv is empty' "$autograph" trace simulate empty.tsv
  { cat tiny.tsv; printf 'K\t1\tx\n'; } >bad.tsv
  fails 'bad.tsv:13: the thread is no number' "$autograph" trace simulate tiny.tsv bad.tsv
  launch 1 >undeclared.tsv
  fails 'undeclared.tsv:1: the function was not declared' "$autograph" trace simulate undeclared.tsv
  { printf 'F\t1\tstep\t8,4\n'; launch 1; } >sizes.tsv
  fails 'sizes.tsv:2: the arguments do not fit' "$autograph" trace simulate sizes.tsv
  head -c -9 tiny.tsv >short.tsv
  fails 'short.tsv:12: ' "$autograph" trace simulate short.tsv
  head -c -1 tiny.tsv >unended.tsv
  fails 'unended.tsv:12: the last line is cut off' "$autograph" trace simulate unended.tsv
  printf 'F\t1\tst\0ep\t8\n' >zero.tsv
  fails 'zero.tsv:1: ' "$autograph" trace simulate zero.tsv
  fails 'autograph:1: ' "$autograph" trace simulate "$autograph"
}

@test "packed traces: the same numbers; damaged ones are refused" {
  tiny >tiny.tsv
  xz -k tiny.tsv
  run -0 "$autograph" trace simulate tiny.tsv
  plain=$output
  run -0 "$autograph" trace simulate tiny.tsv.xz
  diff <(echo "$plain" | tr -s ' ' | tail -n 3) <(echo "$output" | sed 's/\.xz//' | tr -s ' ' | tail -n 3)
  head -c -8 tiny.tsv.xz >short.tsv.xz
  fails 'short.tsv.xz is no xz file, or it is damaged or cut off' "$autograph" trace simulate short.tsv.xz
  cp tiny.tsv plain.xz
  fails 'plain.xz is no xz file' "$autograph" trace simulate plain.xz
  mkdir nothing
  fails 'xz cannot be run' env PATH="$PWD/nothing" "$autograph" trace simulate tiny.tsv.xz
}

@test "wrong usage: one line, status 2" {
  fails 'say what to do' "$autograph" trace
  fails "unknown command 'frobnicate'" "$autograph" trace frobnicate
  fails "'--bogus'" "$autograph" trace simulate --bogus
  fails "'chunk_max=65' is no setting" "$autograph" trace simulate --set chunk_max=65
  fails "'nothing=1' is no setting" "$autograph" trace simulate --set nothing=1
  fails "'admission=-1' is no setting" "$autograph" trace simulate --set admission=-1
  fails '--plays takes a number' "$autograph" trace simulate --plays 0
  fails '--seed takes a number' "$autograph" trace simulate --seed x
  fails '--hold-us takes a number' "$autograph" trace simulate --hold-us 0
}

@test "--help and --cost" {
  for words in 'help trace' 'trace --help' 'trace -h'; do
    # shellcheck disable=SC2086
    run -0 "$autograph" $words
    [[ $output == 'usage: autograph trace'* ]]
  done
  run -0 "$autograph" trace simulate --cost
  [ "$(echo "$output" | awk '{print $1 "=" $2}' | tr '\n' ' ')" = \
    'eager=4.30 held=0.12 launch=2.10 launch_patched=0.06 patch=0.36 patch_kib=0.07 retarget=1.20 launch_retargeted=1.20 build=10.00 ' ]
}

@test "the recorded traces: the bars hold, every launch is accounted for, and twice the same" {
  "$autograph" trace simulate --json "$traces"/*.tsv.xz >out.json
  "$autograph" trace simulate --json "$traces"/*.tsv.xz | diff out.json -
  python3 -IS - <<'PYTHON'
import json
result = json.load(open("out.json"))
assert len(result["traces"]) == 9
for t in result["traces"]:
    print(t)
    assert t["launches"] == t["replayed"] + sum(t["eager"].values())
    if t["launches"] == 0:  # these launch graphs of their own
        assert t["file"] in ("jax-jit-mlp-train.tsv.xz", "torch-own-cuda-graph.tsv.xz")
        continue
    assert t["builds"] < 0.01 * t["launches"]
    assert t["coverage"] >= 0.99
    assert t["modelled_us_per_launch"] <= 0.6
assert result["mean"]["modelled_us_per_launch"] <= 0.35
assert result["worst"]["modelled_us_per_launch"] <= 0.6
PYTHON
}

@test "the recorded traces: wherever the cuts fall" {
  for seed in 1 2 3 4; do
    "$autograph" trace simulate --json --seed "$seed" "$traces"/*.tsv.xz >out.json
    number '["mean"], t["worst"]'
    holds "$(number '["mean"]["modelled_us_per_launch"]') <= 0.4"
    holds "$(number '["worst"]["modelled_us_per_launch"]') <= 0.7"
    holds "$(number '["worst"]["coverage"]') >= 0.99"
  done
}
