"""PyTorch's profiler, started in the middle of a loop, counts the same kernels under the same names.

Memsets and copies are only printed for people: as nodes of a graph they are not told under the same names, or not at all.
"""
import collections

import common

device = common.device()
import torch
from torch.profiler import ProfilerActivity, profile

model = torch.nn.Sequential(*[m for _ in range(4) for m in (torch.nn.Linear(128, 128), torch.nn.ReLU())]).to(device)
x = torch.randn(32, 128, device=device)


def steps(count):
    for _ in range(count):
        with torch.no_grad():
            y = model(x) * 0.5 + 1
    if device == "cuda":
        torch.cuda.synchronize()
    return y


steps(60)
for round_ in range(2):
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
        y = steps(30)
    kernels = collections.Counter(e.name for e in seen.events() if "CUDA" in str(e.device_type))
    for name, count in sorted(kernels.items()):
        print(f"{'# ' if name.startswith(('Memset', 'Memcpy')) else ''}{count} {name[:120]}")
    print("result", common.tensor_hash([y]))
    steps(20)
