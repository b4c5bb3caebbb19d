"""A Triton kernel in a loop, its arguments and its grid changing."""
import common

device = common.device()
import torch

triton = common.need("triton")
import triton.language as tl


@triton.jit
def turn(x, a, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    tl.store(x + at, value * 1664525 + a, mask=at < n)


x = torch.arange(4096, device=device, dtype=torch.int32)
for k in range(2000):
    n = 256 * (1 + k % 16)
    turn[(triton.cdiv(n, 256),)](x, k % 40, n, BLOCK=256)
print("state", common.tensor_hash([x]))
