#!/usr/bin/env bats
# shellcheck disable=SC2154
# Every sample on the simulated driver, without and with the shim, under each schedule: the same output and status, and
# statistics that say that launches were really replayed.

load helpers

setup() {
  need_shim
}

# compare SAMPLE SHARE [ARG…]: at least SHARE percent of the launches are replayed under each schedule.
compare() {
  local sample=$1 share=$2 schedule stats=$BATS_TEST_TMPDIR/stats.json
  # where replays are counted, a machine that is busy with other tests must not look like a program that pauses
  local hold=20000
  [ "$share" != 0 ] || hold=200
  shift 2
  for schedule in eager lazy random; do
    local plain shimmed
    plain=$(LD_LIBRARY_PATH=$build/sim AUTOGRAPH_SIM=schedule=$schedule "$build/samples/$sample" "$@")
    shimmed=$(LD_LIBRARY_PATH=$build/sim AUTOGRAPH_SIM=schedule=$schedule AUTOGRAPH_STATS=$stats AUTOGRAPH_HOLD_US=$hold LD_PRELOAD=$shim \
      "$build/samples/$sample" "$@")
    echo "$schedule: plain: $plain"
    echo "$schedule: shim: $shimmed"
    [ "$plain" = "$shimmed" ]
    python3 - "$stats" "$share" <<'PYTHON'
import json, sys
s = json.load(open(sys.argv[1]))
print({k: s[k] for k in ("launches", "replayed", "eager", "driver_calls", "failures", "bypass", "flushes")})
assert s["launches"] > 0 and s["launches"] == s["replayed"] + s["eager"]
assert s["failures"] == 0 and s["divergences"] == 0
assert 100 * s["replayed"] >= int(sys.argv[2]) * s["launches"]
PYTHON
  done
}

@test "constant arguments" { need_unsanitized; compare constant_loop 50; }
@test "changing arguments" { need_unsanitized; compare changing_args 50; }
@test "double-buffered pointers" { need_unsanitized; compare double_buffer 50; }
@test "growing grid" { need_unsanitized; compare growing_grid 50; }
@test "two streams with events" { need_unsanitized; compare two_streams 50; }
@test "memsets and copies" { need_unsanitized; compare memset_copy 50; }
@test "the host polls mapped memory and makes no call" { need_unsanitized; compare mapped_poll 0; }
@test "a synchronise every few launches" { need_unsanitized; compare sync_every 50; }
@test "mixed kernels" { need_unsanitized; compare mixed_kernels 50; }
