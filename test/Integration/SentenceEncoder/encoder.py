"""Runs the sentence encoder through attnc and compares it with what PyTorch computes in
float64 (expected.npz, written by expected.py).

usage: encoder.py SPEC [BATCH...]   (.mlir, or .onnx whose weights lie beside it; batches such
as 2x33, all where none is named)
"""

import os
import sys

import check
import model
import numpy as np

ALLOWED = 1e-5


def cases(path):
    """Token ids, attention mask and embedding of each batch, by its name."""
    data = np.load(path)
    for name in sorted({key.split("_")[0] for key in data.files}):
        token_ids = data[name + "_token_ids"].astype(np.int64)
        lengths = data[name + "_lengths"][:, None]
        attention_mask = (np.arange(token_ids.shape[1]) < lengths).astype(np.int64)
        yield name, token_ids, attention_mask, data[name + "_embedding"]


def main():
    spec, good = sys.argv[1], True
    result, options = "embedding", ["--weights", os.path.join(model.folder(), "model.safetensors")]
    if spec.endswith(".onnx"):
        result, options = "sentence_embedding", []
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "expected.npz")
    for name, token_ids, attention_mask, expected in cases(path):
        if sys.argv[2:] and name not in sys.argv[2:]:
            continue
        inputs = {"token_ids": token_ids, "attention_mask": attention_mask}
        found = check.run_attnc(spec, inputs, [result], *options)[result]
        error = np.abs(found - expected).max()
        good &= bool(error <= ALLOWED)  # false for NaN
        print(f"{name}: error {error:.2e}, allowed {ALLOWED:.0e}" + ("" if error <= ALLOWED else "  WRONG"))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
