"""The measuring loop of the JAX and CuPy rows."""
import argparse
import ctypes
import time

WARM = 25


class Row:
    """A step, its result as host arrays, how to wait for it, and the step as a graph where there is one."""

    def __init__(self, step, result, wait, captured=None):
        self.step, self.result, self.wait, self.captured = step, result, wait, captured


def tell_floor(skip):
    """Tells the host-floor library, where it is loaded, that the measured part begins or has ended."""
    try:
        ctypes.CDLL(None).floor_skip(skip)
    except AttributeError:
        pass


def checksum(arrays):
    value = 1469598103934665603
    for array in arrays:
        for byte in array.tobytes()[:65536]:
            value = (value ^ byte) * 1099511628211 & (1 << 64) - 1
    return f"{value:016x}"


def run(name, make, o):
    made = make(o)
    step = made.step
    if o.graph:
        if not made.captured:
            print(f"row={name} unavailable=1", flush=True)
            return
        step = made.captured()
    for _ in range(WARM):
        step()
    made.wait()
    sum_ = checksum(made.result())
    tell_floor(1)
    count, begin = 0, time.perf_counter()
    while count < o.steps if o.steps else time.perf_counter() - begin < o.seconds:
        step()
        count += 1
    made.wait()
    taken = time.perf_counter() - begin
    tell_floor(0)
    print(f"row={name} ms_per_iteration={taken * 1e3 / count:.4f} iterations={count} checksum={sum_}", flush=True)


def main(rows, about):
    p = argparse.ArgumentParser(description=about)
    p.add_argument("rows", help="names, or all, or list")
    p.add_argument("--seconds", type=float, default=1.0)
    p.add_argument("--steps", type=int, default=0)
    p.add_argument("--graph", action="store_true")
    o = p.parse_args()
    if o.rows == "list":
        print("\n".join(rows))
        return 0
    failed = 0
    for name in rows if o.rows == "all" else o.rows.split(","):
        try:
            run(name, rows[name], o)
        except Exception as error:  # one row must not take the others with it
            failed = 1
            print(f"row={name} failed={type(error).__name__}:{'_'.join(str(error).split()[:12])}", flush=True)
    return failed
