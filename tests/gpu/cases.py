"""Which tests the GPU suite has. The names in the CUDA programs are read from their sources, so nothing is listed twice."""
import importlib.util
import os
import re
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))

# These measure time or fill the device's memory, so nothing else may run beside them.
ALONE = {"mapped_turns", "managed_turns", "no_synchronise", "priorities", "node_priority", "timing", "timing_truth", "busy_query",
         "memory_full", "full_queue"}
PYTHON = {
    "torch_determinism": "torch", "torch_vision": "torch", "torch_own_graphs": "torch", "torch_streams": "torch",
    "torch_compile": "torch", "triton_loop": "triton", "jax_loop": "jax", "cupy_loop": "cupy",
}
# Ends that are not success, and are the point of the test.
MAY_FAIL = {"exit_call", "exit_at_once", "exit_abort", "exit_signal", "exit_thread"}
AUDITED = (("doors_static", "door"), ("doors_shared", "door"), ("doors_per_thread", "threads"), ("doors_driver", "linked"),
           ("doors_driver", "dlsym"), ("doors_driver", "path"), ("doors_driver", "address"), ("launches", "own_values"),
           ("cupy_loop", None), ("triton_loop", None))


class Test:
    def __init__(self, name, argv, alone=False, may_fail=False, audited=False, module=None, tool="", limit=90):
        self.name, self.argv, self.alone, self.may_fail, self.audited = name, argv, alone, may_fail, audited
        self.module, self.tool, self.limit = module, tool, limit
        self.slug = re.sub(r"\W+", "-", name)

    def missing(self):
        """Why this test cannot run here; '' when it can."""
        if self.module and not importlib.util.find_spec(self.module):
            return f"no module {self.module}"
        if self.tool and not shutil.which(self.tool):
            return f"no {self.tool}"
        if not self.tool and not os.path.exists(self.argv[0]):
            return f"{os.path.basename(self.argv[0])} is not built"
        return ""


def names_in(source):
    """The tests of a program, from the table at its end."""
    with open(os.path.join(HERE, source)) as f:
        text = f.read()
    table = text[text.rindex("tests[] = {"):]
    return re.findall(r'\{"(\w+)", ', table)


def programs():
    for source in ("launches.cu", "order.cu", "objects.cu", "errors.cu", "nested.cu", "driver.c"):
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
    sanitizer = ["compute-sanitizer", "--error-exitcode", "9"]
    tests += [
        Test("tool.memcheck", sanitizer + [binary("objects"), "event_ring"], tool="compute-sanitizer", limit=200),
        Test("tool.racecheck", sanitizer + ["--tool", "racecheck", binary("launches"), "own_values"], tool="compute-sanitizer", limit=200),
        Test("tool.ncu", ["sh", "-c", 'ncu --clock-control none --launch-count 3 "$@" >/dev/null', "ncu",
                          binary("doors_static"), "door"], tool="ncu"),
        Test("tool.cuda-gdb", ["sh", "-c", 'cuda-gdb -batch -ex run --args "$@" 2>/dev/null | grep ^state', "gdb",
                               binary("doors_static"), "door"], tool="cuda-gdb"),
    ]
    return tests
