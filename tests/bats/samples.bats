#!/usr/bin/env bats
# shellcheck disable=SC2154
# Every sample on the simulated driver, without and with the shim, under each schedule: the same output and status, and
# statistics that say that launches were really replayed.

load helpers

setup() {
  need_shim
  unset AUTOGRAPH_COSTS # as users run it
}

# compare SAMPLE SHARE [ARG…]: at least SHARE percent of the launches are replayed under each schedule.
compare() {
  local sample=$1 share=$2 schedule key
  # where replays are counted, a machine that is busy with other tests must not look like a program that pauses
  local hold=20000
  [ "$share" != 0 ] || hold=200
  shift 2
  for schedule in "${schedules[@]}"; do
    under "$schedule" -x AUTOGRAPH_HOLD_US=$hold -w 0 "$samples/$sample" "$@"
    for key in launches replayed eager driver_calls failures divergences; do
      local "$key=$(statistic "$key")"
      echo "$key ${!key}"
    done
    holds "$launches > 0 and $launches == $replayed + $eager and 100 * $replayed >= $share * $launches"
    holds "$failures == 0 and $divergences == 0"
  done
}

@test "constant arguments" { compare constant_loop 90; }
@test "changing arguments" { compare changing_args 75; }
@test "double-buffered pointers" { compare double_buffer 90; }
@test "growing grid" { compare growing_grid 90; }
@test "two streams with events" { compare two_streams 90; }
@test "memsets and copies" { compare memset_copy 90; }
@test "the host polls mapped memory and makes no call" { compare mapped_poll 0; }
@test "a synchronise every few launches" { compare sync_every 90; }
@test "mixed kernels" { compare mixed_kernels 85; }

# One number of the statistics of a run of the constant loop.
constant() {
  AUTOGRAPH_STATS=$BATS_TEST_TMPDIR/stats.json AUTOGRAPH_HOLD_US=1000000 LD_LIBRARY_PATH=$build/sim LD_PRELOAD=$shim \
    "$build/samples/constant_loop" "${@:2}" >/dev/null
  statistic "$1"
}

@test "the constant loop: replayed by its second repetition, then hardly any driver call" {
  local once twice calls launches
  once=$(constant replayed --iterations 1)
  twice=$(constant replayed --iterations 2)
  echo "replayed after one repetition $once, after two $twice"
  [ "$twice" -gt 0 ]
  launches=$(constant launches --iterations 200)
  calls=$(constant driver_calls --iterations 200)
  echo "driver calls $calls of $launches launches"
  [ $((100 * calls)) -le $((12 * launches)) ]
}

# spans SAMPLE: holding and passing in turn, thousandths of a second each: the same output, and both happened. A run of a
# tenth of a second may be over before a busy machine lets the thread run that counts the spans; longer ones follow then.
spans() {
  local schedule iterations status
  for schedule in "${schedules[@]}"; do
    for iterations in 400 4000 40000; do
      under "$schedule" -x AUTOGRAPH_ALTERNATE_MS=1 -w 0 "$samples/$1" --iterations "$iterations"
      status=0
      python3 -IS - "$BATS_TEST_TMPDIR/stats.json" <<'PYTHON' || status=$?
import json, sys
s = json.load(open(sys.argv[1]))
spans = s.get("spans", [])
print(len(spans), spans[:4], s["replayed"], s["bypass"])
if {held for held, _, _, launches in spans if launches} != {0, 1}:
    sys.exit(3)
assert s["replayed"] > 0 and s["bypass"]["alternate"] > 0
assert [held for held, _, _, _ in spans] == [(i + spans[0][0]) % 2 for i in range(len(spans))]
assert all(a[1] + a[2] <= b[1] for a, b in zip(spans, spans[1:])), "spans overlap"
assert sum(launches for _, _, _, launches in spans) <= s["launches"]
PYTHON
      [ "$status" = 3 ] || break
      echo "$schedule: $iterations iterations are over before spans of both kinds"
    done
    [ "$status" = 0 ]
  done
}

@test "spans that hold and spans that pass: constant arguments" { spans constant_loop; }
@test "spans that hold and spans that pass: changing arguments" { spans changing_args; }
@test "spans that hold and spans that pass: two streams with events" { spans two_streams; }
