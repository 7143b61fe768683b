"""Runs the sentence encoder in bf16, weights and all, as one library, on two sentences, and holds it to
attnc's error rule against float64. The first layer, on the words of a few tokens; the whole where
ATTNC_TEST_ALL is set.

usage: short.py FOLDER   (for what is compiled; ATTNC_CHECK_TARGET is the target)
"""

import json
import os
import re
import subprocess
import sys

import model
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
IS_WHOLE = bool(os.environ.get("ATTNC_TEST_ALL"))
LAYERS, TOKENS = (model.LAYERS, 33) if IS_WHOLE else (1, 7)
WORDS = "embeddings.word_embeddings.weight"


def write_spec(path, words):
    with open(os.path.join(os.path.dirname(model.__file__), "spec.mlir")) as file:
        text = re.sub(r"\bf32\b|(?<=x)f32", "bf16", file.read())
    with open(path, "w") as file:
        file.write(text.replace(f"@pool(%h{model.LAYERS},", f"@pool(%h{LAYERS},").replace("30522", str(words)))


def to_bf16(array):
    """The bits of the nearest bf16, of two the even one."""
    bits = array.view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def write_weights(path, tensors):
    header, parts, end = {}, [], 0
    for name, tensor in tensors.items():
        part = to_bf16(tensor).tobytes()
        begin, end = end, end + len(part)
        header[name] = {"dtype": "BF16", "shape": tensor.shape, "data_offsets": [begin, end]}
        parts.append(part)
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + b"".join(parts))


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    spec, weights, ids, mask = (os.path.join(folder, name)
                                for name in ("short.mlir", "short.safetensors", "ids.npy", "mask.npy"))
    tensors = model.read_safetensors(os.path.join(model.folder(), "model.safetensors"))
    with np.load(os.path.join(HERE, "expected.npz")) as data:
        token_ids = data["2x33_token_ids"].astype(np.int64)[:, :TOKENS]
        lengths = np.minimum(data["2x33_lengths"], [TOKENS, TOKENS - 2])
    if not IS_WHOLE:
        kept, token_ids = np.unique(token_ids, return_inverse=True)
        token_ids = token_ids.reshape(2, TOKENS)
        tensors[WORDS] = tensors[WORDS][kept]
    write_spec(spec, len(tensors[WORDS]))
    write_weights(weights, tensors)
    np.save(ids, token_ids)
    np.save(mask, (np.arange(TOKENS) < lengths[:, None]).astype(np.int64))
    command = ["attnc", "verify", spec, "--weights", weights, f"--input=token_ids=@{ids}", f"--input=attention_mask=@{mask}",
               "--target", os.environ["ATTNC_CHECK_TARGET"], "--no-cache"]
    return subprocess.run(command).returncode


if __name__ == "__main__":
    sys.exit(main())
