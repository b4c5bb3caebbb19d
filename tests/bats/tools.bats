#!/usr/bin/env bats
# The command, with a toy in the shim's place: needs no CUDA, and sees what the command hands to the shim.

# shellcheck disable=SC2154  # names from helpers.bash
load helpers

setup_file() {
  load helpers
  export place=$BATS_FILE_TMPDIR/bin
  mkdir -p "$place" "$place/driver"
  cp "$autograph" "$place/autograph"
  ${CC:-cc} -shared -fPIC -o "$place/libautograph.so" "$BATS_TEST_DIRNAME/toy-shim.c"
  ${CC:-cc} -shared -fPIC -o "$place/driver/libcuda.so.1" "$BATS_TEST_DIRNAME/toy-driver.c"
  cp "$place/libautograph.so" "$place/libautograph_cuda.so"
  cp "$place/libautograph.so" "$place/other.so"
}

setup() {
  one_thread
  PATH=$place:$PATH
  toy=$(readlink -f "$place/libautograph.so")
}

# fails STATUS TEXT COMMAND…: that status, nothing on stdout, one line on stderr that holds TEXT.
fails() {
  local status=$1 text=$2 error got=0
  shift 2
  error=$("$@" 2>&1 >"$BATS_TEST_TMPDIR/out") || got=$?
  echo "status $got, stderr: $error"
  [ "$got" = "$status" ] && [ ! -s "$BATS_TEST_TMPDIR/out" ] && lines "$error" 1 && [[ $error == "autograph: "*"$text"* ]]
}

@test "no command, unknown and reserved commands: one line, status 2" {
  fails 2 'no command' autograph
  fails 2 "unknown command 'frobnicate'" autograph frobnicate
  fails 2 "unknown command 'frobnicate'" autograph help frobnicate
}

@test "--help, help, --version and the help of every command" {
  run -0 autograph --help
  [[ $output == usage:*run*ab*profile*report*verify*doctor*trace* ]]
  run -0 autograph help
  run -0 autograph --version
  [[ $output =~ ^autograph\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
  for command in run ab profile report verify doctor trace; do
    run -0 autograph help "$command"
    [[ $output == "usage: autograph $command"* ]]
    run -0 autograph "$command" --help
    [[ $output == "usage: autograph $command"* ]]
  done
}

@test "usage errors of every command: one line, status 2" {
  for command in run ab profile verify; do
    fails 2 'no program' autograph "$command"
    fails 2 'no program' autograph "$command" --
    fails 2 "'--bogus'" autograph "$command" --bogus -- true
    fails 2 "'--set' needs a value" autograph "$command" --set
    fails 2 'not NAME=VALUE' autograph "$command" --set word -- true
  done
  fails 2 "'-x'" autograph run -x -- true
  fails 2 'one of replay, observe, verify, off' autograph run --mode fast -- true
  fails 2 'one of error, warn, info, debug' autograph run --log loud -- true
  fails 2 'no setting' autograph run --set =1 -- true
  fails 2 '-n takes a number' autograph ab -n 0 -- true
  fails 2 '-n takes a number' autograph ab -n 3x -- true
  fails 2 'bad expression' autograph ab --filter '(' -- true
  fails 2 'has no group' autograph ab --metric 'x=' -- true
  fails 2 'no statistics file' autograph report
  fails 2 'one program' autograph doctor a b
}

@test "run: the program's status, output, input and arguments pass through" {
  run -7 autograph run -- sh -c 'exit 7'
  run -0 autograph run printf '%s|' --mode 'a b' ''
  [ "$output" = '--mode|a b||' ]
  run -0 bash -c 'echo word | autograph run -- cat'
  [ "$output" = word ]
}

@test "run: 127 for a missing program, 126 for one that cannot be executed" {
  fails 127 "cannot run '/nonexistent'" autograph run -- /nonexistent
  fails 127 'No such file' autograph run -- surely-no-such-program
  fails 126 'Permission denied' autograph run -- /etc/passwd
}

@test "run: is the same process, so signals reach the program and end it" {
  autograph run -- sh -c 'trap "echo got; exit 9" TERM; echo $$ >"$0"; while :; do sleep 0.05; done' \
    "$BATS_TEST_TMPDIR/pid" >"$BATS_TEST_TMPDIR/out" 3>&- &
  local child=$! status=0
  until [ -s "$BATS_TEST_TMPDIR/pid" ]; do sleep 0.02; done
  [ "$(cat "$BATS_TEST_TMPDIR/pid")" = "$child" ]
  kill -TERM "$child"
  wait "$child" || status=$?
  [ "$status" = 9 ]
  [ "$(cat "$BATS_TEST_TMPDIR/out")" = got ]
  run -137 autograph run -- sh -c 'kill -KILL $$'
}

@test "run: composes LD_PRELOAD, ours first, others kept, never twice" {
  local show=(sh -c 'echo "$LD_PRELOAD"')
  run -0 autograph run -- "${show[@]}"
  [ "$output" = "$toy" ]
  LD_PRELOAD="$place/other.so" run -0 autograph run -- "${show[@]}"
  [ "$output" = "$toy:$place/other.so" ]
  LD_PRELOAD="$toy $place/other.so" run -0 autograph run -- "${show[@]}"
  [ "$output" = "$toy:$place/other.so" ]
}

@test "run: options become AUTOGRAPH_ variables" {
  unset AUTOGRAPH_COSTS
  run -0 autograph run --mode observe --stats /tmp/s-%p --trace t --log debug --set hold_us=7 --set AUTOGRAPH_FORCE=yes \
    --set A=1 --set A=2 -- sh -c 'env | grep ^AUTOGRAPH_ | grep -v _BUILD | sort'
  [ "$output" = 'AUTOGRAPH_A=2
AUTOGRAPH_FORCE=yes
AUTOGRAPH_HOLD_US=7
AUTOGRAPH_LOG=debug
AUTOGRAPH_MODE=observe
AUTOGRAPH_STATS=/tmp/s-%p
AUTOGRAPH_TRACE=t' ]
}

@test "run: the library is found beside the command, in ../lib and ../lib/autograph; missing is said" {
  for folder in bin lib lib/autograph; do
    local root=$BATS_TEST_TMPDIR/${folder//\//-}
    mkdir -p "$root/bin" "$root/$folder"
    cp "$place/autograph" "$root/bin/"
    cp "$toy" "$root/$folder/libautograph.so"
    # shellcheck disable=SC2016
    run -0 "$root/bin/autograph" run -- sh -c 'echo "$LD_PRELOAD"'
    [ "$output" = "$(readlink -f "$root/$folder/libautograph.so")" ]
  done
  mkdir "$BATS_TEST_TMPDIR/alone"
  cp "$place/autograph" "$BATS_TEST_TMPDIR/alone/"
  fails 125 'is not beside this command' "$BATS_TEST_TMPDIR/alone/autograph" run -- true
  mkdir "$BATS_TEST_TMPDIR/a place"
  cp "$place/autograph" "$toy" "$BATS_TEST_TMPDIR/a place/"
  fails 125 'space or colon' "$BATS_TEST_TMPDIR/a place/autograph" run -- true
}

@test "ab: equal programs, table, JSON with every value" {
  run -0 --separate-stderr autograph ab -n 3 --json "$BATS_TEST_TMPDIR/ab.json" -- sh -c 'echo hello; exit 4'
  [[ $output == *'ratio of medians'* ]]
  [[ $output == *'identical output, exit status 4'* ]]
  [ -z "$stderr" ]
  python3 -IS - "$BATS_TEST_TMPDIR/ab.json" <<'PYTHON'
import json, sys
ab = json.load(open(sys.argv[1]))
assert ab["pairs"] == 3 and ab["same_results"] is True and ab["exit_status"] == 4, ab
assert ab["program"] == ["sh", "-c", "echo hello; exit 4"], ab
for key in ("wall_s", "user_s", "system_s", "max_rss_mib"):
    assert len(ab[key]["plain"]["values"]) == len(ab[key]["shim"]["values"]) == 3, ab
assert ab["wall_s"]["plain"]["least"] <= ab["wall_s"]["plain"]["median"] <= ab["wall_s"]["plain"]["most"]
PYTHON
}

@test "ab: plain and shimmed runs alternate and turn their order round" {
  run -0 autograph ab -n 2 --warmup 1 -- sh -c 'echo "${LD_PRELOAD:-plain}" >>"$0"' "$BATS_TEST_TMPDIR/order"
  [ "$(sed 's|.*/||; s|libautograph.so|shim|' "$BATS_TEST_TMPDIR/order" | paste -sd ' ')" = 'plain shim shim plain plain shim' ]
}

@test "ab: a shim that was preloaded already is not in the plain runs" {
  LD_PRELOAD=$toy run -0 autograph ab -n 1 -- sh -c 'echo "${LD_PRELOAD:-plain}" >>"$0"' "$BATS_TEST_TMPDIR/order"
  [ "$(head -n 1 "$BATS_TEST_TMPDIR/order")" = plain ]
}

@test "ab: different output is status 1, a filter can leave it out, a slow side is measured" {
  TOY_LINE='took 5 ms' run -1 autograph ab -n 2 -- echo hello
  [[ $output == *'output with the shim differs'* ]]
  [[ $output == *'shim   line 1: took 5 ms'* ]]
  TOY_LINE='took 5 ms' run -0 autograph ab -n 2 --filter '^took' -- echo hello
  run -1 autograph ab -n 1 -- sh -c 'test -z "$LD_PRELOAD"'
  [[ $output == *'exit status differs: 0 without, 1 with the shim'* ]]
  run -0 autograph ab -n 3 -- sh -c 'if [ -z "$LD_PRELOAD" ]; then sleep 0.3; else sleep 0.1; fi'
  [[ $output =~ ratio\ of\ medians\ ([0-9.]+) ]]
  holds "${BASH_REMATCH[1]} > 1" # 3 on a machine that does nothing else
}

@test "ab: a program that differs from itself is told from a shim that changes it" {
  run -1 autograph ab -n 3 -- date +%N
  [[ $output == *'differ between runs without the shim'* ]]
}

@test "ab: a metric from the output, and none" {
  local program=(sh -c 'echo result; if [ -z "$LD_PRELOAD" ]; then echo us=3.0; else echo us=1.5; fi')
  run -0 autograph ab -n 2 --metric 'us=([0-9.]+)' -- "${program[@]}"
  [[ $output == *'ratio of medians 2.000, median ratio of pairs 2.000'* ]]
  run -0 --separate-stderr autograph ab -n 2 --metric 'us=([0-9.]+)' --json - -- "${program[@]}"
  python3 -IS -c 'import json, sys; assert json.loads(sys.argv[1])["metric"]["ratio_of_medians"] == 2' "$output"
  fails 125 'matches the metric' autograph ab -n 1 --metric 'us=([0-9]+)' -- echo nothing
}

@test "ab --within: spans of one run are paired, and printed with the same output checked" {
  # the toy: what the shim would write, with spans of two microseconds a launch when passed and one when held
  toy_spans='[[1,0,9,0],[0,10,200,100],[1,300,100,100],[1,500,100,0],[0,700,400,200],[1,1200,100,100]]'
  program=(sh -c 'test -z "$LD_PRELOAD" || echo "{\"launches\":5,\"spans\":$0}" >"${AUTOGRAPH_STATS%\%p.json}1.json"; echo hello' "$toy_spans")
  run -0 autograph ab --within 50 -- "${program[@]}"
  [[ $output == *'2 pairs of spans of one run'* ]]
  [[ $output == *'ratio of medians 2.000'* && $output == *'results: identical'* ]]
  run -0 --separate-stderr autograph ab --within 50 --json - -- "${program[@]}"
  python3 -IS -c 'import json, sys; r = json.load(sys.stdin)["us_per_launch"]; assert r["plain"]["values"] == [2, 2] and r["shim"]["values"] == [1, 1], r' <<<"$output"
  fails 125 'no two spans' autograph ab --within 50 -- true
  fails 2 'goes without -n' autograph ab --within 50 -n 2 -- true
  fails 2 'from 10 to 60000' autograph ab --within 9 -- true
}

@test "ab: a run that dies of a signal is status 3, a program that cannot start 127" {
  fails 3 'without the shim died of signal 11' autograph ab -n 2 -- sh -c 'kill -SEGV $$'
  fails 3 'with the shim died of signal 6' autograph ab -n 2 -- sh -c 'test -z "$LD_PRELOAD" || kill -ABRT $$'
  fails 127 'No such file' autograph ab -n 2 -- /nonexistent
}

@test "profile: observe mode, a report on stderr or in a file, the program's status, no folder left" {
  export TMPDIR=$BATS_TEST_TMPDIR/tmp
  mkdir "$TMPDIR"
  # bash, since some shells leave by _exit and then write no statistics
  run -3 --separate-stderr autograph profile -- bash -c 'echo hello; exit 3'
  [ "$output" = hello ]
  [[ $stderr == *'mode observe'*'launches '*' 1000 '*'advice'* ]]
  run -0 --separate-stderr autograph profile --out "$BATS_TEST_TMPDIR/report" -- true
  [ -z "$stderr" ]
  grep -q 'driver for CUDA 13.0' "$BATS_TEST_TMPDIR/report"
  TOY_LAUNCHES=0 run -0 --separate-stderr autograph profile -- true
  [[ $stderr == *'no process of this run launched anything'* ]]
  fails 125 'cannot write /nonexistent/report' autograph profile --out /nonexistent/report -- true
  run -137 autograph profile -- sh -c 'kill -KILL $$'
  fails 127 'No such file' autograph profile -- /nonexistent
  [ -z "$(ls "$TMPDIR")" ]
}

@test "profile: a termination signal reaches the program, and the report still comes" {
  autograph profile -- sh -c 'trap "exit 9" TERM; : >"$0"; while :; do sleep 0.05; done' "$BATS_TEST_TMPDIR/up" \
    2>"$BATS_TEST_TMPDIR/err" 3>&- &
  local child=$! status=0
  until [ -e "$BATS_TEST_TMPDIR/up" ]; do sleep 0.02; done
  kill -TERM "$child"
  wait "$child" || status=$?
  [ "$status" = 9 ]
  grep -q 'launches' "$BATS_TEST_TMPDIR/err"
}

@test "verify: same, different, divergences, nothing seen" {
  run -0 autograph verify -- echo hello
  [[ $output == *'no divergence in 1000 launches, 900 of them replayed'* ]]
  TOY_DIVERGENCES=2 run -1 autograph verify -- echo hello
  [[ $output == *'2 divergences'* ]]
  TOY_LINE=x run -1 autograph verify -- echo hello
  [[ $output == *'output differs'* ]]
  TOY_LINE=x run -0 autograph verify --filter x -- echo hello
  TOY_LAUNCHES=0 TOY_REPLAYED=0 run -4 autograph verify -- echo hello
  [[ $output == 'nothing was checked: no launch was seen' ]]
  TOY_REPLAYED=0 run -4 autograph verify -- echo hello
  [[ $output == 'nothing was checked: none of 1000 launches was replayed' ]]
  TOY_LINE=x TOY_REPLAYED=0 run -1 autograph verify -- echo hello
  run -1 autograph verify -- sh -c 'test "$AUTOGRAPH_MODE" != verify'
  [[ $output == *'exit status differs'* ]]
  fails 3 'died of signal' autograph verify -- sh -c 'kill -SEGV $$'
}

@test "report: a table with shares and explanations, several objects, advice" {
  cat >"$BATS_TEST_TMPDIR/s.json" <<'JSON'
{"version":"1.0","mode":"replay","driver":12080,"seconds":2.0,"launches":1000,"replayed":250,"eager":750,"driver_calls":800,
 "flushes":{"sync":500,"event":3},"bypass":{"tool":700,"a_new_reason":5},"later":[1,{"deep":[true,null]}],"text":"a\"\\\u0041"}
{"version":"1.0","mode":"observe","launches":0}
JSON
  run -0 autograph report "$BATS_TEST_TMPDIR/s.json"
  [[ $output == *'driver for CUDA 12.8'* ]]
  [[ $output == *'replayed '*' 250 '*'25.0 %'* ]]
  [[ $output == *'tool '*' 700 '*'70.0 %'* ]]
  [[ $output == *'a_new_reason'* ]]
  [[ $output == *'unset CUDA_LAUNCH_BLOCKING'* ]]
  [[ $output == *"every 2.0 launches, most because of 'sync'"* ]]
  [[ $output == *'No launch was seen'* ]]
  run -0 bash -c 'autograph report - <"$0"' "$BATS_TEST_TMPDIR/s.json"
}

@test "report: bad files are named, nothing is printed" {
  fails 125 "/nonexistent: No such file" autograph report /nonexistent
  for text in '' ' ' '{' '{"a":}' '{"a":1' '{"a" 1}' '[1]' '{"a":1}x' '{"a":"' '{"a":"\q"}' '{"a":"\u12"}' '{"a":tru}' \
    '{"a":1,}' '{"a":[1,}' "$(printf '{"a":%0.s' {1..40})"; do
    printf '%s' "$text" >"$BATS_TEST_TMPDIR/bad.json"
    echo "text: $text"
    fails 125 'bad.json is ' autograph report "$BATS_TEST_TMPDIR/bad.json"
  done
}

@test "a full disk is not success" {
  [ -e /dev/full ] || skip 'no /dev/full'
  run -125 bash -c 'autograph --help >/dev/full'
}

@test "doctor: all fine" {
  LD_LIBRARY_PATH=$place/driver run -0 autograph doctor /bin/ls
  [[ $output != *fail* && $output != *warn* ]]
  [[ $output == *'driver: for CUDA 13.0'*'devices: 1'*'can be preloaded'* ]]
}

@test "doctor: driver trouble is said and is status 1" {
  export LD_LIBRARY_PATH=$place/driver
  TOY_VERSION=12030 run -1 autograph doctor
  [[ $output == *'fail  driver: for CUDA 12.3'* ]]
  TOY_CRASH=1 run -1 autograph doctor
  [[ $output == *'fail  driver: loading libcuda.so.1 crashed'* ]]
  TOY_INIT=100 run -1 autograph doctor
  [[ $output == *'fail  devices: the driver does not start (CUDA error 100)'* ]]
  TOY_DEVICES=0 run -1 autograph doctor
  [[ $output == *'fail  devices: none'* ]]
}

@test "doctor: environment and program" {
  export LD_LIBRARY_PATH=$place/driver
  CUDA_LAUNCH_BLOCKING=1 CUDA_INJECTION64_PATH=/x AUTOGRAPH_MODE=off LD_PRELOAD=$place/other.so run -0 autograph doctor
  [ "$(grep -c ^warn <<<"$output")" = 4 ]
  CUDA_LAUNCH_BLOCKING=0 run -0 autograph doctor
  [[ $output != *warn* ]]
  run -1 autograph doctor /nonexistent
  [[ $output == *'fail  program: /nonexistent is not found'* ]]
  cp /bin/ls "$BATS_TEST_TMPDIR/owned"
  chmod u+s "$BATS_TEST_TMPDIR/owned"
  run -1 autograph doctor "$BATS_TEST_TMPDIR/owned"
  [[ $output == *'set-user-ID'* ]]
  echo 'int main(void) { return 0; }' | ${CC:-cc} -static -x c - -o "$BATS_TEST_TMPDIR/static"
  run -1 autograph doctor "$BATS_TEST_TMPDIR/static"
  [[ $output == *'linked statically'* ]]
  printf '#!/bin/sh\n' >"$BATS_TEST_TMPDIR/script"
  chmod +x "$BATS_TEST_TMPDIR/script"
  run -0 autograph doctor "$BATS_TEST_TMPDIR/script"
  [[ $output == *'is a script'* ]]
}

@test "doctor: a missing facade" {
  mkdir "$BATS_TEST_TMPDIR/alone"
  cp "$place/autograph" "$toy" "$BATS_TEST_TMPDIR/alone/"
  LD_LIBRARY_PATH=$place/driver run -1 "$BATS_TEST_TMPDIR/alone/autograph" doctor
  [[ $output == *'fail  facade:'* ]]
}
