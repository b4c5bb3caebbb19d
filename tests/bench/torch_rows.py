"""torch_rows.py ROW[,ROW...] [--seconds S] [--steps N] [--deterministic] [--graph] [--device cpu]

PyTorch programs as people write them, one line each:
  row=NAME ms_per_iteration=X iterations=N begin_us=T end_us=T checksum=HEX
Each row is warmed up for a fixed number of steps, whose result is the checksum, and then measured for a bounded time, or
for exactly --steps steps. --graph captures the step with PyTorch's own graph API, where the step can be captured.
"""
import argparse
import ctypes
import os
import struct
import time

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
import torch
import torch.nn.functional as F
from torch import nn

import torch_models

WARM = 25


class Row:
    """A step function, what of its result goes into the checksum, and whether a graph can hold it."""

    def __init__(self, step, result, capturable=True):
        self.step, self.result, self.capturable = step, result, capturable


ROWS = {}


def row(function):
    ROWS[function.__name__] = function
    return function


def adamw(parameters, device, graph, **kind):
    return torch.optim.AdamW(parameters, lr=1e-3, capturable=graph and device == "cuda", **kind)


@row
def mlp_train(o):
    model = nn.Sequential(*[m for _ in range(8) for m in (nn.Linear(256, 256), nn.ReLU())], nn.Linear(256, 10)).to(o.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9)
    x = torch.randn(64, 256, device=o.device)
    y = torch.randint(0, 10, (64,), device=o.device)
    return Row(*training(model, optimizer, lambda: F.cross_entropy(model(x), y)))


def training(model, optimizer, compute_loss):
    """The usual step: clear, forward, backward, update. The loss stays on the device."""
    last = {}

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = compute_loss()
        loss.backward()
        optimizer.step()
        last["loss"] = loss.detach()

    return step, lambda: [last["loss"]] + [p.detach() for p in model.parameters()]


def transformer(o, make_optimizer):
    model = torch_models.Transformer(layers=6, width=256, heads=4, words=1000, length=128).to(o.device)
    optimizer = make_optimizer(model.parameters())
    x = torch.randint(0, 1000, (32, 128), device=o.device)
    y = torch.randint(0, 1000, (32, 128), device=o.device)

    def loss():
        with torch.autocast(o.device, dtype=torch.bfloat16, cache_enabled=not o.graph):
            return F.cross_entropy(model(x).flatten(0, 1).float(), y.flatten())

    return Row(*training(model, optimizer, loss))


@row
def transformer_sgd(o):
    return transformer(o, lambda p: torch.optim.SGD(p, lr=1e-2))


@row
def transformer_adamw(o):
    return transformer(o, lambda p: adamw(p, o.device, o.graph, foreach=True))


@row
def transformer_adamw_fused(o):
    return transformer(o, lambda p: adamw(p, o.device, o.graph, fused=True))


def inference(model, x):
    last = {}
    model.eval()

    @torch.inference_mode()
    def step():
        last["y"] = model(x)

    return Row(step, lambda: [last["y"]])


@row
def transformer_infer(o):
    model = torch_models.Transformer(layers=6, width=256, heads=4, words=1000, length=128).to(o.device)
    model = model.to(torch.bfloat16)
    return inference(model, torch.randint(0, 1000, (1, 128), device=o.device))


@row
def resnet50_infer(o):
    return inference(torch_models.resnet50().to(o.device), torch.randn(8, 3, o.image, o.image, device=o.device))


@row
def resnet50_train(o):
    model = torch_models.resnet50().to(o.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9)
    x = torch.randn(8, 3, o.image, o.image, device=o.device)
    y = torch.randint(0, 1000, (8,), device=o.device)
    return Row(*training(model, optimizer, lambda: F.cross_entropy(model(x), y)))


@row
def decode(o):
    """Greedy decoding, one token a step, with a cache that grows by concatenation; a new sentence every 200 tokens."""
    model = torch_models.Decoder(layers=6, width=256, heads=4, words=1000).to(o.device).to(torch.bfloat16).eval()
    state = {}

    @torch.inference_mode()
    def step():
        if state.get("length", 200) >= 200:
            state.update(length=0, cache=[None] * 6, token=torch.ones(1, 1, dtype=torch.long, device=o.device))
        logits, state["cache"] = model(state["token"], state["cache"])
        state["token"] = logits.argmax(-1)
        state["length"] += 1

    return Row(step, lambda: [state["token"]] + [c[0] for c in state["cache"]], capturable=False)


@row
def amp_accumulate(o):
    """float16 autocast with a gradient scaler, two micro-batches a step; the scaler reads one number back each step."""
    model = torch_models.Transformer(layers=4, width=256, heads=4, words=1000, length=64).to(o.device)
    optimizer = adamw(model.parameters(), o.device, o.graph, foreach=True)
    scaler = torch.amp.GradScaler(o.device, init_scale=1024.0)
    x = torch.randint(0, 1000, (2, 16, 64), device=o.device)
    last = {}

    def step():
        optimizer.zero_grad(set_to_none=True)
        for k in range(2):
            with torch.autocast(o.device, dtype=torch.float16 if o.device == "cuda" else torch.bfloat16):
                loss = F.cross_entropy(model(x[k]).flatten(0, 1).float(), x[k].flatten()) / 2
            scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        last["loss"] = loss.detach()

    return Row(step, lambda: [last["loss"]] + [p.detach() for p in model.parameters()], capturable=False)


@row
def prefetch(o):
    """The next batch is copied from pinned memory on a side stream while this one is computed."""
    model = nn.Sequential(*[m for _ in range(6) for m in (nn.Linear(512, 512), nn.GELU())], nn.Linear(512, 10)).to(o.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    cuda = o.device == "cuda"
    batches = [torch.randn(128, 512) for _ in range(8)]
    batches = [b.pin_memory() for b in batches] if cuda else batches
    y = torch.randint(0, 10, (128,), device=o.device)
    side = torch.cuda.Stream() if cuda else None
    state = {"i": 0}

    def fetch():
        batch = batches[state["i"] % len(batches)]
        state["i"] += 1
        if not cuda:
            return batch
        with torch.cuda.stream(side):
            return batch.to("cuda", non_blocking=True)

    def step():
        x = state.get("next")
        x = fetch() if x is None else x
        if cuda:
            torch.cuda.current_stream().wait_stream(side)
            x.record_stream(torch.cuda.current_stream())
        state["next"] = fetch()
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        state["loss"] = loss.detach()

    return Row(step, lambda: [state["loss"]] + [p.detach() for p in model.parameters()], capturable=False)


@row
def compiled(o):
    """torch.compile in its default mode: Triton kernels through their own launcher."""
    model = torch_models.Transformer(layers=2, width=256, heads=4, words=1000, length=64).to(o.device)
    fast = torch.compile(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    x = torch.randint(0, 1000, (8, 64), device=o.device)
    return Row(*training(model, optimizer, lambda: F.cross_entropy(fast(x).flatten(0, 1), x.flatten())))


@row
def gemm(o):
    """Bound by the GPU: large products one after the other."""
    a, b = (torch.randn(4096, 4096, device=o.device, dtype=torch.bfloat16) for _ in range(2))
    c = torch.empty_like(a)

    def step():
        for _ in range(10):
            torch.mm(a, b, out=c)

    return Row(step, lambda: [c])


def checksum(tensors):
    """FNV-1a over the bits of each tensor's sum in double precision."""
    value = 1469598103934665603
    for t in tensors:
        for byte in struct.pack("<d", t.double().sum().item()):
            value = (value ^ byte) * 1099511628211 & (1 << 64) - 1
    return f"{value:016x}"


def synchronize(o):
    if o.device == "cuda":
        torch.cuda.synchronize()


def tell_floor(skip):
    try:
        ctypes.CDLL(None).floor_skip(skip)
    except AttributeError:
        pass


def capture(step):
    """One step as a graph, by PyTorch's own recipe: a few steps on a side stream first."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def run(name, o):
    torch.manual_seed(1)
    made = ROWS[name](o)
    step = made.step
    if o.graph:
        if not made.capturable:
            print(f"row={name} unavailable=1", flush=True)
            return
        step = capture(step)
    for _ in range(WARM):
        step()
    sum_ = checksum(made.result())
    synchronize(o)
    tell_floor(1)
    count, begin = 0, time.perf_counter()
    while count < o.steps if o.steps else time.perf_counter() - begin < o.seconds:
        step()
        count += 1
    synchronize(o)
    taken = time.perf_counter() - begin
    tell_floor(0)
    end = time.monotonic()
    print(f"row={name} ms_per_iteration={taken * 1e3 / count:.4f} iterations={count} begin_us={(end - taken) * 1e6:.0f} "
          f"end_us={end * 1e6:.0f} checksum={sum_}", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("rows", help="names, or all, or list")
    p.add_argument("--seconds", type=float, default=1.5)
    p.add_argument("--steps", type=int, default=0)
    p.add_argument("--image", type=int, default=224)
    p.add_argument("--deterministic", action="store_true")
    p.add_argument("--graph", action="store_true")
    p.add_argument("--device", default="cuda")
    o = p.parse_args()
    if o.rows == "list":
        print("\n".join(ROWS))
        return 0
    if o.deterministic:
        torch.use_deterministic_algorithms(True, warn_only=True)
        torch.backends.cudnn.benchmark = False
    failed = 0
    for name in ROWS if o.rows == "all" else o.rows.split(","):
        try:
            run(name, o)
        except Exception as error:  # one row must not take the others with it
            failed = 1
            reason = "_".join(str(error).split()[:12])
            print(f"row={name} failed={type(error).__name__}:{reason}", flush=True)
    return failed


if __name__ == "__main__":
    raise SystemExit(main())
