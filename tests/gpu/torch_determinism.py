"""A transformer's training steps with deterministic settings: SGD, then AdamW. The bits of the losses and parameters."""
import common

device = common.device()
import torch
import torch.nn.functional as F
import torch_models

STEPS = 100


def train(name, make):
    torch.manual_seed(3)
    model = torch_models.Transformer(layers=6, width=256, heads=4, words=1000, length=128).to(device)
    optimizer = make(model.parameters())
    x = torch.randint(0, 1000, (32, 128), device=device)
    y = torch.randint(0, 1000, (32, 128), device=device)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.bfloat16):
            loss = F.cross_entropy(model(x).flatten(0, 1).float(), y.flatten())
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    values = torch.stack(losses).tolist()
    print(f"{name} losses " + " ".join(common.bits(v) for v in values[9::10]))
    print(f"{name} last {common.bits(values[-1])} parameters {common.tensor_hash(model.parameters())}")


if device == "cuda":  # of about 390 launches a step
    print("@ replayed 40000")
train("sgd", lambda p: torch.optim.SGD(p, lr=1e-2))
train("adamw", lambda p: torch.optim.AdamW(p, lr=1e-3))
train("adamw_fused", lambda p: torch.optim.AdamW(p, lr=1e-3, fused=True))
