"""Which tests the GPU suite has. The names in the CUDA programs are read from their sources, so nothing is listed twice."""
import importlib.util
import os
import re
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))

# These measure time or fill the device's memory, so nothing else may run beside them.
ALONE = {"mapped_turns", "managed_turns", "no_synchronise", "priorities", "node_priority", "timing", "timing_truth", "busy_query",
         "memory_full", "full_queue", "helper_copy", "stack_limit", "huge_rows"}
PYTHON = {
    "torch_determinism": "torch", "torch_vision": "torch", "torch_own_graphs": "torch", "torch_streams": "torch",
    "torch_compile": "torch", "torch_profiler": "torch", "triton_loop": "triton", "jax_loop": "jax", "cupy_loop": "cupy",
}
# Ends that are not success, and are the point of the test.
MAY_FAIL = {"exit_call", "exit_at_once", "exit_abort", "exit_signal", "exit_thread", "null_argument"}
# It opens a door that is known not to be watched. Tools and MPS, whose own libraries take driver functions, are no tests here.
NOT_AUDITED = {"plugins.deep"}
# Samples repeat long enough here for half of their launches to be replayed at least, but for the one that polls memory.
SAMPLE_ITERATIONS, SAMPLE_SHARE = "200", 0.5
# What the tool says of the program's one bad write: its kind, and which kernel it is at.
FAULT = """"$@" 2>&1 | grep -oE 'Invalid __global__ write of size 4|at [a-z_:]*(store_past|step)' | sort -u |
           awk '{print; n += /Invalid|at .*store_past/} END {exit n != 2}'"""
# Calls of each kernel as nsys counts them.
NSYS = """folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT &&
          nsys profile -t cuda -s none --cpuctxsw=none -o "$folder/report" "$@" | grep ^state &&
          nsys stats -q -r cuda_gpu_kern_sum:base --format csv "$folder/report.nsys-rep" |
          awk -F, '/step/ {print $3, $NF; n++} END {exit n != 2}'"""


class Test:
    """share: of its launches at least so many must be replayed, besides what it says itself; 0 for none."""

    def __init__(self, name, argv, alone=False, may_fail=False, audited=False, module=None, tool="", limit=90, needs=(), share=0.0):
        self.name, self.argv, self.alone, self.may_fail, self.audited = name, argv, alone, may_fail, audited
        self.module, self.tool, self.limit, self.needs, self.share = module, tool, limit, needs, share
        self.slug = re.sub(r"\W+", "-", name)

    def missing(self):
        """Why this test cannot run here; '' when it can."""
        if self.module and not importlib.util.find_spec(self.module):
            return f"no module {self.module}"
        if self.tool and not shutil.which(self.tool):
            return f"no {self.tool}"
        for path in self.needs or ([] if self.tool else self.argv[:1]):
            if not os.path.exists(path):
                return f"{os.path.basename(path)} is not built"
        return ""


def names_in(source):
    """The tests of a program, from the table at its end."""
    with open(os.path.join(HERE, source)) as f:
        text = f.read()
    table = text[text.rindex("tests[] = {"):]
    return re.findall(r'\{"(\w+)", ', table)


def programs():
    for source in ("launches.cu", "order.cu", "objects.cu", "memory.cu", "errors.cu", "nested.cu", "plugins.cu", "profiled.cu",
                   "driver.c", "handles.c"):
        for name in names_in(source):
            yield source.split(".")[0], name
    for way in ("static", "shared", "per_thread"):
        for name in names_in("doors.cu"):
            yield f"doors_{way}", name
    for name in ("linked", "dlsym", "path", "address", "address_per_thread", "address_v1"):
        yield "doors_driver", name


def samples(build):
    """The programs of samples/, which check their own results: (name, program)."""
    top = os.path.join(HERE, "..", "..", "samples")
    for folder, kind, prefix in (("", ".c", "sample"), ("cuda", ".cu", "sample_cuda")):
        for file in sorted(os.listdir(os.path.join(top, folder))):
            name, suffix = os.path.splitext(file)
            if suffix == kind and (folder or name not in ("sample", "kernels")):
                yield f"{prefix}.{name}", os.path.join(os.path.abspath(build), "samples", folder, name)


def audited(test):
    """The same program under the audit library."""
    return Test(f"audit.{test.name}", test.argv, alone=test.alone, may_fail=test.may_fail, audited=True, module=test.module,
                limit=max(120, test.limit), needs=test.needs)


def all_tests(build):
    folder = os.path.join(os.path.abspath(build), "tests", "gpu")
    binary = lambda program: os.path.join(folder, program)
    script = lambda name: [sys.executable, os.path.join(HERE, f"{name}.py")]
    tests = [Test(f"{p}.{n}", [binary(p), n], alone=n in ALONE, may_fail=n in MAY_FAIL) for p, n in programs()]
    for name, module in PYTHON.items():
        tests.append(Test(name, script(name), module=module, limit=240))
    for name, program in samples(build):
        share = 0.0 if name.endswith(".mapped_poll") else SAMPLE_SHARE
        tests.append(Test(name, [program, "--iterations", SAMPLE_ITERATIONS], share=share))
    audits = [audited(t) for t in tests if t.name not in NOT_AUDITED]
    counter = binary("libcount_kernels.so")
    tests.append(Test("profiled.injected", ["env", f"CUDA_INJECTION64_PATH={counter}", binary("profiled"), "loop"], tool="env",
                      needs=[counter, binary("profiled")]))
    tests.append(Test("mps", script("mps") + [binary("objects")], alone=True, needs=[binary("objects")]))
    sanitizer = ["compute-sanitizer", "--error-exitcode", "9"]
    tests += [
        Test("tool.memcheck", sanitizer + [binary("objects"), "event_ring"], tool="compute-sanitizer", limit=200),
        Test("tool.racecheck", sanitizer + ["--tool", "racecheck", binary("launches"), "own_values"], tool="compute-sanitizer", limit=200),
        Test("tool.fault", ["sh", "-c", FAULT, "fault", "compute-sanitizer", binary("faulty")], tool="compute-sanitizer", limit=200),
        Test("tool.nsys", ["bash", "-c", NSYS, "nsys", binary("profiled"), "loop"], tool="nsys", limit=200),
        Test("tool.ncu", ["sh", "-c", 'ncu --clock-control none --launch-count 3 "$@" >/dev/null', "ncu",
                          binary("doors_static"), "door"], tool="ncu"),
        Test("tool.cuda-gdb", ["sh", "-c", 'cuda-gdb -batch -ex run --args "$@" 2>/dev/null | grep ^state', "gdb",
                               binary("doors_static"), "door"], tool="cuda-gdb"),
    ]
    return tests + audits
