"""Writes the weights of layers.mlir. usage: write-layers.py FILE"""

import json
import struct
import sys

import numpy as np

rng = np.random.default_rng(0)
TENSORS = {
    "up": ("F32", rng.standard_normal((96, 64)).astype("<f4")),
    "up_bias": ("F32", rng.standard_normal(96).astype("<f4")),
    "keep": ("BOOL", rng.integers(0, 2, (5, 96)).astype(bool)),
    "shift": ("F32", rng.standard_normal((5, 1)).astype("<f4")),
}

header, data = {}, b""
for name, (dtype, array) in TENSORS.items():
    end = len(data) + array.nbytes
    header[name] = {"dtype": dtype, "shape": array.shape, "data_offsets": [len(data), end]}
    data += array.tobytes()
text = json.dumps(header).encode()
with open(sys.argv[1], "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + data)
