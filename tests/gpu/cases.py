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
AUDITED = (("doors_static", "door"), ("doors_shared", "door"), ("doors_per_thread", "threads"), ("doors_driver", "linked"),
           ("doors_driver", "dlsym"), ("doors_driver", "path"), ("doors_driver", "address"), ("launches", "own_values"),
           ("cupy_loop", None), ("triton_loop", None))
# What the tool says of the program's one bad write: its kind, and which kernel it is at.
FAULT = """"$@" 2>&1 | grep -oE 'Invalid __global__ write of size 4|at [a-z_:]*(store_past|step)' | sort -u |
           awk '{print; n += /Invalid|at .*store_past/} END {exit n != 2}'"""
# Calls of each kernel as nsys counts them.
NSYS = """folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT &&
          nsys profile -t cuda -s none --cpuctxsw=none -o "$folder/report" "$@" | grep ^state &&
          nsys stats -q -r cuda_gpu_kern_sum:base --format csv "$folder/report.nsys-rep" |
          awk -F, '/step/ {print $3, $NF; n++} END {exit n != 2}'"""


class Test:
    def __init__(self, name, argv, alone=False, may_fail=False, audited=False, module=None, tool="", limit=90, needs=()):
        self.name, self.argv, self.alone, self.may_fail, self.audited = name, argv, alone, may_fail, audited
        self.module, self.tool, self.limit, self.needs = module, tool, limit, needs
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


def all_tests(build):
    folder = os.path.join(os.path.abspath(build), "tests", "gpu")
    binary = lambda program: os.path.join(folder, program)
    script = lambda name: [sys.executable, os.path.join(HERE, f"{name}.py")]
    tests = [Test(f"{p}.{n}", [binary(p), n], alone=n in ALONE, may_fail=n in MAY_FAIL) for p, n in programs()]
    for name, module in PYTHON.items():
        tests.append(Test(name, script(name), module=module, limit=240))
    for program, name in AUDITED:
        argv = [binary(program), name] if name else script(program)
        module = None if name else PYTHON[program]
        tests.append(Test(f"audit.{program}.{name}" if name else f"audit.{program}", argv, audited=True, module=module))
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
    return tests
