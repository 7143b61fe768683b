"""Writes the weight of formulas.mlir as a safetensors file."""

import json
import sys

header = {"*/a weight/* whose name would end a comment and is too long for a line of it": {"dtype": "F32", "shape": [8, 8], "data_offsets": [0, 256]}}
text = json.dumps(header).encode()
with open(sys.argv[1], "wb") as file:
    file.write(len(text).to_bytes(8, "little") + text + bytes(256))
