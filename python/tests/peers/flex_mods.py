"""Mods of FlexAttention: those of attention-gym (github.com/meta-pytorch/attention-gym, attn_gym/masks and attn_gym/mods)
and of PyTorch's tests (test/inductor/test_flex_attention.py, test_flex_decoding.py), by their formulas."""

import math

import torch

BATCH, HEADS, Q_LEN, KV_LEN, DIM = 2, 4, 24, 40, 16

torch.manual_seed(11)
slopes = torch.exp2(-((torch.arange(HEADS) + 1) * 8.0 / HEADS))
table = torch.randn(HEADS, 2 * KV_LEN)
bias = torch.randn(BATCH, HEADS, Q_LEN, KV_LEN)
bias_2d = torch.randn(Q_LEN, KV_LEN)
bias_1d = torch.randn(KV_LEN)
half_bias = torch.randn(HEADS, KV_LEN).half()
head_scale, batch_bias = torch.rand(HEADS) + 0.5, torch.randn(BATCH)
temperature = torch.tensor(0.7)
documents = torch.sort(torch.randint(0, 4, (BATCH, KV_LEN)), 1)[0]
document_ids = documents[0].to(torch.int32)
document_offsets = torch.tensor([0, 7, 8, 21, KV_LEN])
lengths, prefix = torch.tensor([9, KV_LEN]), torch.tensor([4, 11], dtype=torch.int32)
shown = torch.rand(Q_LEN, KV_LEN) < 0.5
is_global = torch.arange(KV_LEN) % 9 == 0
permutation = torch.randperm(KV_LEN)
query_rope, key_rope = torch.randn(BATCH, HEADS, Q_LEN, 8), torch.randn(BATCH, 1, KV_LEN, 8)
buckets = torch.tensor([0, 1, 2, 3] + [4] * 4 + [5] * 8 + [6] * 16 + [7] * 32)
bucket_bias = torch.randn(8, HEADS)
WIDTH = 6  # of pictures
CHUNK = 5


class Capped(torch.nn.Module):
    def __init__(self, cap):
        super().__init__()
        self.register_buffer("cap", torch.tensor(cap))

    def forward(self, s, b, h, q, k):
        return self.cap * torch.tanh(s / self.cap)


def sandwich(s, b, h, q, k):
    distance = (q - k).abs()
    terms = [torch.cos(distance / 10000 ** (2 * i / 16)) for i in range(1, 4)]
    return s + (h + 1) * 8 / HEADS * (terms[0] + terms[1] + terms[2] - 3)


def rope(s, b, h, q, k):
    return s + torch.dot(query_rope[b, h, q], key_rope[b, h // HEADS, k]) / math.sqrt(8)


def trigonometric(s, b, h, q, k):
    return torch.sin(torch.cos(s)) + torch.tan(b)


def two_outputs_of_trigonometry(s, b, h, q, k):
    z = torch.cos(s) * torch.sin(s) + torch.tan(b)
    return z


def causal_in_score(s, b, h, q, k):
    return torch.where(q >= k, s, -float("inf"))


def bias_where_causal(s, b, h, q, k):
    return torch.where(k <= q, s + table[h, k - q + KV_LEN], s.new_full((), -1e4))


SCORES = {
    "identity": lambda s, b, h, q, k: s,
    "alibi": lambda s, b, h, q, k: s + slopes[h] * (k - q),
    "tanh softcap": lambda s, b, h, q, k: 3.0 * torch.tanh(s / 3.0),
    "tanh softcap of a module": Capped(4.0),
    "sandwich": sandwich,
    "rope of latent attention": rope,
    "activation score": lambda s, b, h, q, k: s + torch.sigmoid(s) - torch.relu(s - 1),
    "checkerboard": lambda s, b, h, q, k: torch.where(torch.abs(k - q) % 2 == 1, s * 0.5, torch.where(
        torch.abs(k - q) % 2 == 0, s * 2.0, s)),
    "causal": causal_in_score,
    "relative": lambda s, b, h, q, k: s + (q - k),
    "relative, causal": lambda s, b, h, q, k: torch.where(q >= k, s + (q - k), -float("inf")),
    "times two": lambda s, b, h, q, k: s * 2,
    "squared": lambda s, b, h, q, k: s * s,
    "head offset": lambda s, b, h, q, k: s * head_scale[h] + h / 8,
    "trigonometric": trigonometric,
    "trigonometric products": two_outputs_of_trigonometry,
    "bias of all": lambda s, b, h, q, k: s + bias[b, h, q, k],
    "bias by chained reads": lambda s, b, h, q, k: s + bias[b][h][q, k],
    "bias of rows": lambda s, b, h, q, k: s + bias_2d[q, k],
    "bias of a key": lambda s, b, h, q, k: s + bias_1d[k] - bias_1d[q],
    "bias of f16": lambda s, b, h, q, k: s + half_bias[h, k],
    "bias of a batch": lambda s, b, h, q, k: s + batch_bias[b],
    "relative table": lambda s, b, h, q, k: s + table[h, k - q + KV_LEN],
    "table from its end": lambda s, b, h, q, k: s + bias_1d[k - q - 1],
    "negative number as an index": lambda s, b, h, q, k: s + bias_1d[-1] * bias_2d[-2, k],
    "t5 buckets": lambda s, b, h, q, k: s + bucket_bias[buckets[torch.clamp((q - k).abs(), max=63)], h],
    "where of a table": bias_where_causal,
    "temperature": lambda s, b, h, q, k: s / temperature,
    "temperature on the left": lambda s, b, h, q, k: temperature * s + temperature,
    "permuted": lambda s, b, h, q, k: s + bias_1d[permutation[k]],
    "document distance": lambda s, b, h, q, k: s - (documents[b, q] - documents[b, k]).abs() * 0.25,
    "floor and remainder": lambda s, b, h, q, k: s + torch.div(q - k, 3, rounding_mode="floor") * 0.1 + (q - k) % 5 * 0.2
    + torch.remainder(k - q, 4) * 0.1,
    "clamp": lambda s, b, h, q, k: torch.clamp(s, -0.5, 1.0) + s.clamp(min=-1).exp().log1p(),
    "methods": lambda s, b, h, q, k: s.sub(0.5).mul(2).abs().sqrt() + (q >= k).to(s.dtype) - k.float() * 0.01,
    "double and back": lambda s, b, h, q, k: (s.double() + h.to(torch.float64) * 0.1).to(s.dtype),
    "masked fill": lambda s, b, h, q, k: s.masked_fill(k > q, float("-inf")),
    "logical": lambda s, b, h, q, k: torch.where(torch.logical_and(q > 3, torch.logical_not(k > 20)), s, s * 0.5),
    "powers": lambda s, b, h, q, k: s + torch.pow(0.9, (q - k).abs()) + s ** 2 * 0.1,
    "where, a method": lambda s, b, h, q, k: s.where(q > k, (q == k).where(h > 1, k < 4) * 0.5),
    "isfinite": lambda s, b, h, q, k: torch.where(torch.isfinite(torch.log(s)), s, torch.zeros_like(s)),
    "minimum": lambda s, b, h, q, k: torch.minimum(s, torch.maximum(s * 0.5, torch.full_like(s, 0.1))),
}


def natten(b, h, q, k):
    row, column = q // WIDTH, q % WIDTH
    return ((row.clamp(1, 5) - k // WIDTH).abs() <= 1) & ((column.clamp(1, WIDTH - 2) - k % WIDTH).abs() <= 1)


def tiled_natten(b, h, q, k):
    def place(x):  # tiles of 2 x 2
        tile, inside = x // 4, x % 4
        return tile // (WIDTH // 2) * 2 + inside // 2, tile % (WIDTH // 2) * 2 + inside % 2

    (row, column), (other_row, other_column) = place(q), place(k)
    return ((row - other_row).abs() <= 2) & ((column - other_column).abs() <= 2)


def sliding_tiles(b, h, q, k):
    q_tile, k_tile = q // 8, k // 8
    center = q_tile.clamp(1, 3)
    return ((center - k_tile).abs() <= 1) | (q >= 20)


def block_diffusion(b, h, q, k):
    half = 20
    q_noised, k_noised = q < half, k < half
    q_block = torch.where(q_noised, q // 4, (q - half) // 4)
    k_block = torch.where(k_noised, k // 4, (k - half) // 4)
    diagonal = (q_block == k_block) & (q_noised == k_noised)
    offset = (q_block > k_block) & ~k_noised & q_noised
    causal = (q_block >= k_block) & ~k_noised & ~q_noised
    return diagonal | offset | causal


def document_causal(b, h, q, k):
    start, other = document_offsets[document_ids[q]], document_offsets[document_ids[k]]
    return (document_ids[q] == document_ids[k]) & (q - start >= k - other)


def both(*masks):
    def mask(b, h, q, k):
        visible = b.new_ones((), dtype=torch.bool)
        for each in masks:
            visible = visible & each(b, h, q, k)
        return visible

    return mask


def causal(b, h, q, k):
    return q >= k


MASKS = {
    "no-op": lambda b, h, q, k: b.new_ones(size=(), dtype=torch.bool, device=b.device),
    "causal": causal,
    "causal, inverted": lambda b, h, q, k: q <= k,
    "causal from the right": lambda b, h, q, k: q + KV_LEN - Q_LEN >= k,
    "sliding window": both(causal, lambda b, h, q, k: q - k <= 6),
    "dilated sliding window": both(lambda b, h, q, k: q - k <= 12, lambda b, h, q, k: (q - k) % 3 == 0, causal),
    "global and sliding window": lambda b, h, q, k: ((q - k).abs() <= 3) | is_global[q] | is_global[k],
    "prefix": lambda b, h, q, k: (k < prefix[b]) | (q >= k),
    "documents": both(causal, lambda b, h, q, k: documents[b, q] == documents[b, k]),
    "documents by offsets": document_causal,
    "padding": lambda b, h, q, k: (k < lengths[b]) & (q < lengths[b]),
    "natten": natten,
    "tiled natten": tiled_natten,
    "sliding tiles": sliding_tiles,
    "block diffusion": block_diffusion,
    "chunked": both(causal, lambda b, h, q, k: q // CHUNK == k // CHUNK),
    "of a table": lambda b, h, q, k: shown[q, k],
    "of a head": lambda b, h, q, k: torch.where(h % 2 == 0, q >= k, k % 2 == 0),
    "rows that see nothing": lambda b, h, q, k: (q % 5 != 0) & (k < q),
    "dependent causal, both ways": lambda b, h, q, k: torch.where(k < prefix[b], q >= 0, k <= q),
    "exclusive or": lambda b, h, q, k: (q > k) ^ (h == 1),
    "not equal, in bits": lambda b, h, q, k: ((q & 3) != (k & 3)) | ~(q > 5),
    "paged": lambda b, h, q, k: (permutation[k] // 8 != 2) & (permutation[k] <= q + 16),
    "all false": lambda b, h, q, k: torch.zeros_like(q, dtype=torch.bool),
}
