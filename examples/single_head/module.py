"""What the functions of spec.mlir compute, in PyTorch."""

import math

import torch
from torch import nn

BATCH, LENGTH, WIDTH, HEADS = 2, 7, 32, 2


def split(x):
    return x.view(*x.shape[:2], HEADS, -1).transpose(1, 2)


def merge(x):
    return x.transpose(1, 2).flatten(2)


class SingleHead(nn.Module):
    def __init__(self, out=16):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(WIDTH, out, bias=False) for _ in range(3))
        self.out = out

    def forward(self, tokens):
        score = self.query(tokens) @ self.key(tokens).transpose(1, 2) / math.sqrt(self.out)
        return score.softmax(-1) @ self.value(tokens)


class Packed(nn.Module):
    """`mask` is 0 where a key is hidden."""

    def __init__(self, bias):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=bias)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.dropout = nn.Dropout(0.1)

    def forward(self, tokens, mask=None):
        query, key, value = map(split, self.qkv(tokens).chunk(3, dim=-1))
        score = query @ key.transpose(-1, -2) / math.sqrt(WIDTH // HEADS)
        if mask is not None:
            score = score.masked_fill(mask[:, None] == 0, -math.inf)
        return self.dropout(self.out(merge(self.dropout(score.softmax(-1)) @ value)))


class ScaledAfter(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))

    def forward(self, tokens):
        query, key, value = split(self.query(tokens)), split(self.key(tokens)), split(self.value(tokens))
        prob = (query @ key.transpose(-1, -2)).softmax(-1) / math.sqrt(WIDTH // HEADS)
        return merge(prob @ value)


def tokens():
    return {"tokens": torch.randn(BATCH, LENGTH, WIDTH)}


def mask():
    """Any key may be hidden but a token's own."""
    return {"mask": torch.eye(LENGTH).long() | torch.randint(2, (BATCH, LENGTH, LENGTH))}


CASES = {
    "single_head": lambda: (SingleHead(), tokens(), ["out"]),
    "packed": lambda: (Packed(bias=True), tokens(), ["out"]),
    "scaled_after": lambda: (ScaledAfter(), tokens(), ["out"]),
    "masked": lambda: (Packed(bias=False), {**tokens(), **mask()}, ["out"]),
}
