"""Checks a file of weights by the rules of safetensors, and writes wrong ones.

usage: break-weights.py FILE FOLDER
"""

import hashlib
import json
import os
import struct
import sys

file, folder = sys.argv[1:]
with open(file, "rb") as stream:
    whole = stream.read()
begin = 8 + struct.unpack("<Q", whole[:8])[0]
header, data = json.loads(whole[8:begin]), whole[begin:]
metadata = header.pop("__metadata__")
assert begin % 64 == 0
assert hashlib.sha256(data).hexdigest() == metadata["sha256"]
end = 0
for tensor in header.values():  # no room between them
    assert tensor["data_offsets"][0] == end
    end = tensor["data_offsets"][1]
    print(tensor["dtype"], tensor["shape"], "at", tensor["data_offsets"][0])
assert end == len(data)


def write(name, content):
    with open(os.path.join(folder, name), "wb") as stream:
        stream.write(content)


write("empty", b"")
write("other", whole.replace(b'"1"', b'"2"', 1))
write("hash", whole.replace(metadata["sha256"].encode(), b"0" * 64, 1))
write("data", whole[:-1] + bytes([whole[-1] ^ 1]))
write("short", whole[:-1])
write("long", whole + b"\0")
os.mkfifo(os.path.join(folder, "pipe"))
