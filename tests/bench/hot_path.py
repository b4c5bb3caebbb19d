#!/usr/bin/env python3
"""hot_path.py BUILD [--functions]: instructions of the shim's own on the way of one launch, counted by callgrind on the simulated driver.

What the driver does is not counted; what a submission costs once a chunk is shown by itself. Two runs of different length are
subtracted, so start-up does not count. --functions shows where the instructions are.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

LAUNCHES = 20  # an iteration
SHORT, LONG = 100, 600  # iterations
SETTLED = 5000, 25000  # the same in observe mode, once it sees samples only: some periods of them


def own_instructions(build, program, arguments, environment):
    """Instructions of the main thread inside the shim, and in what it calls of the C library."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out")
        env = dict(os.environ, LD_LIBRARY_PATH=os.path.join(build, "sim"), AUTOGRAPH_HOLD_US="1000000", AUTOGRAPH_COSTS="fixed",
                   LD_PRELOAD=os.path.join(build, "libautograph.so"), **environment)
        subprocess.run(["valgrind", "--tool=callgrind", "--separate-threads=yes", f"--callgrind-out-file={out}",
                        os.path.join(build, program)] + arguments, env=env, check=True, capture_output=True)
        with open(f"{out}-01") as lines:
            return count(lines)


def count(lines):
    """Sums up a profile: per function the cost of its own lines, and of its calls into the C library. Names are given
    once, as (number) name, and by number afterwards."""
    objects, functions, counts = {}, {}, {}
    here = called = function = ""
    in_call = False

    def named(table, text):
        number, _, name = text.partition(" ")
        if name:
            table[number] = name
        return table.get(number, "")

    for line in lines:
        key, equals, value = line.rstrip("\n").partition("=")
        if equals and key in ("ob", "cob", "fn", "cfn"):
            if key == "ob":
                here = named(objects, value)
            elif key == "cob":
                called = named(objects, value)
            elif key == "fn":
                function = named(functions, value)
                called = here
            else:
                named(functions, value)
        elif equals and key == "calls":
            in_call = True
        elif re.match(r"[-+*\d]\S* \d+$", line):
            cost = int(line.split()[1])
            if here.endswith("libautograph.so") and (not in_call or "libc.so" in called):
                counts[function] = counts.get(function, 0) + cost
            if in_call:
                called = here
            in_call = False
    return counts


def per_launch(build, program, extra, environment, lengths):
    short, long = (own_instructions(build, program, ["--iterations", str(n)] + extra, environment) for n in lengths)
    return {f: (long[f] - short.get(f, 0)) / ((lengths[1] - lengths[0]) * LAUNCHES) for f in long}


def main():
    build = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build")
    if not shutil.which("valgrind") or not shutil.which("callgrind_annotate"):
        print("hot_path: valgrind is not installed (apt-get install valgrind)", file=sys.stderr)
        return 2
    submitting = re.compile(r"^(ag_submit_|ag_book_|ag_graph_|ag_template_|submit_|build|launch_template|choose|list_|hash_|chunk_|"
                            r"kernel_params|measured|now_ns|ag_hash_)")
    observe = {"AUTOGRAPH_MODE": "observe"}
    for name, environment, lengths in (("held", {}, (SHORT, LONG)),
                                       ("passed, nothing may be held", {"CUDA_LAUNCH_BLOCKING": "1"}, (SHORT, LONG)),
                                       ("observe mode, learning", observe, (SHORT, LONG)),
                                       ("observe mode, from then on", observe, SETTLED),
                                       ("off", {"AUTOGRAPH_MODE": "off"}, (SHORT, LONG))):
        found = per_launch(build, "samples/constant_loop", ["--kernels", str(LAUNCHES)], environment, lengths)
        hot = sum(v for f, v in found.items() if not submitting.match(f))
        print(f"{name:30} {hot:6.0f} instructions a launch, and {sum(found.values()) - hot:6.0f} for its share of a submission")
        if "--functions" in sys.argv:
            for f, v in sorted(found.items(), key=lambda item: -item[1])[:14]:
                print(f"    {v:8.1f} {f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
