"""Side streams, pinned copies, a decoding loop with a growing cache, and several threads, all in one process."""
import common

device = common.device()
import threading
import torch
import torch_models

model = torch_models.Decoder(layers=3, width=128, heads=4, words=200).to(device).eval()
with torch.inference_mode():
    for sentence in range(3):
        cache, token = [None] * 3, torch.full((1, 1), sentence, device=device)
        tokens = []
        for _ in range(60):
            logits, cache = model(token, cache)
            token = logits.argmax(-1)
            tokens.append(token)
        print("decode", common.tensor_hash(tokens + [c[0] for c in cache]))

side = torch.cuda.Stream()
host = [torch.full((256, 256), float(k)).pin_memory() for k in range(8)]
total = torch.zeros(256, 256, device=device)
for k in range(200):
    with torch.cuda.stream(side):
        batch = host[k % 8].to(device, non_blocking=True)
    torch.cuda.current_stream().wait_stream(side)
    batch.record_stream(torch.cuda.current_stream())
    total = total * 0.5 + batch
print("prefetch", common.tensor_hash([total]))


def work(results, index):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream), torch.inference_mode():
        x = torch.full((64, 64), 0.01 * index, device=device)
        for _ in range(300):
            x = torch.tanh(x * 1.01 + 0.001)
        stream.synchronize()
        results[index] = common.tensor_hash([x])


results = {}
threads = [threading.Thread(target=work, args=(results, k)) for k in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print("threads", [results[k] for k in range(4)])
