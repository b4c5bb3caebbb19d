"""Runs one program with a time limit and reads what it printed."""
import glob
import itertools
import json
import os
import re
import signal
import subprocess
import tempfile
import threading
import time

MARK = "GPU_SUITE_RUN"  # in the environment of all that a run starts


class Run:
    def __init__(self, status, out, err, wall, limit, hung):
        self.status, self.out, self.err, self.wall, self.limit, self.hung = status, out, err, wall, limit, hung

    def text(self):
        """The lines that two runs must share."""
        return "".join(line for line in self.out.splitlines(True) if not line.startswith(("# ", "~ ", "@ ")))

    def comment(self):
        return next((line[2:] for line in self.out.splitlines() if line.startswith("# ")), "")

    def times(self):
        found = re.findall(r"^~ (\S+) (\S+) (\S+)$", self.out, re.M)
        return {name: (float(value), float(limit)) for name, value, limit in found}

    def replayed(self):
        """How many launches the shim must replay, by the test's own word."""
        return int(next(iter(re.findall(r"^@ replayed (\d+)$", self.out, re.M)), 0))

    def end(self):
        if self.hung:
            return f"no end in {self.limit:.0f} s"
        return f"signal {-self.status}" if self.status < 0 else f"status {self.status}"

    def tail(self):
        lines = (self.out.splitlines()[-3:] + self.err.splitlines()[-6:])
        return "\n".join(line[:300] for line in lines)


class Stopped(Exception):
    """The suite ends early; the run was killed or not begun."""


class Runner:
    """Starts programs, and ends all that they started: their own sessions as well, which inherit the mark."""

    def __init__(self):
        self.stopped = threading.Event()
        self.numbers = itertools.count()

    def run(self, argv, env, limit):
        if self.stopped.is_set():
            raise Stopped
        begin, hung = time.monotonic(), False
        mark = f"{os.getpid()}.{next(self.numbers)}"
        # files, not pipes: what a program leaves behind may keep them open
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen(argv, env={**env, MARK: mark}, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                       start_new_session=True)
            while process.poll() is None and not hung and not self.stopped.is_set():
                try:
                    process.wait(0.2)
                except subprocess.TimeoutExpired:
                    hung = time.monotonic() - begin > limit
            wall = time.monotonic() - begin
            cut = process.poll() is None
            if cut:
                process.kill()
            kill_marked(mark)
            process.wait()
            if cut and not hung:
                raise Stopped
            text = []
            for file in (out, err):
                file.seek(0)
                text.append(file.read().decode(errors="replace"))
        return Run(process.returncode, *text, wall, limit, hung)

    def stop(self):
        self.stopped.set()


def kill_marked(mark):
    """Ends the processes that have this mark in their environment."""
    wanted = f"{MARK}={mark}".encode()
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            with open(path, "rb") as f:
                if wanted in f.read().split(b"\0"):
                    os.kill(int(path.split("/")[2]), signal.SIGKILL)
        except OSError:
            continue


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
