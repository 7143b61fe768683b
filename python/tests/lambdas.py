"""Scores and masks that attnc.attention is tested with. As numpy's functions and indexing mean the
same for arrays as for traced values, each is its own reference in float64."""

import math

import numpy as np

BATCH, HEADS, KV_HEADS, Q_LEN, KV_LEN, DIM = 2, 4, 2, 21, 37, 16

rng = np.random.default_rng(7)
slope = 2.0 ** -np.arange(1, HEADS + 1)  # f64, as numpy has it
slope_f32 = slope.astype(np.float32)
table = rng.standard_normal((HEADS, 81)).astype(np.float32)  # of relative positions -40 to 40
table_of_columns = np.asfortranarray(table)
reversed_slope = slope_f32[::-1]
bias = rng.standard_normal((BATCH, HEADS, Q_LEN, KV_LEN)).astype(np.float32)
bias_half = rng.standard_normal((HEADS, Q_LEN, KV_LEN)).astype(np.float16)
documents = np.sort(rng.integers(0, 4, (BATCH, KV_LEN)), 1)  # i64
documents_i32 = documents.astype(np.int32)
document_starts = np.array([0, 5, 6, 20, KV_LEN], np.int32)
present = rng.random((BATCH, KV_LEN)) < 0.7
is_global = np.arange(KV_LEN) % 9 == 0
visible = rng.random((Q_LEN, KV_LEN)) < 0.4
prefix = np.array([4, 11], np.int32)
lengths = np.array([9, KV_LEN])
offset = np.array(KV_LEN - Q_LEN)  # without dimensions
temperature = np.array(0.7, np.float32)
head_window = np.array([2, 5, 11, 64], np.int16)
permutation = rng.permutation(KV_LEN).astype(np.int32)
seed = np.array([12345678901, -3])
bucket = np.array([0, 1, 2, 3, 4, 4, 5, 5, 5, 5, 6, 6, 6, 6, 6, 6] + [7] * 32, np.int8)
bucket_bias = rng.standard_normal((8, HEADS)).astype(np.float32)
with_nan_f64 = np.where(np.arange(KV_LEN) == 5, np.nan, 0.0)
with_nan = with_nan_f64.astype(np.float32)

WIDTH = 6  # of the pictures that positions are taken to be
cap, infinity = 5.0, math.inf


def causal(b, h, q, k):
    return q >= k


def same_document(b, h, q, k, ids=documents):
    return ids[b, q] == ids[b, k]


def both(*masks):
    def mask(b, h, q, k):
        result = masks[0](b, h, q, k)
        for each in masks[1:]:
            result = result & each(b, h, q, k)
        return result

    return mask


def hash_of(b, h, q, k):
    x = (q * 2654435761) ^ (k * 40503 + h * 97 + b)
    x = (x ^ (x >> 7)) * 69069
    return x & 0xFFFF


class Slopes:
    def __init__(self, values):
        self.values = values

    def __call__(self, s, b, h, q, k):
        return s - self.values[h] * abs(q - k)


def t5_bucket(s, b, h, q, k):
    return s + bucket_bias[bucket[np.minimum(abs(q - k), 47)], h]


def xorshift(q, k):
    x = (q * 1664525 + k * 22695477 + 1013904223) & 0xFFFFFFFF
    for left, right in ((13, 17), (5, 9), (3, 11)):
        x = x ^ ((x << left) & 0xFFFFFFFF)
        x = x ^ (x >> right)
    return x


SCORES = {
    "alibi": lambda s, b, h, q, k: s - slope[h] * (q - k),
    "alibi of both sides": lambda s, b, h, q, k: s - slope_f32[h] * abs(q - k),
    "alibi of an object": Slopes(slope_f32),
    "relative table": lambda s, b, h, q, k: s + table[h, k - q + 40],
    "relative table, far ones alike": lambda s, b, h, q, k: s + table[h, np.minimum(np.maximum(k - q, -3), 3) + 40],
    "strided tables": lambda s, b, h, q, k: s * reversed_slope[h] + table_of_columns[h, k - q + 40],
    "table from its end": lambda s, b, h, q, k: s + table[h, k - q - 3] + table[-1 - h, 2 - documents[b, k]],
    "t5 buckets": t5_bucket,
    "logarithmic distance": lambda s, b, h, q, k: s - np.log(1 + abs(q - k) * 0.5),
    "softcap": lambda s, b, h, q, k: cap * np.tanh(s / cap),
    "softcap of some heads": lambda s, b, h, q, k: np.where(h % 2 == 0, np.tanh(s), s),
    "bias": lambda s, b, h, q, k: s + bias[b, h, q, k],
    "f16 bias": lambda s, b, h, q, k, table=bias_half: s * 2 + table[h, q, k],
    "temperature": lambda s, b, h, q, k: s / temperature,
    "position in powers": lambda s, b, h, q, k: s * 0.99 ** abs(q - k) + (h / 4) ** 2 - 2.0 ** -(k // 8),
    "rotating": lambda s, b, h, q, k: s * np.cos((q - k) / 7) + np.sin(k * 0.3) * np.exp(-abs(q - k) / 9),
    "remainders": lambda s, b, h, q, k: s + (q - k) % 5 * 0.25 - (q - k) // 4 * 0.5 + (k - q) % -3,
    "float remainders": lambda s, b, h, q, k: s + (s % 1.5) - (q - k) * 0.5 % 2 + (-k * 0.75) // 2,
    "hidden by infinity": lambda s, b, h, q, k: np.where((q >= k) | (k < 3), s, -infinity),
    "by a bool": lambda s, b, h, q, k: s + (q > k) * 0.5 - present[b, k] * 2 + is_global[k],
    "by bools of bools": lambda s, b, h, q, k: s + (present[b, k] + is_global[k]) * 0.5 - present[b, k] * (q > k) * 2,
    "of a constant": lambda s, b, h, q, k: s + 7 // (k - 40) * 0.25 + 7 % (k - 40) * 0.1 - 9 // documents_i32[b, 0 * k - 1],
    "permuted": lambda s, b, h, q, k: s + table[h, permutation[k]] * np.sqrt(permutation[permutation[k]] + 1),
    "constants": lambda s, b, h, q, k: np.maximum(np.minimum(s, 1), -1) - 1e-3 + (np.int64(5) < k) * np.float32(0.5),
}

MASKS = {
    "causal": causal,
    "causal, from the right": lambda b, h, q, k: k <= q + offset,
    "window": lambda b, h, q, k: (k <= q + offset) & (q + offset - k < 8),
    "window of a head": lambda b, h, q, k: abs(q - k) <= head_window[h],
    "documents": same_document,
    "causal documents": both(causal, same_document),
    "documents by their starts": lambda b, h, q, k: (k >= document_starts[documents_i32[b, q]]) & (k < document_starts[documents_i32[b, q] + 1]),
    "prefix": lambda b, h, q, k: (k <= q) | (k < prefix[b]),
    "block": lambda b, h, q, k: q // 5 == k // 5,
    "block and those before": lambda b, h, q, k: q // 5 >= k // 5,
    "dilated": lambda b, h, q, k: (q >= k) & ((q - k) % 3 == 0),
    "strided and local": lambda b, h, q, k: (abs(q - k) < 4) | (k % 8 == 7),
    "global tokens": lambda b, h, q, k: is_global[q] | is_global[k] | (abs(q - k) <= 2),
    "neighbourhood": lambda b, h, q, k: (abs(q // WIDTH - k // WIDTH) <= 1) & (abs(q % WIDTH - k % WIDTH) <= 2),
    "padded": lambda b, h, q, k: k < lengths[b],
    "left padded": lambda b, h, q, k: (k >= prefix[b]) & (k <= q + offset),
    "keys present": lambda b, h, q, k: present[b, k],
    "a table": lambda b, h, q, k: visible[q, k] ^ (h == 1),
    "hashed": lambda b, h, q, k: hash_of(b, h, q, k) % 100 < 80,
    "xorshift": lambda b, h, q, k: xorshift(q, k) % 10 != 0,
    "seeded": lambda b, h, q, k: ((q * 31 + k * 17 + seed[b]) % 7 < 5) & ~((h == 2) & (k > 30)),
    "shifts": lambda b, h, q, k: ((1 << (q & 15)) >> (k & 3)) & 5 != 1,
    "few rows": lambda b, h, q, k: (q % 4 != 1) & (q >= k),
    "nothing": lambda b, h, q, k: (q < 0) | (k >= 1000),
    "no NaN, compared": lambda b, h, q, k: (with_nan_f64[k] == with_nan_f64[k]) & ~(with_nan_f64[k] != with_nan_f64[q % 5]),
    "by a float": lambda b, h, q, k: k * 0.5 <= q / 3 + slope[h],
    "sparse head": lambda b, h, q, k: (h != 0) | (k == q),
}
