"""Writes a safetensors file of small known tensors, or a broken one.

usage: write.py FILE [HEADER | --only NAME...]

HEADER takes the place of the JSON header as it is; its length is written before it. --only: a file of those tensors.
"""

import json
import struct
import sys

import numpy as np

TENSORS = {
    "weight": ("F32", np.arange(12, dtype="<f4").reshape(3, 4)),
    "bias": ("F32", np.array([10, 20, 30], "<f4")),
    "half": ("F16", np.array([1, 2], "<f2")),
    "brain": ("BF16", np.array([0x3F80, 0x4000], "<u2")),
    "double": ("F64", np.array([0.5, 0.25], "<f8")),
    "long": ("I64", np.array([-1, 1], "<i8")),
    "flags": ("BOOL", np.array([True, False])),
}

path, *given = sys.argv[1:]
if given[:1] == ["--only"]:
    TENSORS = {name: TENSORS[name] for name in given[1:]}
    given = []
data = b"".join(array.tobytes() for _, array in TENSORS.values())
header, begin = {"__metadata__": {"format": "test"}}, 0
for name, (dtype, array) in TENSORS.items():
    end = begin + array.nbytes
    header[name] = {"dtype": dtype, "shape": array.shape, "data_offsets": [begin, end]}
    begin = end
text = (given[0] if given else json.dumps(header)).encode()
with open(path, "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + data)
