"""Runs one program with a time limit and reads what it printed."""
import glob
import json
import os
import re
import signal
import subprocess
import time


class Run:
    def __init__(self, status, out, err, wall, limit, hung):
        self.status, self.out, self.err, self.wall, self.limit, self.hung = status, out, err, wall, limit, hung

    def text(self):
        """The lines that two runs must share."""
        return "".join(line for line in self.out.splitlines(True) if not line.startswith(("# ", "~ ")))

    def comment(self):
        return next((line[2:] for line in self.out.splitlines() if line.startswith("# ")), "")

    def times(self):
        found = re.findall(r"^~ (\S+) (\S+) (\S+)$", self.out, re.M)
        return {name: (float(value), float(limit)) for name, value, limit in found}

    def end(self):
        if self.hung:
            return f"no end in {self.limit:.0f} s"
        return f"signal {-self.status}" if self.status < 0 else f"status {self.status}"

    def tail(self):
        lines = (self.out.splitlines()[-3:] + self.err.splitlines()[-6:])
        return "\n".join(line[:300] for line in lines)


def run_once(argv, env, limit):
    begin = time.monotonic()
    hung = False
    with subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, errors="replace", start_new_session=True) as process:
        try:
            out, err = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            hung = True
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
    return Run(process.returncode, out, err, time.monotonic() - begin, limit, hung)


def statistics_of(folder, prefix):
    """The shim's counters, summed over the processes of a run."""
    total = {}
    for path in glob.glob(os.path.join(folder, glob.escape(prefix) + "*.json")):
        try:
            with open(path) as f:
                counters = json.load(f)
        except (OSError, ValueError):
            continue
        for key in ("launches", "replayed", "divergences"):
            if isinstance(counters.get(key), (int, float)):
                total[key] = total.get(key, 0) + counters[key]
    return total


def has_gpu():
    try:
        return subprocess.run(["nvidia-smi", "-L"], capture_output=True, timeout=60).stdout.startswith(b"GPU")
    except (OSError, subprocess.TimeoutExpired):
        return False


def machine():
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    return subprocess.run(query, capture_output=True, text=True).stdout.strip().replace("\n", "; ")
