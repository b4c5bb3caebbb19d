"""ResNet-50, inference and training, deterministic: cuDNN changes shared-memory limits before nearly every launch."""
import common

device = common.device()
import torch
import torch.nn.functional as F
import torch_models

if device == "cuda":  # of about 230 launches an inference, and more a training step
    print("@ replayed 5000")
model = torch_models.resnet50().to(device)
x = torch.randn(8, 3, 224, 224, device=device)
y = torch.randint(0, 1000, (8,), device=device)
model.eval()
with torch.inference_mode():
    for k in range(40):
        out = model(x)
        if k % 10 == 9:
            print("inference", common.tensor_hash([out]))
model.train()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
for k in range(30):
    optimizer.zero_grad(set_to_none=True)
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    if k % 10 == 9:
        print("training", common.bits(loss.item()), common.tensor_hash(model.parameters()))
