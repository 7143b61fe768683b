"""What the functions of spec.mlir compute, in PyTorch."""

import math

import torch
import torch.nn.functional as F
from torch import nn

BATCH, HEADS, LENGTH, WIDTH = 2, 4, 7, 16


def heads(num_heads=HEADS, length=LENGTH, width=WIDTH, batch=BATCH):
    return torch.randn(batch, num_heads, length, width)


def qkv(**sizes):
    return {"query": heads(**sizes), "key": heads(**sizes), "value": heads(**sizes)}


def causal(length=LENGTH):
    return torch.ones(length, length, dtype=torch.bool).tril()


class Attention(nn.Module):
    """PyTorch's own attention under the mask that `visible` makes of the extra tensors."""

    def __init__(self, visible=None):
        super().__init__()
        self.visible = visible

    def forward(self, query, key, value, **extra):
        mask = self.visible(**extra) if self.visible else None
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)


class MultiQuery(nn.Module):
    def forward(self, query, key, value):
        before = key.shape[2] - query.shape[2]
        mask = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool).tril(before)
        score = torch.einsum("bhqd,bkd->bhqk", query, key[:, 0]) / math.sqrt(query.shape[-1])
        prob = score.masked_fill(~mask, -math.inf).softmax(-1)
        return torch.einsum("bhqk,bkd->bhqd", prob, value[:, 0])


class T5(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.randn(16, HEADS))

    @staticmethod
    def bucket(relative, num_buckets=16, max_distance=32):
        """As in Mesh TensorFlow and the model's PyTorch implementations."""
        num_buckets //= 2
        bucket = (relative > 0).long() * num_buckets
        relative = relative.abs()
        max_exact = num_buckets // 2
        far = max_exact + (torch.log(relative.float().clamp(min=1) / max_exact)
                           / math.log(max_distance / max_exact) * (num_buckets - max_exact)).long()
        return bucket + torch.where(relative < max_exact, relative, far.clamp(max=num_buckets - 1))

    def forward(self, query, key, value):
        position = torch.arange(query.shape[2])
        bias = self.table[self.bucket(position[None, :] - position[:, None])].permute(2, 0, 1)
        prob = (query @ key.transpose(-1, -2) + bias).softmax(-1)
        return prob @ value


class Sink(nn.Module):
    def __init__(self):
        super().__init__()
        self.sink = nn.Parameter(torch.randn(HEADS))

    def forward(self, query, key, value):
        score = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
        score = score.masked_fill(~causal(), -math.inf)
        sink = self.sink[None, :, None, None].expand(*score.shape[:3], 1)
        prob = torch.cat([score, sink], dim=-1).softmax(-1)
        return prob[..., :-1] @ value


class Sigmoid(nn.Module):
    def forward(self, query, key, value):
        score = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
        prob = torch.sigmoid(score - math.log(key.shape[2])).masked_fill(~causal(), 0)
        return prob @ value


class Differential(nn.Module):
    def __init__(self):
        super().__init__()
        self.share = nn.Parameter(torch.rand(HEADS, 1, 1))

    def forward(self, query_1, key_1, query_2, key_2, value):
        def prob(query, key):
            score = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
            return score.masked_fill(~causal(), -math.inf).softmax(-1)

        return (prob(query_1, key_1) - self.share * prob(query_2, key_2)) @ value


def by_lengths(kv_len):
    return causal() & (torch.arange(LENGTH) < kv_len[:, None])[:, None, None, :]


def by_prefix(prefix_len):
    return causal() | (torch.arange(LENGTH) < prefix_len[:, None])[:, None, None, :]


def by_document(document):
    return causal() & (document[:, :, None] == document[:, None, :])[:, None]


def window():
    position = torch.arange(LENGTH)
    before = position[:, None] - position[None, :]
    return (before >= 0) & (before <= 3)


CONTEXT = ["context"]
CASES = {
    "bidirectional": lambda: (Attention(), qkv(), CONTEXT),
    "causal_padded": lambda: (Attention(by_lengths),
                              {**qkv(), "kv_len": torch.tensor([7, 4], dtype=torch.int32)}, CONTEXT),
    "multi_query": lambda: (MultiQuery(), {"query": heads(length=3), "key": heads(1), "value": heads(1)},
                            CONTEXT),
    "prefix": lambda: (Attention(by_prefix),
                       {**qkv(), "prefix_len": torch.tensor([0, 4], dtype=torch.int32)}, CONTEXT),
    "documents": lambda: (Attention(by_document),
                          {**qkv(), "document": torch.tensor([[0, 0, 0, 1, 1, 1, 1], [5, 5, 2, 2, 2, 9, 9]],
                                                             dtype=torch.int32)}, CONTEXT),
    "sliding_window": lambda: (Attention(window), qkv(), CONTEXT),
    "t5": lambda: (T5(), qkv(batch=1, length=40), CONTEXT),  # beyond the last distance
    "sink": lambda: (Sink(), qkv(), CONTEXT),
    "sigmoid": lambda: (Sigmoid(), qkv(), CONTEXT),
    "differential": lambda: (Differential(),
                             {"query_1": heads(), "key_1": heads(), "query_2": heads(), "key_2": heads(),
                              "value": heads(width=32)}, CONTEXT),
}
