"""What spec.mlir computes, in PyTorch."""

import math

import torch
from torch import nn

HEADS, HEAD_DIM, LAYERS = 4, 8, 2
WIDTH = HEADS * HEAD_DIM


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(HEAD_DIM, HEAD_DIM, bias=False) for _ in range(3))
        self.out, self.up, self.down = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 64), nn.Linear(64, WIDTH)
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)

    def forward(self, hidden):
        heads = hidden.unflatten(-1, (HEADS, HEAD_DIM)).transpose(1, 2)
        query, key = (part(heads) / math.sqrt(HEAD_DIM) for part in (self.query, self.key))
        context = (query @ key.transpose(-1, -2)).softmax(-1) @ self.value(heads)
        normed = self.norm1(self.out(context.transpose(1, 2).flatten(2)) + hidden)
        return self.norm2(self.down(self.up(normed).relu()) + normed)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(50, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))

    def positions(self, length):
        """sin(p / 10000^(c / WIDTH)) in even columns c, cos in odd ones."""
        column = torch.arange(WIDTH)
        rate = 10000 ** (column / WIDTH).double()
        angle = torch.arange(length)[:, None] / rate
        return torch.where(column % 2 == 0, angle.sin(), angle.cos()).to(self.words.weight.dtype)

    def forward(self, ids):
        hidden = self.words(ids) + self.positions(ids.shape[1])
        for layer in self.layers:
            hidden = layer(hidden)
        return hidden


CASES = {"encoder": lambda: (Encoder(), {"ids": torch.randint(0, 50, (2, 9))}, ["hidden"])}
