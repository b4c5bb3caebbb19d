#!/usr/bin/env bats
# autograph verify --memory: what device memory held in whole runs. tests/doors/contents.c has memory that ends in every way,
# prints nothing of what it holds, and with BREAK=MODE leaves another word there in that mode: that must be found.

# shellcheck disable=SC2154  # names from helpers.bash
load helpers

setup() {
  need_simulator
  export KERNELS=$samples/kernels.ptx TMPDIR=$BATS_TEST_TMPDIR
  # a busy machine must not look like a program that pauses
  export AUTOGRAPH_HOLD_US=20000
  contents=$build/doors/contents
  unset BREAK
}

# verified STATUS SCHEDULE PROGRAM…: what the tool prints goes to $output.
verified() {
  local wanted=$1 schedule=$2
  shift 2
  run on_simulator "$schedule" "$autograph" verify --memory -- "$@"
  echo "$*, $schedule: status $status"
  echo "$output"
  [ "$status" = "$wanted" ]
}

# found WAY BYTES LINE…: under the lazy schedule, and those in $also, nothing differs, and so many bytes were compared; with the break each of the lines is there.
found() {
  local way=$1 bytes=$2 schedule line
  shift 2
  for schedule in lazy ${also-}; do
    verified 0 "$schedule" "$contents" "$way"
    [[ $output == *" allocations compared ($bytes bytes), 0 different"* ]]
    [[ $output != *'memory differs'* && $output == *'no divergence in '* ]]
    # a sanitizer sees the same code once more, and whole runs are four processes
    [ -z "${TEST_SAN:-}" ] || continue
    BREAK=verify verified 1 "$schedule" "$contents" "$way"
    for line; do
      [[ $output == *"memory differs: $line"* ]]
    done
    [ "$(grep -c '^memory differs' <<<"$output")" = $# ]
    [[ $output == *" allocations compared ($bytes bytes), $# different"* && $output != *'output differs'* ]]
  done
}

last='1 of 8 pieces of 512 bytes, the first at byte 3584'

@test "memory that is freed, in each way of allocating it" {
  one_thread
  found freed 4096 "allocation 1 of thread 1 (allocated, 4096 bytes), when it was freed: $last"
  found pitched 4096 "allocation 1 of thread 1 (allocated, 4096 bytes), when it was freed: $last"
  found managed 4096 "allocation 1 of thread 1 (managed, 4096 bytes), when it was freed: $last"
  found pooled 4096 "allocation 1 of thread 1 (from a pool, 4096 bytes), when it was freed: $last"
  found from_pool 4096 "allocation 1 of thread 1 (from a pool, 4096 bytes), when it was freed: $last"
  found mapped 2097152 "allocation 1 of thread 1 (mapped, 2097152 bytes), when it was freed: 1 of 4096 pieces of 512 bytes, the \
first at byte 3584"
}

@test "memory that lives until the program or its context ends" {
  one_thread
  found live 4096 "allocation 1 of thread 1 (allocated, 4096 bytes), at exit: $last"
  found ended_context 4096 "allocation 1 of thread 1 (allocated, 4096 bytes), when its context ended: $last"
  found reset 4096 "allocation 1 of thread 1 (allocated, 4096 bytes), when its context ended: $last"
  found released 4096 "allocation 1 of thread 1 (allocated, 4096 bytes), when its context ended: $last"
  found still_retained 4096 "allocation 1 of thread 1 (allocated, 4096 bytes), when it was freed: $last"
  found forked 4096 "allocation 1 of thread 1 (allocated, 4096 bytes), at exit: $last"
}

@test "variables of modules and libraries" {
  one_thread
  local line='(the variable scale, 4 bytes), when its code was unloaded: 1 of 1 pieces of 512 bytes, the first at byte 0'
  found variable 4100 "allocation 2 of thread 1 $line"
  found library_variable 4100 "allocation 2 of thread 1 $line"
}

@test "threads that allocate the same are told apart by what their memory holds" {
  local n lines=()
  for n in 1 2 3 4; do
    lines+=("allocation 1 of thread $n (allocated, 4096 bytes), when it was freed: $last")
    lines+=("allocation 2 of thread $n (allocated, 4096 bytes), when it was freed: $last")
  done
  also='random eager' found threads 32768 "${lines[@]}"
}

@test "every sample: the same" {
  one_thread
  local sample schedule
  for sample in $(few -3 two_streams memset_copy mixed_kernels constant_loop changing_args double_buffer growing_grid sync_every); do
    for schedule in "${schedules[@]}"; do
      verified 0 "$schedule" "$samples/$sample"
      [[ $output == *' different'* && $output != *'not compared'* && $output != *'plain runs'* ]]
    done
  done
}

@test "what only an executable graph got wrong, and no output tells" {
  one_thread
  local nth
  for nth in 2 5; do
    SIM_OPTIONS=corrupt=cuGraphExecKernelNodeSetParams_v2:$nth:8 verified 1 lazy "$contents" freed
    [[ $output == *'memory differs: allocation 1 of thread 1 '*': 8 of 8 pieces '* && $output != *'output differs'* ]]
    [[ $output != *divergences* ]]
    SIM_OPTIONS=corrupt=cuGraphExecKernelNodeSetParams_v2:$nth:8 run -0 on_simulator lazy "$autograph" verify -- "$contents" freed
  done
}

@test "what differs between plain runs is left out, and nothing else" {
  one_thread
  verified 0 lazy "$contents" some_noise
  [[ $output == *'memory: 1 allocations compared (3584 bytes), 0 different; 512 bytes in them differ between plain runs'* ]]
  BREAK=verify verified 1 lazy "$contents" some_noise
  [[ $output == *'memory differs: allocation 1 '*": $last"* ]]
  verified 4 lazy "$contents" all_noise
  [[ $output == *'memory: 0 allocations compared (0 bytes), 0 different; 1 not compared: differ between plain runs'* ]]
  [[ $output == *'memory was not checked: there was none to compare'* ]]
}

@test "new memory begins with zeros, so that what is never written can be compared" {
  one_thread
  run -0 on_simulator lazy "$contents" begins
  [[ $output == *'begins with dbdbdbdb, from a pool with dbdbdbdb'* ]]
  AUTOGRAPH_MEMORY=$BATS_TEST_TMPDIR/record run -0 on_simulator_shimmed lazy "$contents" begins
  [[ $output == *'begins with 00000000, from a pool with 00000000'* ]]
}

@test "what cannot be read is counted, the program is as before, and does not wait" {
  verified 4 lazy "$contents" captured
  [[ $output == *'; 1 not compared: ended during a capture'* && $output == *'same output'* ]]
  verified 0 lazy "$contents" busy
  [[ $output == *'memory: 1 allocations compared (4096 bytes), 0 different; 1 not compared: still waited for when freed'* ]]
  verified 4 lazy "$contents" fault
  [[ $output == *'; 1 not compared: could not be read'* && $output == *'same output'* ]]
  verified 0 lazy "$contents" untouchable
  [[ $output == *'memory: 1 allocations compared (4096 bytes), 0 different; 1 not compared: could not be read'* ]]
}

@test "allocations that are not the same in each run are counted, the others compared" {
  one_thread
  BREAK=verify verified 1 lazy "$contents" one_more
  [[ $output == *'memory: 2 allocations compared (8192 bytes), 2 different; 1 not compared: only with the shim'* ]]
  BREAK=off verified 1 lazy "$contents" one_more
  [[ $output == *'2 different; 1 not compared: not the same allocation in each run'* ]]
}

@test "a call that the driver refuses gives the same code, and ends nothing" {
  local failure
  verified 0 lazy "$contents" refused
  [[ $output == *'memory: 1 allocations compared (4096 bytes), 0 different'* ]]
  for failure in cuMemFree_v2:1:1 cuMemFree_v2:1:999; do
    SIM_OPTIONS=fail=$failure BREAK=verify verified 1 lazy "$contents" freed
    [[ $output == *'memory differs: allocation 1 of thread 1 (allocated, 4096 bytes), at exit: '* ]]
  done
}

@test "calls of its own that fail change nothing but what is compared" {
  local call
  for call in cuMemcpyDtoHAsync_v2 cuPointerGetAttribute cuStreamCreate:2+ cuEventQuery cuEventCreate; do
    [[ $call == *:* ]] || call=$call:1+
    SIM_OPTIONS=fail=$call:999 run on_simulator lazy "$autograph" verify --memory -- "$contents" pooled
    echo "$call: $output"
    [[ $output == *'memory: 0 allocations compared'*'1 not compared'* && $output != *'differs'* ]]
  done
}

@test "programs of several processes; one that leaves at once is told" {
  one_thread
  verified 0 lazy sh -c '"$0" freed && "$0" live' "$contents"
  [[ $output == *'memory: 2 allocations compared (8192 bytes), 0 different'* ]]
  # shellcheck disable=SC2016  # for the inner shell
  BREAK=verify verified 1 lazy sh -c '"$0" freed && "$0" live' "$contents"
  [[ $output == *'memory differs: process 1, allocation 1 of thread 1 '*', when it was freed'* ]]
  [[ $output == *'memory differs: process 2, allocation 1 of thread 1 '*', at exit'* ]]
  verified 4 lazy "$contents" freed left_at_once
  [[ $output == *'memory: 1 allocations compared'*'some processes ended without a record of what they still had'* ]]
}

@test "the driver is found by dlopen too" {
  one_thread
  verified 0 lazy "$build/doors/door" dlopen
  [[ $output != *'memory: 0 '* ]]
}

@test "an output that differs though nothing is held is told" {
  one_thread
  run -1 on_simulator lazy "$autograph" verify --memory -- sh -c 'echo "$AUTOGRAPH_MODE"; exec "$0" freed' "$contents"
  [[ $output == *'output differs though nothing was held'*'memory: 1 allocations compared'* ]]
}

@test "nothing is left behind, also when a run dies" {
  one_thread
  verified 0 lazy "$contents" freed
  run -3 on_simulator lazy "$autograph" verify --memory -- sh -c '"$0" freed; [ "$AUTOGRAPH_MODE" != off ] || kill -9 $$' "$contents"
  [[ $output == *'the run without holding, for its memory, died of signal 9'* ]]
  run -3 on_simulator lazy "$autograph" verify --memory -- sh -c '"$0" freed; [ "$AUTOGRAPH_MODE" != verify ] || kill -9 $$' "$contents"
  [ -z "$(find "$BATS_TEST_TMPDIR" -name 'autograph-*')" ]
}

@test "a path that cannot be written: one line, and the program runs as before" {
  one_thread
  local path
  for path in "$BATS_TEST_TMPDIR/no/such/folder" "$BATS_TEST_TMPDIR" /dev/full; do
    AUTOGRAPH_MEMORY=$path run -0 --separate-stderr on_simulator_shimmed lazy "$contents" freed live
    [ "$output" = "done" ]
    lines "$stderr" 1
    [[ $stderr == "autograph: cannot write what memory held to $path: "* ]]
  done
}

@test "a file that is no record, or damaged, is refused or read as far as it is sound" {
  one_thread
  # the tool's own folder is emptied, so what a program puts there is read
  # shellcheck disable=SC2016
  local put='case $AUTOGRAPH_MEMORY in ?*) printf "no record at all, but long enough" >"${AUTOGRAPH_MEMORY%/*}/x" ;; esac; exec "$0" freed'
  run -125 on_simulator lazy "$autograph" verify --memory -- sh -c "$put" "$contents"
  [[ $output == *'is no memory record of this version and machine'* ]]
  # shellcheck disable=SC2016
  put='"$0" freed; for f in "${AUTOGRAPH_MEMORY%/*}"/*; do case $f in *.memory) truncate -s -44 "$f" ;; esac; done'
  verified 4 lazy sh -c "$put" "$contents"
  [[ $output == *'memory: 0 allocations compared'*'ended without a record'* ]]
}

@test "not asked for, it makes no call" {
  local calls='"cu(Mem|Stream|Event|Pointer|Ctx|Thread)[A-Za-z0-9_]*":[0-9]+'
  cd "$BATS_TEST_TMPDIR"
  SIM_OPTIONS=report=plain on_simulator lazy "$contents" freed live pooled
  AUTOGRAPH_MODE=off SIM_OPTIONS=report=off on_simulator_shimmed lazy "$contents" freed live pooled
  AUTOGRAPH_MEMORY=$PWD/record AUTOGRAPH_MODE=off SIM_OPTIONS=report=asked on_simulator_shimmed lazy "$contents" freed live pooled
  diff <(grep -oE "$calls" plain) <(grep -oE "$calls" off)
  [ "$(grep -cE '"cuMemcpyDtoHAsync_v2":3,' asked)" = 1 ]
}
