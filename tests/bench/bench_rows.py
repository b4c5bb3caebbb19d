"""Which programs the benchmark starts and which rows each of them holds."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ALL = ("eager", "shim", "graph", "floor")


class Group:
    """One program that runs several rows, each in `seconds` of measured time."""

    def __init__(self, name, rows, program, metric, unit, seconds, start, extra=0.5, marks=ALL, wall=False, module=None,
                 options=()):
        self.name, self.rows, self.program = name, rows.split(), program
        self.metric, self.unit, self.seconds, self.start, self.extra = metric, unit, seconds, start, extra
        self.marks, self.wall, self.module, self.options = marks, wall, module, list(options)

    def argv(self, o, rows, mark):
        script = self.program.endswith(".py")
        program = [sys.executable, os.path.join(HERE, self.program)] if script else [os.path.join(o.build, "bench", self.program)]
        argv = program + [",".join(rows)] + self.options
        if not self.wall:
            argv += ["--seconds", str(min(o.seconds or self.seconds, self.seconds))]
        if mark == "graph":
            argv.append("--graph")
        if mark == "floor" and not script:
            argv.append("--no-check")
        return argv

    def limit(self, rows):
        """Seconds after which the program counts as hung."""
        return self.start + 10 * rows * (self.seconds + self.extra)

    def missing(self, o):
        if self.module:
            import importlib.util
            return "" if importlib.util.find_spec(self.module) else f"no module {self.module}"
        if not self.program.endswith(".py") and not os.path.exists(os.path.join(o.build, "bench", self.program)):
            return f"{self.program} is not built"
        return ""


GROUPS = [
    Group("loops", "constant constant_null constant_mixed changing double_buffered growing random sync_1 sync_5 sync_20 "
          "sync_100 sync_20_changing streams_2 streams_4 copies args_4k pdl", "loops", "us_per_launch", "us/launch", 0.3, 30),
    Group("bound", "gpu_8 gpu_13 gpu_25 gpu_50", "loops", "us_per_launch", "us/launch", 0.4, 30, marks=ALL[:3]),
    Group("against", "one_launch host_only storm", "loops", "us_per_launch", "us/launch", 0.3, 30),
    Group("torch", "resnet50_infer resnet50_train transformer_infer transformer_sgd transformer_adamw "
          "transformer_adamw_fused mlp_train decode amp_accumulate prefetch gemm", "torch_rows.py", "ms_per_iteration",
          "ms/step", 1.2, 90, extra=2, module="torch"),
    Group("compile", "compiled", "torch_rows.py", "ms_per_iteration", "ms/step", 1.2, 150, extra=2, module="torch"),
]
GROUPS[3:3] = [
    Group("libraries", "cg stencil fft gemm_bound", "libraries", "us_per_iteration", "us/step", 0.4, 40),
    Group("short", "constant_short", "loops", "wall_ms", "ms/process", 0.0, 30, marks=ALL[:2], wall=True,
          options=["--iterations", "50", "--no-check"]),
]
GROUPS += [
    Group("jax", "jax_mlp jax_small_ops", "jax_rows.py", "ms_per_iteration", "ms/step", 0.8, 90, extra=2,
          marks=("eager", "shim", "floor"), module="jax"),
    Group("cupy", "cupy_ufuncs cupy_raw", "cupy_rows.py", "ms_per_iteration", "ms/step", 0.8, 60, extra=2, module="cupy"),
]
