"""torch.compile in its default mode and with its own CUDA graphs."""
import common

device = common.device()
import torch
import torch.nn.functional as F
import torch_models

for mode in ("default", "reduce-overhead"):
    torch.manual_seed(11)
    model = torch_models.Transformer(layers=2, width=256, heads=4, words=500, length=64).to(device)
    fast = torch.compile(model, mode=mode)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    x = torch.randint(0, 500, (8, 64), device=device)
    for k in range(40):
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(fast(x).flatten(0, 1), x.flatten())
        loss.backward()
        optimizer.step()
        if k % 10 == 9:
            print(mode, common.bits(loss.item()))
    print(mode, common.tensor_hash(model.parameters()))
