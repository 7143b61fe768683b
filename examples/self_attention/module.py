"""What the functions of spec.mlir compute, in PyTorch."""

import math

import torch
from torch import nn

BATCH, LENGTH, WIDTH, HEADS = 2, 7, 32, 2


def split(x):
    return x.view(*x.shape[:2], HEADS, WIDTH // HEADS).transpose(1, 2)


def attend(query, key, value, padding, dropout):
    score = split(query) @ split(key).transpose(-1, -2) / math.sqrt(WIDTH // HEADS)
    score = score.masked_fill(padding[:, None, None, :], -math.inf)
    context = dropout(score.softmax(-1)) @ split(value)
    return context.transpose(1, 2).flatten(2)


class SelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.norm = nn.LayerNorm(WIDTH)
        self.dropout = nn.Dropout(0.1)

    def forward(self, hidden, padding):
        context = attend(self.query(hidden), self.key(hidden), self.value(hidden), padding, self.dropout)
        return self.norm(self.dropout(self.out(context)) + hidden)


class Simplified(nn.Module):
    def __init__(self):
        super().__init__()
        self.dropout = nn.Dropout(0.1)

    def forward(self, hidden, padding):
        return attend(hidden, hidden, hidden, padding, self.dropout)


def inputs():
    padding = torch.arange(LENGTH) >= torch.tensor([[LENGTH], [4]])
    return {"hidden": torch.randn(BATCH, LENGTH, WIDTH), "padding": padding}


CASES = {
    "module": lambda: (SelfAttention(), inputs(), ["out"]),
    "simplified": lambda: (Simplified(), inputs(), ["out"]),
}
