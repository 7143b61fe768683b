"""What the functions of spec.mlir compute, in PyTorch."""

import math

import torch
from torch import nn

LENGTH, SOURCE, BATCH, WIDTH, HEADS = 5, 7, 2, 32, 2
HEAD_DIM = WIDTH // HEADS


class MultiHead(nn.Module):
    """Time × batch × channel; heads are folded into the batch, as torch.bmm wants them."""

    def __init__(self, projections, bias=True):
        super().__init__()
        for name in projections:
            setattr(self, name, nn.Linear(WIDTH, WIDTH, bias=bias))

    @staticmethod
    def split(x):
        """(time, batch, channel) to (batch · heads, time, head_dim)."""
        return x.contiguous().view(-1, x.shape[1] * HEADS, HEAD_DIM).transpose(0, 1)

    def attend(self, query, key, value, attn_mask=None, key_padding=None):
        """`query` comes as (time, batch, channel), key and value are split."""
        q = self.split(self.q_proj(query) * HEAD_DIM**-0.5)
        score = torch.bmm(q, key.transpose(1, 2))
        if attn_mask is not None:
            score = score + attn_mask
        if key_padding is not None:
            score = score.view(-1, HEADS, *score.shape[1:])
            score = score.masked_fill(key_padding[:, None, None, :], -math.inf).flatten(0, 1)
        prob = score.softmax(-1)
        context = torch.bmm(prob, value).transpose(0, 1).reshape(query.shape)
        return self.out_proj(context), prob.view(-1, HEADS, *prob.shape[1:])


class SelfAttention(MultiHead):
    def forward(self, query, key_padding):
        key, value = self.split(self.k_proj(query)), self.split(self.v_proj(query))
        return self.attend(query, key, value, key_padding=key_padding)


class CrossAttention(MultiHead):
    def forward(self, query, memory, attn_mask):
        key, value = self.split(self.k_proj(memory)), self.split(self.v_proj(memory))
        return self.attend(query, key, value, attn_mask=attn_mask)[0]


class StaticKeyValue(MultiHead):
    def forward(self, query, prev_key, prev_value, key_padding):
        return self.attend(query, prev_key.flatten(0, 1), prev_value.flatten(0, 1),
                           key_padding=key_padding)[0]


class Incremental(MultiHead):
    def forward(self, query, prev_key, prev_value):
        step_key, step_value = self.split(self.k_proj(query)), self.split(self.v_proj(query))
        key = torch.cat([prev_key.flatten(0, 1), step_key], dim=1)
        value = torch.cat([prev_value.flatten(0, 1), step_value], dim=1)
        heads = (-1, HEADS, query.shape[0], HEAD_DIM)
        return self.attend(query, key, value)[0], step_key.reshape(heads), step_value.reshape(heads)


def sequence(length):
    return torch.randn(length, BATCH, WIDTH)


def caches():
    return {"prev_key": torch.randn(BATCH, HEADS, SOURCE, HEAD_DIM),
            "prev_value": torch.randn(BATCH, HEADS, SOURCE, HEAD_DIM)}


def padding(length):
    return {"key_padding": torch.arange(length) >= torch.tensor([[length], [3]])}


def float_mask():
    mask = torch.randn(LENGTH, SOURCE)
    return mask.masked_fill(torch.rand_like(mask) < 0.3, -math.inf)


ALL = ("q_proj", "k_proj", "v_proj", "out_proj")
CASES = {
    "self_attention": lambda: (SelfAttention(ALL), {"query": sequence(LENGTH), **padding(LENGTH)},
                               ["out", "prob"]),
    "cross_attention": lambda: (CrossAttention(ALL, bias=False),
                                {"query": sequence(LENGTH), "memory": sequence(SOURCE),
                                 "attn_mask": float_mask()}, ["out"]),
    "static_key_value": lambda: (StaticKeyValue(("q_proj", "out_proj")),
                                 {"query": sequence(1), **caches(), **padding(SOURCE)}, ["out"]),
    "incremental": lambda: (Incremental(ALL), {"query": sequence(1), **caches()},
                            ["out", "step_key", "step_value"]),
}
