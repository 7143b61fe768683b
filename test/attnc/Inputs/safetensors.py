"""Prints names, types, shapes and sizes of the tensors of a safetensors file."""

import json
import struct
import sys

with open(sys.argv[1], "rb") as file:
    (length,) = struct.unpack("<Q", file.read(8))
    header, data = json.loads(file.read(length)), file.read()
del header["__metadata__"]
assert max(tensor["data_offsets"][1] for tensor in header.values()) == len(data)
for name, tensor in header.items():
    begin, end = tensor["data_offsets"]
    print(name, tensor["dtype"], tensor["shape"], end - begin, "bytes")
