"""A program that captures CUDA graphs of its own, between eager steps of the same work."""
import common

device = common.device()
import torch
import torch.nn.functional as F

model = torch.nn.Sequential(*[m for _ in range(6) for m in (torch.nn.Linear(256, 256), torch.nn.GELU())]).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9)
x = torch.randn(64, 256, device=device)
target = torch.randn(64, 256, device=device)


def step():
    optimizer.zero_grad(set_to_none=True)
    loss = F.mse_loss(model(x), target)
    loss.backward()
    optimizer.step()
    return loss


for k in range(30):
    loss = step()
print("eager", common.bits(loss.item()), common.tensor_hash(model.parameters()))

del loss  # its graph would keep gradients bound to the default stream, which a capture cannot join
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(5):
        step()
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    captured_loss = step()
for k in range(50):
    x.copy_(torch.full_like(x, k * 0.01))
    graph.replay()
    if k % 10 == 9:
        print("replay", common.bits(captured_loss.item()))
        with torch.no_grad():  # eager work between the replays
            for _ in range(20):
                y = model(x)
        print("between", common.tensor_hash([y]))
print("end", common.tensor_hash(model.parameters()))

callable_ = torch.cuda.make_graphed_callables(torch.nn.Linear(256, 256).to(device), (x.clone(),))
for k in range(20):
    out = callable_(x)
print("graphed callable", tuple(out.shape))
torch.cuda.synchronize()
