#!/usr/bin/env bats
# Every door to the driver, and every way in which a process may fork and end: the same output and status without and
# with the shim, and the statistics say that the launches were caught, or that the shim stepped aside on purpose.
#
# doors_aarch64.bats is this file under another name: the same for aarch64 programs under an emulator.

# shellcheck disable=SC2154  # names from helpers.bash
load helpers

setup_file() {
  export DOORS_BUILD=${AUTOGRAPH_BUILD:-$(cd "$BATS_TEST_DIRNAME/../.." && pwd)/build} DOORS_EMULATOR='' DOORS_MISSING=''
  case $BATS_TEST_FILENAME in *aarch64*) ;; *) return 0 ;; esac
  # Bats 1.8 does not know skip here: each test skips in setup.
  if [ "$(uname -m)" = aarch64 ]; then
    DOORS_MISSING='this is an aarch64 machine'
  elif [ -n "${TEST_SAN:-}" ]; then
    DOORS_MISSING='not with a sanitizer'
  elif ! command -v aarch64-linux-gnu-gcc >/dev/null; then
    DOORS_MISSING='needs gcc-aarch64-linux-gnu and libc6-dev-arm64-cross'
  elif ! command -v qemu-aarch64 >/dev/null; then
    DOORS_MISSING='needs qemu-user'
  fi
  [ -z "$DOORS_MISSING" ] || return 0
  DOORS_BUILD=$DOORS_BUILD/aarch64
  DOORS_EMULATOR="qemu-aarch64 -L /usr/aarch64-linux-gnu"
  env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -C "$BATS_TEST_DIRNAME/../.." -s -j2 CC=aarch64-linux-gnu-gcc B="$DOORS_BUILD" SAN= doors
}

setup() {
  [ -z "$DOORS_MISSING" ] || skip "$DOORS_MISSING"
  # AUTOGRAPH_HOLD_US: where replays are counted, a busy machine must not look like a program that pauses
  export KERNELS=$DOORS_BUILD/samples/kernels.ptx AUTOGRAPH_HOLD_US=20000
  export AUTOGRAPH_STATS=$BATS_TEST_TMPDIR/stats.%p.json
  doors=$DOORS_BUILD/doors
  shim=$DOORS_BUILD/libautograph.so
  search=$DOORS_BUILD/sim
  preload=$shim
  others=''
  # an emulator is slow, and the schedules are those of the same source
  [ -z "$DOORS_EMULATOR" ] || schedules=(lazy)
  [ -x "$doors/door" ] || skip 'the programs are not built'
}

not_emulated() {
  [ -z "$DOORS_EMULATOR" ] || skip "not under an emulator: $1"
}

# enter SCHEDULE PRELOAD PROGRAM…: one run. The loader's variables must not reach the emulator itself.
enter() {
  local schedule=$1 preloaded=$2
  shift 2
  export AUTOGRAPH_SIM=schedule=$schedule,seed=3${SIM_OPTIONS:+,$SIM_OPTIONS}
  if [ -n "$DOORS_EMULATOR" ]; then
    # shellcheck disable=SC2086
    timeout -k 5 120 $DOORS_EMULATOR -E LD_LIBRARY_PATH="$search" ${preloaded:+-E LD_PRELOAD="$preloaded"} "$@" 2>&1
  else
    timeout -k 5 60 env LD_LIBRARY_PATH="$search" ${preloaded:+LD_PRELOAD="$preloaded"} "$@" 2>&1
  fi
}

# same PROGRAM…: under each schedule the same output and status, first without and then with the shim ($preload; $others is
# preloaded in both). Leaves the statistics of the last schedule, and its output and status.
same() {
  local options=(-o "seed=3${SIM_OPTIONS:+,$SIM_OPTIONS}" -c "$BATS_TEST_TMPDIR/stats.*" -l "$BATS_TEST_TMPDIR/last")
  if [ -n "$DOORS_EMULATOR" ]; then # the loader's variables must not reach the emulator itself
    options+=(-t 120 -p "QEMU_SET_ENV=LD_LIBRARY_PATH=$search${others:+,LD_PRELOAD=$others}")
    options+=(-x "QEMU_SET_ENV=LD_LIBRARY_PATH=$search,LD_PRELOAD=$preload")
  else
    options+=(-p "LD_LIBRARY_PATH=$search" -x "LD_LIBRARY_PATH=$search" -x "LD_PRELOAD=$preload")
    [ -z "$others" ] || options+=(-p "LD_PRELOAD=$others")
  fi
  # shellcheck disable=SC2086
  "$plain_build/tests/both" "${schedules[@]/#/-s}" "${options[@]}" $DOORS_EMULATOR "$@"
  { read -r last_status && IFS= read -rd '' last_output; } <"$BATS_TEST_TMPDIR/last" || [ -n "$last_status" ]
  last_output=${last_output%$'\n'}
  [ "$last_status" != 124 ]
}

# caught [COUNT]: what the program printed as its operations was counted, and most of it replayed.
caught() {
  local issued launches replayed
  issued=${1:-$(grep -oE '[0-9]+ operations' <<<"$last_output" | awk '{ n += $1 } END { print n + 0 }')}
  launches=$(total launches) replayed=$(total replayed)
  echo "$issued issued, $launches launches, $replayed replayed, failures $(total failures)"
  holds "$launches == $issued and 2 * $replayed > $launches"
  [ "$(total failures)" = 0 ]
}

# aside BYPASS COUNT: so many launches were seen, and passed on for this reason.
aside() {
  echo "launches $(total launches), $1 $(total "bypass.$1")"
  [ "$(total replayed)" = 0 ]
  [ "$(total launches)" = "$2" ]
  [ "$(total "bypass.$1")" = "$2" ]
}

@test "linked with the driver" {
  same "$doors/linked"
  caught 300
}

@test "dlopen and dlsym" {
  same "$doors/door" dlopen
  caught 300
}

@test "dlopen by absolute path, in and out of the folders that are searched" {
  same "$doors/door" path "$DOORS_BUILD/sim/libcuda.so.1"
  caught 300
  search=/nonexistent
  same "$doors/door" path "$DOORS_BUILD/sim/libcuda.so.1"
  caught 300
}

@test "RTLD_NOLOAD: nothing before, the same handle after" {
  same "$doors/door" noload
  caught 300
}

@test "RTLD_GLOBAL and the program's own scope" {
  not_emulated 'an emulator is slow, and the machine makes no difference here'
  same "$doors/door" global
  caught 300
}

@test "RTLD_DEEPBIND: steps aside" {
  not_sanitized 'its runtime refuses such a dlopen'
  not_emulated 'an emulator is slow, and the machine makes no difference here'
  same "$doors/door" deepbind
  aside blind 300
}

@test "a library with the driver linked in, opened with RTLD_DEEPBIND: steps aside from then on" {
  not_sanitized 'its runtime refuses such a dlopen'
  same "$doors/door" deeplibrary "$doors/libearly.so"
  [ "$(total bypass.blind)" = 300 ]
  holds "$(total replayed) > 150"
}

@test "dlmopen: a namespace of its own is not seen, and the shim steps aside" {
  not_sanitized 'its runtime cannot be loaded twice'
  same "$doors/door" dlmopen
  aside blind 300
}

@test "dlmopen into the usual namespace" {
  not_emulated 'an emulator is slow, and the machine makes no difference here'
  same "$doors/door" base
  [[ $last_output == *'300 operations'* ]]
}

@test "a driver that only the program's RUNPATH leads to" {
  not_sanitized "its dlopen hides the program's"
  search=/nonexistent
  same "$doors/door_runpath" dlopen
  caught 300
}

@test "a second driver under another path is the program's own, and the shim steps aside" {
  not_emulated 'an emulator is slow, and the machine makes no difference here'
  mkdir "$BATS_TEST_TMPDIR/second"
  cp "$DOORS_BUILD/sim/libcuda.so.1" "$BATS_TEST_TMPDIR/second/"
  same "$doors/door" another "$BATS_TEST_TMPDIR/second/libcuda.so.1"
  [[ $last_output == *'its look-up function: its own'* ]]
  [ "$(total bypass.blind)" = 300 ]
}

@test "names that lead nowhere give the loader's own answer, and the driver is still caught afterwards" {
  not_emulated 'an emulator is slow, and the machine makes no difference here'
  same "$doors/door" missing libcuda.so,/nonexistent/libcuda.so.1,./libcuda.so,/nonexistent/libcuda.so
  [ "$(grep -c 'cannot open shared object file' <<<"$last_output")" = 4 ]
  caught 300
}

@test "no driver: linking and dlopen as without the shim; names that are looked for in the program's own scope are there" {
  search=/nonexistent
  schedules=(lazy)
  run enter lazy '' "$doors/door" dlopen
  [[ $output == *'cannot open shared object'* ]] || skip 'there is a driver in the usual place'
  same "$doors/linked"
  [ "$last_status" = 127 ]
  [[ $last_output == *'libcuda.so.1: cannot open shared object file'* ]]
  same "$doors/door" dlopen
  [[ $last_output == *'libcuda.so.1: cannot open shared object file'* ]]
  local end='drivers loaded: 0
dlopen: libcuda.so.1: cannot open shared object file: No such file or directory'
  run -0 enter lazy '' "$doors/absent"
  echo "$output"
  [ "$output" = "dlsym cuInit: none
dlsym cuMemAlloc_v2: none
dlsym cuStreamSynchronize: none
dlsym cuDriverGetVersion: none
memory 0, version 0
$end" ]
  # the names of hooks are there, and say CUDA_ERROR_NO_DEVICE; names of functions without a hook are not
  run -0 enter lazy "$shim" "$doors/absent"
  echo "$output"
  [ "$output" = "dlsym cuInit: none
dlsym cuDriverGetVersion: none
dlsym cuMemAlloc_v2: 100
dlsym cuStreamSynchronize: 100
weak cuMemAlloc_v2: 100
weak cuStreamSynchronize: 100
memory 0, version 0
$end" ]
}

@test "dlclose as often as dlopen, in the middle of the work" {
  not_emulated 'an emulator is slow, and the machine makes no difference here'
  same "$doors/door" close
  caught 300
}

@test "cuGetProcAddress, both versions: codes, statuses, versions, flags; and work through each" {
  same "$doors/door" lookup
  [[ $last_output == *'is cuLaunchKernel_ptsz'* && $last_output != *'is not'* ]]
  # the per-thread meaning of stream 0 does not matter to a stream with a handle
  caught 900
}

@test "stubs for unlisted functions pass on whatever a call passes, and can be unwound" {
  run -0 enter eager '' "$doors/stubs"
  echo "$output"
}

@test "an unlisted function sees the work before it, and is counted; the work around it is replayed" {
  same "$doors/later" sequence
  lines "$(grep -x '[0-9]*: .*, arguments and result right' <<<"$last_output")" 30
  [[ $last_output == *'asked again: the same function'* && $last_output != *deadbeef* ]]
  caught 300
  holds "$(total flushes.other) >= 25 and $(total flush_calls.cuSimReadLater) >= 25"
  [ "$(total bypass.blind)" = 0 ]
}

@test "unlisted functions for graphics see the work before them" {
  not_emulated 'an emulator is slow, and the machine makes no difference here'
  for api in GL EGL VDPAU GraphicsGL; do
    same "$doors/later" sequence "cu${api}SimReadLater"
    lines "$(grep -x '[0-9]*: .*, arguments and result right' <<<"$last_output")" 30
    caught 300
    holds "$(total flush_calls.cu${api}SimReadLater) >= 25"
    [ "$(total bypass.blind)" = 0 ]
  done
}

@test "an unlisted function in a child of fork, and after the exit handlers" {
  same "$doors/later" child
  [[ $last_output == *'child: 7, arguments and result right'*'child: status 4'*'destructor: arguments and result right, 9'* ]]
  [[ $last_output != *WRONG* ]]
  SIM_OPTIONS=deinit=0 same "$doors/later" child
  [[ $last_output == *'destructor: arguments and result right'* && $last_output != *WRONG* ]]
}

@test "more unlisted functions than stubs: all work, and the shim steps aside" {
  not_emulated 'an emulator is slow, and the machine makes no difference here'
  same "$doors/later" numbers
  [[ $last_output == *'0 of 300 wrong, 300 asked for again were the same'* && $last_output != *WRONG* ]]
  [ "$(total bypass.blind)" = 100 ]
  holds "$(total replayed) > 50"
}

@test "an unlisted function that may make handles void: the shim steps aside when it is called" {
  not_emulated 'an emulator is slow, and the machine makes no difference here'
  same "$doors/later" destroys
  [[ $last_output == *'destroyed: 0'* && $last_output != *WRONG* ]]
  [ "$(total bypass.blind)" = 100 ]
  holds "$(total replayed) > 50"
}

@test "a driver before 12.4, and one that lacks a call: nothing is held, nothing flushed" {
  not_emulated 'an emulator is slow, and the machine makes no difference here'
  schedules=(lazy)
  SIM_OPTIONS=driver=12030 same "$doors/linked"
  aside driver 300
  grep -q '"flushes":{},' "$BATS_TEST_TMPDIR"/stats.*.json
  SIM_OPTIONS=driver=12040 same "$doors/linked"
  caught 300
  mkdir "$BATS_TEST_TMPDIR/lacking"
  LC_ALL=C sed 's/cuKernelGetParamInfo/cuKernelGetNothing_x/g' "$search/libcuda.so.1" >"$BATS_TEST_TMPDIR/lacking/libcuda.so.1"
  search=$BATS_TEST_TMPDIR/lacking
  same "$doors/linked"
  aside driver 300
}

@test "two copies of a runtime library, each with pointers of its own" {
  same "$doors/door" copies "$doors/libruntime_a.so:$doors/libruntime_b.so"
  caught 600
}

@test "the constructor of a library that the program is linked with" {
  # whether it runs before the shim's own is the loader's choice
  same "$doors/early"
  [ "$(total launches)" = 100 ]
}

@test "a constructor that runs before the shim's own: passed on, whatever the mode" {
  not_emulated 'an emulator is slow, and the machine makes no difference here'
  others=$doors/libearly.so preload=$shim:$doors/libearly.so
  same "$doors/early"
  aside early 100
  export AUTOGRAPH_MODE=off
  same "$doors/early"
  [ "$(total replayed)" = 0 ]
}

@test "a destructor that launches" {
  not_emulated 'an emulator is slow, and the machine makes no difference here'
  export WORK_LATE=1
  same "$doors/early"
  SIM_OPTIONS=deinit=0 same "$doors/early"
  [[ $last_output == *'destructor: 100 operations'* ]]
}

@test "another preloaded library with a dlsym of its own, before and behind the shim" {
  not_sanitized 'its runtime asks for dlsym before such a library can answer'
  local other=$doors/interpose_dlsym.so
  others=$other
  for preload in "$other:$shim" "$shim:$other"; do
    same "$doors/door" dlopen
    [[ $last_output == *'launches through dlsym: 270'* ]]
    caught 300
    same "$doors/linked"
    caught 300
  done
}

@test "another preloaded library with a dlopen of its own, before and behind the shim" {
  not_emulated 'an emulator is slow, and the machine makes no difference here'
  local other=$doors/interpose_dlopen.so
  others=$other
  for preload in "$other:$shim" "$shim:$other"; do
    same "$doors/door" dlopen
    [[ $last_output == *'dlopen of the driver: seen'* ]]
    caught 300
  done
}

@test "another preloaded library that stands in for the driver, before and behind the shim" {
  not_emulated 'an emulator is slow, and the machine makes no difference here'
  local other=$BATS_TEST_TMPDIR/tool/interpose_driver.so
  mkdir "${other%/*}" && cp "$doors/interpose_driver.so" "$other"
  others=$other
  for preload in "$other:$shim" "$shim:$other"; do
    same "$doors/linked"
    AUTOGRAPH_MODE=off same "$doors/linked"
  done
  # in front of it the shim is taken for the driver itself, and leads the program to the tool's library
  same "$doors/door" dlopen
  AUTOGRAPH_MODE=off same "$doors/door" dlopen
}

@test "another allocator preloaded, before and behind the shim" {
  not_sanitized 'it has an allocator of its own'
  not_emulated 'the allocator is not there for that machine'
  local library
  library=$(find /usr/lib /usr/local/lib -name 'libjemalloc.so.2' -o -name 'libtcmalloc*.so.4' -o -name 'libmimalloc.so.*' 2>/dev/null | head -n 1)
  [ -n "$library" ] || skip 'no other allocator: install libjemalloc2'
  others=$library
  for preload in "$library:$shim" "$shim:$library"; do
    same "$doors/door" copies "$doors/libruntime_a.so:$doors/libruntime_b.so"
    caught 600
    same "$doors/process" fork_launch
  done
}

@test "a program with more rights than its caller: the shim is not loaded" {
  not_emulated 'set-group-ID has no effect'
  [ "$(id -u)" = 0 ] || skip 'needs root to make a set-group-ID program'
  cp "$doors/door" "$BATS_TEST_TMPDIR/secure"
  chgrp nogroup "$BATS_TEST_TMPDIR/secure" && chmod g+s "$BATS_TEST_TMPDIR/secure"
  "$BATS_TEST_TMPDIR/secure" secure /nonexistent | grep -q 'secure: 1' || skip 'set-group-ID has no effect here'
  same "$BATS_TEST_TMPDIR/secure" secure "$DOORS_BUILD/sim/libcuda.so.1"
  [[ $last_output == *'300 operations'* ]]
  [ "$(total launches)" = -1 ]
}

@test "a static program: the shim is not loaded" {
  not_emulated 'its compiler is another'
  printf '#include <stdio.h>\nint main(void) { puts("static"); return 4; }\n' |
    ${CC:-cc} -static -x c - -o "$BATS_TEST_TMPDIR/static" 2>/dev/null || skip 'no static libc'
  run -4 env LD_PRELOAD="$shim" "$BATS_TEST_TMPDIR/static"
  [ "$output" = static ]
  [ "$(total launches)" = -1 ]
}

@test "fork: the child sees what it would see, the parent goes on" {
  same "$doors/process" fork_launch
  caught 210
}

@test "fork while other threads launch, synchronise and set attributes" {
  not_emulated 'an emulator is slow, and the machine makes no difference here'
  same "$doors/process" fork_busy
  holds "$(total replayed) > 0"
}

@test "fork before the driver is used: each child is a process like any other" {
  same "$doors/process" fork_first
  caught 400
}

@test "fork and exec, vfork and exec" {
  not_emulated 'the emulator is not there after exec'
  same "$doors/process" fork_exec
  caught 720
}

@test "_exit with work held: the driver had it before" {
  unset AUTOGRAPH_HOLD_US
  same "$doors/process" leave_at_once
  [ "$last_status" = 5 ]
}

@test "exit with work held: the driver has been given all of it" {
  local schedule given
  for schedule in "${schedules[@]}"; do
    for preload in '' "$shim"; do
      rm -f "$BATS_TEST_TMPDIR/report"
      SIM_OPTIONS=report=$BATS_TEST_TMPDIR/report run -6 enter "$schedule" "$preload" "$doors/process" leave_with_work
      given=$(python3 -IS -c '
import json, sys
r = json.load(open(sys.argv[1]))
print(r["launches"] + r["memsets"] + r["graph_nodes"])' "$BATS_TEST_TMPDIR/report")
      echo "$schedule ${preload##*/}: $output; $given given"
      # one memset is the program's set-up
      [ "$given" = 111 ]
    done
  done
  holds "$(total replayed) > 0"
}

@test "launches from exit handlers and destructors, before and after the driver is shut down" {
  not_emulated 'an emulator is slow, and the machine makes no difference here'
  same "$doors/process" work_at_exit
  SIM_OPTIONS=deinit=0 same "$doors/process" work_at_exit
  [[ $last_output == *'destructor: 0'* ]]
}

@test "exit from a signal handler that interrupts the shim at each of its allocations" {
  local at
  for at in 1 2 3 5 8 11 14 17 20 23 26 30 40; do
    export SIGNAL_AT=$at
    run -3 enter eager "$shim" "$doors/process" exit_in_handler
    [ -z "$output" ]
  done
}

@test "the first calls of a process come from several threads at once" {
  same "$doors/process" first_together
  [ "$last_status" = 0 ]
}

@test "exit from a signal handler while other threads launch" {
  not_emulated 'an emulator is slow, and the machine makes no difference here'
  same "$doors/process" exit_in_handler_busy
  [ "$last_status" = 3 ]
}

@test "a thread ends with work held" {
  unset AUTOGRAPH_HOLD_US
  same "$doors/process" thread_ends
  holds "$(total launches) > 300"
}

@test "pthread_cancel of a thread that launches" {
  not_sanitized 'its runtime cannot end a cancelled thread'
  not_emulated 'an emulator is slow, and the machine makes no difference here'
  # a full queue would make the simulator wait, which a thread may be cancelled in
  SIM_OPTIONS=queue=1000000 same "$doors/process" cancel
  holds "$(total replayed) > 0"
}
