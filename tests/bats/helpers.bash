# Common to the Bats suites. Needs AUTOGRAPH_BUILD (make sets it; else the default build folder).
# shellcheck shell=bash
# shellcheck disable=SC2034  # the suites use these names

bats_require_minimum_version 1.5.0

build=${AUTOGRAPH_BUILD:-$(cd "$BATS_TEST_DIRNAME/../.." && pwd)/build}
autograph=$build/autograph
shim=$build/libautograph.so
simulator=$build/sim
samples=$build/samples
# Programs without the shim: with a sanitizer from the usual build, as it is the shim that is to be looked at then, and
# the simulated driver has suites of its own.
plain_build=${TEST_PLAIN_BUILD:-$build}
schedules=(lazy eager random)

# With a sanitizer a run costs several times as much, and what it looks for does not depend on the schedule. Its runtime comes
# with the shim: programs that are not sanitized themselves load it second. Every report ends the process. What lives until
# the process ends is no leak, and a program's own crash stays a crash.
if [ -n "${TEST_SAN:-}" ]; then
  schedules=(random)
  export ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0:handle_segv=0
  export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
  export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:report_thread_leaks=0:handle_segv=0:atexit_sleep_ms=0
fi

# few [-COUNT] NAME…: what a loop goes through; under a sanitizer the first COUNT (two), where the others are more of the same
# to it.
few() {
  local count=2
  [[ $1 != -* ]] || { count=${1#-} && shift; }
  [ -z "${TEST_SAN:-}" ] || set -- "${@:1:count}"
  echo "$@"
}

# Shell variables of the suite's caller must not change what is tested.
unset LD_PRELOAD CUDA_LAUNCH_BLOCKING CUDA_INJECTION64_PATH
for name in $(compgen -e AUTOGRAPH_); do
  [ "$name" = AUTOGRAPH_BUILD ] || unset "$name"
done

# TEST_SUBMIT: every suite with chunks submitted by another thread, on demand.
[ -z "${TEST_SUBMIT:-}" ] || export AUTOGRAPH_SUBMIT=$TEST_SUBMIT

# What is replayed must not follow from how busy the machine is just now.
export AUTOGRAPH_COSTS=fixed

need_shim() {
  [ -e "$shim" ] || skip 'libautograph.so is not built'
}

need_simulator() {
  need_shim
  [ -e "$simulator/libcuda.so.1" ] || skip 'the simulated driver is not built'
}

# not_sanitized REASON: what a sanitizer's runtime cannot do, or does itself.
not_sanitized() {
  [ -z "${TEST_SAN:-}" ] || skip "not with a sanitizer: $1"
}

# one_thread: for what starts no thread; thread sanitizer has nothing to see there.
one_thread() {
  [[ ${TEST_SAN:-} != *thread* ]] || skip 'not with thread sanitizer: there is one thread'
}

# on_simulator SCHEDULE COMMAND…: runs a command on the simulated driver. SIM_OPTIONS adds settings of the simulator.
# A program of the build's that is run without the shim is the one of $plain_build.
on_simulator() {
  local schedule=$1 simulator=$simulator
  shift
  case $1 in
  "$build"/samples/* | "$build"/tests/reports/* | "$build"/doors/*)
    if [ "$plain_build" != "$build" ]; then
      simulator=$plain_build/sim
      [ -z "${KERNELS:-}" ] || local -x KERNELS=${KERNELS/#"$build"/"$plain_build"}
      set -- "${@/#"$build"/"$plain_build"}"
    fi
    ;;
  esac
  LD_LIBRARY_PATH="$simulator${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
    AUTOGRAPH_SIM="schedule=$schedule,seed=${SIM_SEED:-1}${SIM_OPTIONS:+,$SIM_OPTIONS}" \
    timeout -k 5 "${SAMPLE_TIMEOUT:-60}" "$@"
}

# The same with the shim; its statistics go where statistic() looks, or to $AUTOGRAPH_STATS.
on_simulator_shimmed() {
  local schedule=$1
  shift
  AUTOGRAPH_STATS=${AUTOGRAPH_STATS-$BATS_TEST_TMPDIR/stats.json} on_simulator "$schedule" env LD_PRELOAD="$shim" "$@"
}

# both_ways [OPTION…] PROGRAM [ARG…]: without and with the shim, under each schedule, the same output and exit status. The
# options are those of tests/lib/both.c, which starts one process where a shell starts several. The statistics of the last run
# are where statistic() looks, or in $AUTOGRAPH_STATS.
both_ways() {
  local more=${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  "$plain_build/tests/both" "${schedules[@]/#/-s}" -o "seed=${SIM_SEED:-1}${SIM_OPTIONS:+,$SIM_OPTIONS}" \
    -t "${SAMPLE_TIMEOUT:-60}" -r "$build/" "$plain_build/" -p "LD_LIBRARY_PATH=$plain_build/sim$more" \
    -x "LD_LIBRARY_PATH=$simulator$more" -x "LD_PRELOAD=$shim" \
    -x "AUTOGRAPH_STATS=${AUTOGRAPH_STATS-$BATS_TEST_TMPDIR/stats.json}" "$@"
}

# under SCHEDULE [OPTION…] PROGRAM [ARG…]: the same under this one.
under() {
  local schedules=("$1")
  both_ways "${@:2}"
}

# same_with_shim SAMPLE ARGS…: output and exit status without and with the shim are the same under every schedule.
same_with_shim() {
  [ -x "$samples/$1" ] || skip "$1 is not built"
  both_ways -i time_us -i seconds -i _us= "$samples/$1" "${@:2}"
}

# Starting python3 costs more than most of what is run here, so what is asked hundreds of times is asked of the shell.

# statistic KEY [FILE]: one number of a statistics file; KEY may be group.name; 0 when it is absent.
statistic() {
  local text='' pattern="^[{][^{}]*\"$1\":([-+.e0-9]+)" # what is in no group stands before all groups
  [ "${1#*.}" = "$1" ] || pattern="\"${1%%.*}\":[{][^{}]*\"${1#*.}\":([-+.e0-9]+)"
  IFS= read -rd '' text <"${2:-$BATS_TEST_TMPDIR/stats.json}" || [ -n "$text" ] || return 1
  [[ $text =~ ^[{].*[}][[:space:]]*$ ]] || return 1
  if [[ $text =~ $pattern ]]; then echo "${BASH_REMATCH[1]}"; else echo 0; fi
}

# total KEY: the same summed over all processes that left statistics (stats.*.json); -1 when none did.
total() {
  local file sum=-1 number
  for file in "$BATS_TEST_TMPDIR"/stats.*.json; do
    [ -e "$file" ] || continue
    number=$(statistic "$1" "$file") || return 1
    sum=$(((sum < 0 ? 0 : sum) + number))
  done
  echo "$sum"
}

# holds EXPRESSION: an arithmetic statement about numbers, as python3 understands it; says it when it is false.
holds() {
  local clauses=${1// and / && } clause='[-+*() 0-9]+([<>=!]=?|==)[-+*() 0-9]+'
  if [[ $clauses =~ ^$clause(&&$clause)*$ ]]; then
    ((clauses)) && return
  else
    python3 -IS -c 'import sys; sys.exit(not eval(sys.argv[1]))' "$1" && return
  fi
  echo "does not hold: $1"
  return 1
}

# lines TEXT COUNT: the text has so many lines.
lines() {
  [ "$(printf '%s' "$1" | grep -c '')" = "$2" ] || {
    printf 'expected %s lines, got:\n%s\n' "$2" "$1"
    return 1
  }
}
