#!/usr/bin/env python3
"""Ratios of one interleaved run: eager, with the shim, as a hand-written graph, and the host floor.

Programs are started in turn (A B C D A B C D …), medians are taken over the rounds, and every ratio divides medians of
this run. A program may hold several rows; when one crashes or hangs, that row is marked and the others go on without it.
"""
import argparse
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
from bench_rows import GROUPS

MARKS = ("eager", "shim", "graph", "floor")


class Row:
    def __init__(self, name, group):
        self.name, self.group = name, group
        self.values = {m: [] for m in MARKS}
        self.tails = {m: [] for m in MARKS}
        self.sums = {m: set() for m in MARKS}
        self.bad = {}  # mark -> why it has no value

    def median(self, mark):
        return statistics.median(self.values[mark]) if self.values[mark] else None

    def same(self):
        """Whether eager and shim gave the same result, as far as eager agrees with itself."""
        eager, shim = self.sums["eager"], self.sums["shim"]
        if not eager or not shim:
            return "-"
        if eager == shim and len(eager) == 1:
            return "same"
        return "noisy" if len(eager) > 1 else "DIFF"


class Bench:
    def __init__(self, o):
        self.o = o
        self.began = time.monotonic()
        self.left_out = []
        self.longest = {}

    def budget_left(self):
        return self.o.budget_seconds - (time.monotonic() - self.began) if self.o.budget_seconds else float("inf")

    def environment(self, mark):
        env = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
        library = {"shim": "libautograph.so", "floor": "bench/libfloor.so"}.get(mark)
        if library:
            env["LD_PRELOAD"] = os.path.abspath(os.path.join(self.o.build, library))
        if mark == "shim" and self.o.stats:
            env["AUTOGRAPH_STATS"] = os.path.join(os.path.abspath(self.o.stats), "%p.json")
        return env

    def start(self, group, rows, mark):
        """Runs one program over the rows given; returns what it printed for each, and how it ended."""
        argv = group.argv(self.o, [r.name for r in rows], mark)
        limit = min(group.limit(len(rows)), max(20.0, self.budget_left()))
        begin = time.monotonic()
        process = subprocess.Popen(argv, env=self.environment(mark), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, errors="replace", start_new_session=True)
        try:
            out, err = process.communicate(timeout=limit)
            end = "" if process.returncode == 0 else f"status {process.returncode}"
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            end = f"no end in {limit:.0f} s"
        wall = time.monotonic() - begin
        found = {}
        for line in out.splitlines():
            pairs = dict(re.findall(r"(\w+)=(\S+)", line))
            if "row" in pairs:
                found[pairs.pop("row")] = pairs
        if group.wall:  # the whole process is what is measured
            for r in rows:
                if r.name in found:
                    found[r.name][group.metric] = wall * 1e3
        if (end or self.o.verbose) and err.strip():
            print(f"# {group.name} {mark}: " + err.strip().splitlines()[-1][:300], file=sys.stderr)
        return found, end, wall

    def take(self, row, mark, pairs, group):
        if "unavailable" in pairs:
            row.bad[mark] = "-"
        elif "failed" in pairs or pairs.get("check") == "WRONG":
            row.bad[mark] = pairs.get("failed", "wrong checksum")
        elif group.metric in pairs:
            row.values[mark].append(float(pairs[group.metric]))
            if "p99_us" in pairs:
                row.tails[mark].append(float(pairs["p99_us"]))
            if "checksum" in pairs:
                row.sums[mark].add(pairs["checksum"])

    def round(self, group, rows, mark):
        pending = [r for r in rows if mark not in r.bad]
        while pending:
            found, end, wall = self.start(group, pending, mark)
            self.longest[group.name, mark] = wall
            for r in pending:
                if r.name in found:
                    self.take(r, mark, found[r.name], group)
            missing = [r for r in pending if r.name not in found]
            if missing:
                missing[0].bad[mark] = end or "no line"
                print(f"# {group.name} {mark} {missing[0].name}: {missing[0].bad[mark]}", file=sys.stderr)
            pending = missing[1:]

    def run(self, rows):
        """Round by round through all groups, so that a short budget still gives every row a first round."""
        groups = []
        for group in GROUPS:
            mine = [r for r in rows if r.group is group]
            reason = group.missing(self.o) if mine else ""
            if reason:
                self.left_out.append(f"{group.name} ({reason})")
            elif mine:
                groups.append((group, mine, [m for m in self.o.marks if m in group.marks]))
        for number in range(self.o.rounds):
            for group, mine, marks in groups:
                needed = sum(self.longest.get((group.name, m), 0) for m in marks)
                if self.budget_left() <= needed:
                    self.left_out.append(f"{group.name} round {number + 1}")
                    continue
                for mark in marks:
                    self.round(group, mine, mark)
                if self.o.verbose:
                    print(f"# {group.name} round {number + 1} at {time.monotonic() - self.began:.0f} s", file=sys.stderr)


def cell(row, mark):
    value = row.median(mark)
    if value is None:
        bad = row.bad.get(mark, "")
        return bad if bad in ("", "-") else "FAIL"
    spread = (max(row.values[mark]) - min(row.values[mark])) / 2 / value * 100
    return f"{value:.3f}±{spread:.0f}%"


def ratio(a, b, form="{:.2f}x"):
    return form.format(a / b) if a and b else ""


def captured(row):
    """(eager - shim) / (eager - the best that is known to be possible)."""
    eager, shim, graph, floor = (row.median(m) for m in MARKS)
    best = max((v for v in (graph, floor) if v), default=None)
    if not eager or not shim or not best or eager - best < 0.02 * eager:
        return ""
    return f"{(eager - shim) / (eager - best):.2f}"


def table(rows):
    head = ["row", "unit", *MARKS, "eager/shim", "shim/graph", "captured", "p99 shim/eager", "result"]
    lines = [head]
    for r in rows:
        if not any(r.values.values()) and not r.bad:
            continue
        tails = [statistics.median(r.tails[m]) if r.tails[m] else None for m in ("shim", "eager")]
        lines.append([r.name, r.group.unit, *(cell(r, m) for m in MARKS), ratio(r.median("eager"), r.median("shim")),
                      ratio(r.median("shim"), r.median("graph")), captured(r), ratio(*tails), r.same()])
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(line, widths)).rstrip() for line in lines)


def choose(names, chosen):
    wanted = [c for c in chosen.split(",") if c]
    unknown = [c for c in wanted if c not in names and c not in {g.name for g in GROUPS}]
    if unknown:
        raise SystemExit(f"bench: unknown rows: {' '.join(unknown)}; known groups: {' '.join(g.name for g in GROUPS)}; "
                         f"rows: {' '.join(names)}")
    return wanted


def has_gpu():
    try:
        return subprocess.run(["nvidia-smi", "-L"], capture_output=True, timeout=60).stdout.startswith(b"GPU")
    except (OSError, subprocess.TimeoutExpired):
        return False


def machine():
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    return subprocess.run(query, capture_output=True, text=True).stdout.strip()


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default="build")
    p.add_argument("--rows", default="", help="rows or groups, separated by commas; all when empty")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--marks", default=",".join(MARKS))
    p.add_argument("--budget-seconds", type=float, default=0, help="start nothing that would end later than this")
    p.add_argument("--seconds", type=float, default=0, help="measured time of each row, where the group's own is too long")
    p.add_argument("--json", default="", help="where to write all values; default: bench.json in the build folder")
    p.add_argument("--stats", default="", help="folder for the shim's statistics of each run")
    p.add_argument("--list", action="store_true")
    p.add_argument("--verbose", action="store_true")
    o = p.parse_args()
    o.marks = o.marks.split(",")
    if set(o.marks) - set(MARKS):
        raise SystemExit(f"bench: unknown marks; known: {' '.join(MARKS)}")
    rows = [Row(name, g) for g in GROUPS for name in g.rows]
    wanted = choose([r.name for r in rows], o.rows)
    rows = [r for r in rows if not wanted or r.name in wanted or r.group.name in wanted]
    if o.list:
        print("\n".join(f"{r.group.name:12} {r.name}" for r in rows))
        return 0
    if not has_gpu():
        print("bench: no GPU on this machine; nothing was measured")
        return 0
    if o.stats:
        os.makedirs(o.stats, exist_ok=True)
    bench = Bench(o)
    bench.run(rows)
    document = {
        "machine": machine(), "rounds": o.rounds, "seconds": time.monotonic() - bench.began, "left_out": bench.left_out,
        "rows": [{"name": r.name, "group": r.group.name, "unit": r.group.unit, "values": r.values, "p99_us": r.tails,
                  "checksums": {m: sorted(s) for m, s in r.sums.items()}, "bad": r.bad, "result": r.same()} for r in rows],
    }
    with open(o.json or os.path.join(o.build, "bench.json"), "w") as f:
        json.dump(document, f, indent=1)
    print(f"# {document['machine']}; {o.rounds} rounds, interleaved; medians ± half the spread; {document['seconds']:.0f} s")
    for r in rows:
        for mark, why in r.bad.items():
            if why != "-":
                print(f"# {r.name} {mark}: {why}")
    if bench.left_out:
        print("# left out: " + "; ".join(bench.left_out))
    print(table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
