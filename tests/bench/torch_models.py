"""The networks of the PyTorch rows, written out so that nothing but PyTorch is needed."""
import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.mix = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x, cache=None, causal=True):
        n, length, width = x.shape
        q, k, v = self.mix(x).view(n, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        if cache is not None:
            k, v = torch.cat((cache[0], k), 2), torch.cat((cache[1], v), 2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=causal and length > 1)
        return self.out(y.transpose(1, 2).reshape(n, length, width)), (k, v)


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attention = Attention(width, heads)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, cache=None):
        y, kept = self.attention(self.norm1(x), cache)
        x = x + y
        return x + self.down(F.gelu(self.up(self.norm2(x)))), kept


class Transformer(nn.Module):
    def __init__(self, layers, width, heads, words, length):
        super().__init__()
        self.word, self.place = nn.Embedding(words, width), nn.Parameter(torch.zeros(length, width))
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words)

    def forward(self, tokens):
        x = self.word(tokens) + self.place
        for layer in self.layers:
            x, _ = layer(x)
        return self.head(self.norm(x))


class Decoder(nn.Module):
    def __init__(self, layers, width, heads, words):
        super().__init__()
        self.word = nn.Embedding(words, width)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words)

    def forward(self, tokens, caches):
        x, kept = self.word(tokens), []
        for layer, cache in zip(self.layers, caches):
            x, k = layer(x, cache)
            kept.append(k)
        return self.head(self.norm(x)), kept


class Bottleneck(nn.Module):
    def __init__(self, inside, width, stride):
        super().__init__()
        out = 4 * width
        self.conv1, self.norm1 = nn.Conv2d(inside, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.norm2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv3, self.norm3 = nn.Conv2d(width, out, 1, bias=False), nn.BatchNorm2d(out)
        self.short = None
        if stride != 1 or inside != out:
            self.short = nn.Sequential(nn.Conv2d(inside, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)), inplace=True)
        y = F.relu(self.norm2(self.conv2(y)), inplace=True)
        y = self.norm3(self.conv3(y))
        return F.relu(y + (x if self.short is None else self.short(x)), inplace=True)


def resnet50():
    parts = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(True), nn.MaxPool2d(3, 2, 1)]
    inside = 64
    for width, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for k in range(blocks):
            parts.append(Bottleneck(inside, width, stride if k == 0 else 1))
            inside = 4 * width
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inside, 1000))
