"""Writes expected.npz: embeddings in float64 as PyTorch computes them, for batches of
random token ids of many lengths. Needs PyTorch; the test needs its result only.

usage: PYTHONPATH=examples/sentence_encoder expected.py
"""

import os

import model
import numpy as np
import torch
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
# (batch, len): the sentences of a batch have lengths from 1 to len, the first has all.
SHAPES = [(1, 1), (1, 7), (2, 33), (1, 128), (8, 128), (3, 200), (8, 49), (1, 512), (4, 511)]


def inputs(rng, batch, length):
    lengths = rng.integers(1, length + 1, batch)
    lengths[0] = length
    token_ids = rng.integers(0, 30522, (batch, length))
    attention_mask = (np.arange(length) < lengths[:, None]).astype(np.int64)
    return token_ids, attention_mask


def encode(w, token_ids, attention_mask):
    norm = lambda name, x: F.layer_norm(x, (384,), w[name + ".weight"], w[name + ".bias"], 1e-12)
    linear = lambda name, x: F.linear(x, w[name + ".weight"], w[name + ".bias"])
    split = lambda x: x.unflatten(-1, (model.HEADS, -1)).transpose(1, 2)
    positions = torch.arange(token_ids.shape[1])
    x = norm(
        "embeddings.LayerNorm",
        F.embedding(token_ids, w["embeddings.word_embeddings.weight"])
        + F.embedding(positions, w["embeddings.position_embeddings.weight"])
        + w["embeddings.token_type_embeddings.weight"][0],
    )
    visible = attention_mask.bool()[:, None, None, :]
    for layer in range(model.LAYERS):
        name = f"encoder.layer.{layer}"
        query, key, value = (
            split(linear(f"{name}.attention.self.{part}", x)) for part in ("query", "key", "value")
        )
        context = F.scaled_dot_product_attention(query, key, value, attn_mask=visible)
        attended = linear(f"{name}.attention.output.dense", context.transpose(1, 2).flatten(2))
        x = norm(f"{name}.attention.output.LayerNorm", x + attended)
        active = F.gelu(linear(f"{name}.intermediate.dense", x))
        x = norm(f"{name}.output.LayerNorm", x + linear(f"{name}.output.dense", active))
    kept = attention_mask[:, :, None]
    return F.normalize((x * kept).sum(1) / kept.sum(1), dim=-1)


def main():
    tensors = model.read_safetensors(os.path.join(model.folder(), "model.safetensors"))
    weights = {name: torch.from_numpy(t.astype(np.float64)) for name, t in tensors.items()}
    rng, arrays = np.random.default_rng(0), {}
    for batch, length in SHAPES:
        token_ids, attention_mask = inputs(rng, batch, length)
        embedding = encode(weights, torch.from_numpy(token_ids), torch.from_numpy(attention_mask))
        name = f"{batch}x{length}"
        arrays[name + "_token_ids"] = token_ids.astype(np.int16)
        arrays[name + "_lengths"] = attention_mask.sum(1).astype(np.int16)
        arrays[name + "_embedding"] = embedding.numpy()
    np.savez_compressed(os.path.join(HERE, "expected.npz"), **arrays)


if __name__ == "__main__":
    main()
