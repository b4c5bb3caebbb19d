"""within.py [--build BUILD] [--rows ROW,ROW...] [--seconds S] [--ms MS] [--also NAME=VALUE]... [--json FILE]

PyTorch rows, eager against the shim and against the host floor, each within one run: on machines where two runs of a
Python program differ by more than a graph gains, two neighbouring spans of one run do not. Both preloads hold (or skip)
launches in every other span of MS milliseconds; neighbouring spans of a row are a pair. One process for all rows, so that
PyTorch is loaded once. The hand-written graph is a third run; for it and for eager the table has the time of a step. Each
--also is one more run with the shim and that variable set; its rows have the setting in front.

  shim, floor   median over the pairs of (time a launch when passed / when held or skipped), and its quartiles
  captured      (eager - shim) / (eager - the slower of floor and hand-written graph)
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROWS = ("mlp_train,transformer_sgd,transformer_adamw,transformer_adamw_fused,transformer_infer,resnet50_infer,resnet50_train,"
        "decode,amp_accumulate,prefetch")
COUNTS = ("launches", "replayed", "patched", "eager", "graph_launches", "builds", "handed_over", "watchdog_flushes", "failures")


def run(rows, seconds, environment, *arguments):
    """What torch_rows.py says of each row: {name: {key: text}}."""
    command = [sys.executable, os.path.join(HERE, "torch_rows.py"), rows, "--seconds", str(seconds), *arguments]
    # only the program itself gets the preload: what starts it would write statistics too
    settings = [f"{name}={value}" for name, value in environment.items()]
    done = subprocess.run(["env", *settings, *command], stdout=subprocess.PIPE, text=True, check=False)
    lines = [dict(word.split("=", 1) for word in line.split() if "=" in word) for line in done.stdout.splitlines()]
    return {line["row"]: line for line in lines if "row" in line}


def ratios(spans, line):
    """passed / other of neighbouring spans that lie within the row's measured time."""
    begin, end = float(line["begin_us"]), float(line["end_us"])
    inside = [s for s in spans if s[1] >= begin and s[1] + s[2] <= end]
    found, i = [], 1  # the first span of a row may have begun before it
    while i + 1 < len(inside):
        (a, _, a_us, a_launches), (b, _, b_us, b_launches) = inside[i], inside[i + 1]
        i += 1
        if a != b and a_launches > 0 and b_launches > 0:
            other, passed = ((a_us / a_launches, b_us / b_launches) if a else (b_us / b_launches, a_us / a_launches))
            found.append(passed / other)
            i += 1
    return found


def passed_ms(spans, line):
    """Milliseconds of a step in the spans that pass, by the launches that a step has: those of the whole row."""
    begin, end = float(line["begin_us"]), float(line["end_us"])
    inside = [s for s in spans if s[1] >= begin and s[1] + s[2] <= end and s[3] > 0]
    passed = [s[2] / s[3] for s in inside if not s[0]]
    rate = sum(s[3] for s in inside) / max(1, sum(s[2] for s in inside))
    launches = rate * (end - begin) / int(line["iterations"])
    return statistics.median(passed) * launches / 1e3 if passed else float("nan")


def spread(values):
    if len(values) < 4:
        return "-" if not values else f"{statistics.median(values):.3f}x"
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.3f}x ({low:.3f}-{high:.3f})"


def with_shim(build, o, folder, setting):
    """(what torch_rows.py says of each row, the shim's statistics) of a run with the shim and one more setting."""
    stats = os.path.join(folder, "stats.json")
    environment = {"LD_PRELOAD": f"{build}/libautograph.so", "AUTOGRAPH_STATS": stats, "AUTOGRAPH_ALTERNATE_MS": o.ms}
    if setting:
        environment.update([setting.split("=", 1)])
    lines = run(o.rows, o.seconds, environment)
    with open(stats) as f:
        return lines, json.load(f)


def one(row, line, held, floor_line, skipped, graph_line):
    """A line of the table, printed and returned; None when the row failed."""
    if "begin_us" not in line or "begin_us" not in floor_line:
        print(f"{row:<26} failed: {line.get('failed') or floor_line.get('failed')}")
        return None
    gain, most = ratios(held["spans"], line), ratios(skipped, floor_line)
    eager = passed_ms(held["spans"], line)
    by_graph = float(graph_line.get("ms_per_iteration", "nan"))
    captured = float("nan")
    if gain and most:
        best = max(1 / statistics.median(most), by_graph / eager if by_graph == by_graph else 0)
        captured = (1 - 1 / statistics.median(gain)) / (1 - best) if best < 1 else float("nan")
    print(f"{row:<26}{len(gain):>6} {eager:>9.3f} {by_graph:>9.3f}  {spread(gain):<24} {spread(most):<24} {captured:>8.2f}")
    return {"row": row, "eager_ms": eager, "graph_ms": by_graph, "shim": gain, "floor": most, "captured": captured}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default="build")
    p.add_argument("--rows", default=ROWS)
    p.add_argument("--seconds", type=float, default=8)
    p.add_argument("--ms", type=int, default=250)
    p.add_argument("--also", action="append", default=[], metavar="NAME=VALUE")
    p.add_argument("--json", default="")
    o = p.parse_args()
    build = os.path.abspath(o.build)
    with tempfile.TemporaryDirectory() as folder:
        floor_spans = os.path.join(folder, "floor")
        shims = {setting: with_shim(build, o, folder, setting) for setting in ["", *o.also]}
        floor = run(o.rows, o.seconds, {"LD_PRELOAD": f"{build}/bench/libfloor.so", "FLOOR_SPANS": floor_spans,
                                        "FLOOR_ALTERNATE_MS": o.ms})
        graph = run(o.rows, min(2.0, o.seconds), {}, "--graph")
        with open(floor_spans) as f:
            skipped = [json.loads(line) for line in f if line.endswith("]\n")]
    result = []
    print(f"{'row':<26}{'pairs':>6} {'eager ms':>9} {'graph ms':>9}  {'shim':<24} {'floor':<24} {'captured':>8}")
    for setting, (shim, held) in shims.items():
        if setting:
            print(f"{setting}:")
        rows = [one(row, shim.get(row, {}), held, floor.get(row, {}), skipped, graph.get(row, {})) for row in o.rows.split(",")]
        known = [r["captured"] for r in rows if r and r["captured"] == r["captured"]]
        if known:
            print(f"captured: median {statistics.median(known):.2f}, least {min(known):.2f}")
        print({name: held[name] for name in COUNTS}, held["flushes"], held["bypass"])
        result += [{"setting": setting, **r} for r in rows if r]
    if o.json:
        with open(o.json, "w") as f:
            json.dump(result, f)


if __name__ == "__main__":
    main()
