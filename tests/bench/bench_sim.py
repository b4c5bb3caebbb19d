#!/usr/bin/env python3
"""The policy without a GPU: over recorded traces with the cost model, and the samples on the simulated driver's virtual
clock. The same numbers in every run. Writes everything as JSON, prints the tables last.
"""
import argparse
import ctypes
import glob
import json
import os
import subprocess
import sys
import tempfile

# mapped_poll is left out: how often it asks before the watchdog comes depends on the machine.
SAMPLES = ("constant_loop", "changing_args", "double_buffer", "growing_grid", "mixed_kernels", "memset_copy",
           "two_streams", "sync_every")


ADDR_NO_RANDOMIZE = 0x0040000


def fixed_addresses():
    """Where functions lie decides where cuts fall: the same places in every run, as far as the machine allows it."""
    libc = ctypes.CDLL(None)
    libc.personality(libc.personality(0xFFFFFFFF) | ADDR_NO_RANDOMIZE)


def run_sample(build, name, shimmed, folder):
    """The simulator's report, and the statistics of the shim."""
    kind = "shim" if shimmed else "plain"
    report, stats = os.path.join(folder, f"{name}-{kind}-report"), os.path.join(folder, f"{name}-stats")
    env = {k: v for k, v in os.environ.items() if not k.startswith("AUTOGRAPH_") and k != "LD_PRELOAD"}
    env["LD_LIBRARY_PATH"] = os.path.join(build, "sim")
    env["AUTOGRAPH_SIM"] = f"schedule=lazy,seed=1,report={report}"
    if shimmed:
        # nothing may depend on how busy the machine is
        env.update(LD_PRELOAD=os.path.join(build, "libautograph.so"), AUTOGRAPH_STATS=stats, AUTOGRAPH_HOLD_US="1000000", AUTOGRAPH_COSTS="fixed")
    subprocess.run([os.path.join(build, "samples", name)], env=env, check=True, stdout=subprocess.DEVNULL, timeout=120,
                   preexec_fn=fixed_addresses)
    return json.load(open(report)), json.load(open(stats)) if shimmed else None


def samples(build):
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in SAMPLES:
            plain, _ = run_sample(build, name, False, folder)
            shim, stats = run_sample(build, name, True, folder)
            launches = stats["launches"]
            rows.append({
                "sample": name,
                "launches": launches,
                "driver_calls_per_launch": round(stats["driver_calls"] / launches, 4),
                "replayed_share": round(stats["replayed"] / launches, 4),
                "patched_share": round(stats["patched"] / launches, 4),
                "builds": stats["builds"],
                "virtual_host_us_plain": plain["host_call_us"],
                "virtual_host_us_shim": shim["host_call_us"],
            })
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build")
    parser.add_argument("--json", help="default BUILD/bench-sim.json")
    parser.add_argument("traces", nargs="*", help="default tests/traces")
    o = parser.parse_args()
    build = os.path.abspath(o.build)
    traces = o.traces or sorted(glob.glob(os.path.join(os.path.dirname(__file__), "../traces/*.tsv*")))
    simulate = [os.path.join(build, "autograph"), "trace", "simulate"]
    result = json.loads(subprocess.run([*simulate, "--json", *traces], check=True, capture_output=True, text=True).stdout)
    result["samples"] = samples(build)
    path = o.json or os.path.join(build, "bench-sim.json")
    with open(path, "w", encoding="utf-8") as out:
        json.dump(result, out, indent=1)
        out.write("\n")
    print(f"written: {os.path.relpath(path)}\n")
    print("samples on the simulated driver, its virtual clock")
    print(f"{'sample':<15} {'launches':>9} {'calls/launch':>13} {'replayed':>9} {'patched':>9} {'builds':>7} "
          f"{'plain_us':>10} {'shim_us':>10} {'ratio':>6}")
    for r in result["samples"]:
        plain, shim = r["virtual_host_us_plain"], r["virtual_host_us_shim"]
        print(f"{r['sample']:<15} {r['launches']:>9} {r['driver_calls_per_launch']:>13.4f} {r['replayed_share']:>9.4f} "
              f"{r['patched_share']:>9.4f} {r['builds']:>7} {plain:>10.0f} {shim:>10.0f} {plain / shim:>6.2f}")
    print("\nrecorded traces, the cost model")
    sys.stdout.flush()
    subprocess.run([*simulate, "--details", *traces], check=True)


if __name__ == "__main__":
    main()
