#!/usr/bin/env bats
# The shim in programs that have nothing to do with CUDA, on machines without a driver, and with wrong settings: nothing
# changes and nothing is printed, but for one clear line about each wrong setting.

# shellcheck disable=SC2154  # names from helpers.bash
load helpers

# unchanged COMMAND…: output, errors and status are the same without and with the shim.
unchanged() {
  local plain_status=0 shimmed_status=0 dir=$BATS_TEST_TMPDIR
  "$@" >"$dir/plain.out" 2>"$dir/plain.err" </dev/null || plain_status=$?
  LD_PRELOAD=$shim "$@" >"$dir/shimmed.out" 2>"$dir/shimmed.err" </dev/null || shimmed_status=$?
  echo "$*: status $plain_status without, $shimmed_status with the shim"
  [ "$plain_status" = "$shimmed_status" ] && diff "$dir/plain.out" "$dir/shimmed.out" && diff "$dir/plain.err" "$dir/shimmed.err"
}

# compiled NAME OPTIONS…: builds a C program from standard input into the test's folder.
compiled() {
  local name=$1
  shift
  ${CC:-cc} -x c - -o "$BATS_TEST_TMPDIR/$name" "$@" -ldl -pthread
}

@test "shells, compilers, interpreters: unchanged" {
  need_shim
  unchanged true
  unchanged false
  unchanged python3 -c 'print(1)'
  unchanged python3 -c 'import threading, subprocess, ctypes; print(subprocess.run(["echo", "a"]).returncode)'
  unchanged bash -c 'ls /'
  unchanged bash -c 'for i in 1 2 3; do (echo $i) | cat; done; exit 5'
  unchanged bash -c 'kill -SEGV $$'
  # gcc is not position-independent: a sanitizer's runtime that comes with a library does not start in it
  [ -n "${TEST_SAN:-}" ] || unchanged gcc --version
  unchanged env -i /bin/true
  unchanged sh -c 'exec 1>&- 2>&-; exit 3'
}

@test "loading it is little work: no needed library beyond libc, few pages written, few relocations, few symbols to look up" {
  not_sanitized 'it adds its own to the library'
  need_shim
  # What makes loading slow, counted: the time itself depends on the machine's other work.
  relative=$(readelf -rW "$shim" | grep -c RELATIVE)
  lookups=$(readelf -rW "$shim" | grep -cE 'GLOB_DAT|JUMP_SLO|ABS64|_64 ')
  pages=$(readelf -rW "$shim" | awk '/R_[XA]/ { print substr($1, 1, length($1) - 3) }' | sort -u | wc -l)
  echo "$relative relative relocations in $pages pages, $lookups looked up by name"
  [ "$relative" -lt 1000 ]
  [ "$pages" -le 4 ]
  [ "$lookups" -lt 100 ]
}

@test "dlopen of other libraries, of missing ones, and dlsym with RTLD_NEXT: unchanged" {
  need_shim
  compiled loader <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
static void try(const char *name, int flags)
{
    void *library = dlopen(name, flags);
    printf("%s %d: %s\n", name ? name : "(self)", flags, library ? "loaded" : dlerror());
}
int main(void)
{
    try("libm.so.6", RTLD_NOW);
    try("libm.so.6", RTLD_LAZY | RTLD_NOLOAD);
    try(NULL, RTLD_NOW);
    try("", RTLD_NOW);
    try("libnothing-here.so.1", RTLD_NOW);
    try("/nonexistent/libm.so.6", RTLD_NOW | RTLD_GLOBAL);
    try("libcuda.so.12345", RTLD_NOW);
    try("xlibcuda.so.1", RTLD_NOW);
    try("libm.so.6", 0);
    printf("%d %d\n", dlsym(RTLD_NEXT, "puts") != NULL, dlsym(RTLD_NEXT, "dlopen") != NULL);
    return dlsym(RTLD_DEFAULT, "surely_not_there") != NULL;
}
C
  unchanged "$BATS_TEST_TMPDIR/loader"
}

@test "no CUDA driver: the program sees the error that it would have seen" {
  need_shim
  compiled opener <<'C'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        void *library = dlopen(argv[i], RTLD_NOW);
        printf("%s\n", library ? "loaded" : dlerror());
        library = dlopen(argv[i], RTLD_NOW | RTLD_NOLOAD);
        printf("%s\n", library ? "loaded" : "not loaded");
    }
    return 0;
}
C
  unchanged "$BATS_TEST_TMPDIR/opener" libcuda.so.1 libcuda.so /nonexistent/libcuda.so.1 ./libcuda.so
  unchanged python3 -c 'import ctypes
try:
    ctypes.CDLL("libcuda.so.1")
except OSError as error:
    print(error)'
}

@test "a library found by the caller's RUNPATH is found with the shim too" {
  need_shim
  mkdir "$BATS_TEST_TMPDIR/private"
  echo 'int here(void) { return 1; }' | compiled private/libprivate.so -shared -fPIC
  compiled runpath -Wl,-rpath,'$ORIGIN/private' <<'C'
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
    puts(dlopen("libprivate.so", RTLD_NOW) ? "loaded" : dlerror());
    return 0;
}
C
  unchanged "$BATS_TEST_TMPDIR/runpath"
  [ "$(cat "$BATS_TEST_TMPDIR/shimmed.out")" = loaded ]
}

@test "dlsym is not interposed" {
  need_shim
  run nm -D --defined-only "$shim"
  [[ ! $output =~ [[:space:]]dlv?sym(@|$) ]]
}

@test "another preloaded library keeps working, before and behind the shim" {
  need_shim
  compiled other.so -shared -fPIC <<'C'
#include <unistd.h>
static void __attribute__((constructor)) here(void)
{
    if (write(1, "other\n", 6) != 6)
        _exit(1);
}
C
  LD_PRELOAD="$BATS_TEST_TMPDIR/other.so:$shim" run -0 env true
  [ "${lines[0]}" = other ]
  LD_PRELOAD="$shim:$BATS_TEST_TMPDIR/other.so" run -0 env true
  [ "${lines[0]}" = other ]
}

@test "programs that use the processor only, with a driver at hand: it is not loaded, and no thread of the shim's runs" {
  not_sanitized 'its runtime may have a thread of its own'
  need_simulator
  # what is mapped of the driver, and how many threads there are
  local look='import os
print([line.split("/")[-1] for line in open("/proc/self/maps") if "libcuda" in line or "autograph_cuda" in line])
print(len(os.listdir("/proc/self/task")))'
  run -0 on_simulator_shimmed eager python3 -c "$look"
  [ "$output" = $'[]\n1' ]
  run -0 on_simulator_shimmed eager python3 -c "import threading, ctypes, subprocess
threading.Thread(target=print).start()
ctypes.CDLL('libm.so.6')
subprocess.run(['true'])
$look"
  [ "$output" = $'\n[]\n1' ]
  compiled team -fopenmp <<'C' || skip 'the compiler has no OpenMP'
#include <dirent.h>
#include <stdio.h>
#include <string.h>
int main(void)
{
    long sum = 0;
    int tasks = 0;
    char line[4096];
#pragma omp parallel for num_threads(3) reduction(+ : sum)
    for (int i = 0; i < 1000; i++)
        sum += i;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps))
        if (strstr(line, "libcuda") || strstr(line, "autograph_cuda"))
            fputs(line, stdout);
    DIR *folder = opendir("/proc/self/task");
    for (struct dirent *entry; (entry = readdir(folder));)
        tasks += entry->d_name[0] != '.';
    printf("%ld, %d threads\n", sum, tasks);
    return 0;
}
C
  run -0 on_simulator_shimmed eager "$BATS_TEST_TMPDIR/team"
  [ "$output" = '499500, 3 threads' ]
}

@test "wrong values and unknown names: one line each, the default, the same result" {
  need_simulator
  [ -x "$samples/constant_loop" ] || skip 'constant_loop is not built'
  local plain setting
  plain=$(on_simulator eager "$samples/constant_loop")
  for setting in AUTOGRAPH_MODE=fast AUTOGRAPH_MODE= AUTOGRAPH_HOLD_US=7x AUTOGRAPH_HOLD_US=-1 AUTOGRAPH_CHUNK_MAX=999999999999999999999 \
    AUTOGRAPH_LOG=loud AUTOGRAPH_MOOD=1 AUTOGRAPH_=1 AUTOGRAPH_SIMPLE=1 AUTOGRAPH_SI=1 AUTOGRAPH_BUILDS=1 AUTOGRAPH_SETUP_=1 \
    AUTOGRAPH_CHUNK_MIN=65; do
    export "${setting?}"
    run -0 --separate-stderr on_simulator_shimmed eager "$samples/constant_loop"
    unset "${setting%%=*}"
    echo "$setting: $stderr"
    [ "$output" = "$plain" ]
    lines "$stderr" 1
    [[ $stderr == *"${setting%%=*}"* ]]
  done
}

@test "the variables of the build and the tests: no line" {
  need_shim
  run -0 env LD_PRELOAD="$shim" AUTOGRAPH_SIM=schedule=eager AUTOGRAPH_BUILD=build AUTOGRAPH_SETUP=1 AUTOGRAPH_AUDIT=/nonexistent \
    AUTOGRAPH_TEST_DEVICE=cpu bash -c :
  [ -z "$output" ]
}

@test "a smallest chunk above the largest: one line when it was asked for, none when it is the default" {
  need_shim
  run -0 env LD_PRELOAD="$shim" AUTOGRAPH_CHUNK_MIN=40 AUTOGRAPH_CHUNK_MAX=8 bash -c :
  [ "$output" = 'autograph: AUTOGRAPH_CHUNK_MIN=40 is above AUTOGRAPH_CHUNK_MAX=8; that is used for both' ]
  run -0 env LD_PRELOAD="$shim" AUTOGRAPH_CHUNK_MAX=8 AUTOGRAPH_CHUNK_MIN=20 bash -c :
  lines "$output" 1
  # a wrong value is the default, which gives way; equal limits are none of these
  run -0 env LD_PRELOAD="$shim" AUTOGRAPH_CHUNK_MIN=x AUTOGRAPH_CHUNK_MAX=8 bash -c :
  lines "$output" 1
  [[ $output == *'AUTOGRAPH_CHUNK_MIN=x is not one of'* ]]
  run -0 env LD_PRELOAD="$shim" AUTOGRAPH_CHUNK_MIN=8 AUTOGRAPH_CHUNK_MAX=8 bash -c :
  [ -z "$output" ]
  run -0 env LD_PRELOAD="$shim" AUTOGRAPH_CHUNK_MAX=8 bash -c :
  [ -z "$output" ]
}

@test "a healthy run prints nothing of its own" {
  need_simulator
  [ -x "$samples/constant_loop" ] || skip 'constant_loop is not built'
  local plain
  plain=$(on_simulator eager "$samples/constant_loop" 2>&1)
  AUTOGRAPH_STATS='' run -0 on_simulator_shimmed eager "$samples/constant_loop"
  [ "$output" = "$plain" ]
}

@test "statistics that cannot be written: one line, the program unaffected" {
  need_simulator
  [ -x "$samples/constant_loop" ] || skip 'constant_loop is not built'
  local plain path
  plain=$(on_simulator eager "$samples/constant_loop")
  for path in /nonexistent/folder/s.json /proc/s.json /dev/full "/$(printf 'x%.0s' {1..5000})"; do
    AUTOGRAPH_STATS=$path run -0 --separate-stderr on_simulator_shimmed eager "$samples/constant_loop"
    echo "${path:0:40}: $stderr"
    [ "$output" = "$plain" ]
    lines "$stderr" 1
  done
}
