"""Writes the seeds of the fuzz targets: the project's own tests, and the inputs of test/fuzz
that were findings once or that reach far.

A spec's test becomes one seed for each of its parts, a model's is encoded, and of ONNX's own
tests every model is taken.
"""

import glob
import hashlib
import os
import re
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
TEST = os.path.dirname(HERE)
MOST_BYTES = 1 << 14


def read(path):
    with open(path, "rb") as file:
        return file.read()


def find(pattern):
    return sorted(glob.glob(os.path.join(TEST, pattern), recursive=True))


def spec_seeds(_):
    for path in find("**/*.mlir") + find("../examples/*/spec.mlir"):
        text = re.sub(rb"^ *// (RUN|CHECK|[A-Z_]+[-:]).*\n", b"", read(path), flags=re.M)
        for part in text.split(b"// -----\n"):
            if b"func.func" in part and len(part) < MOST_BYTES:
                yield part


def onnx_seeds(onnx):
    command = ["protoc", "--encode=onnx.ModelProto", "-I", onnx, "onnx-ml.proto"]
    for path in find("**/*.textproto"):
        with open(path, "rb") as text:
            done = subprocess.run(command, stdin=text, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if done.returncode == 0:
            yield done.stdout
    for path in sorted(glob.glob(os.path.join(onnx, "backend/test/data/node/*/model.onnx"))):
        yield read(path)


def call_seeds(_):
    # Regular calls of each library, then bytes that change more and more of them.
    for library in range(4):
        for value in (0, 1, 4, 17, 129, 145, 200):
            yield bytes([library]) + bytes([value]) * 64


SEEDS = {"spec": spec_seeds, "onnx": onnx_seeds, "call": call_seeds}


def write(target, folder, onnx):
    """Writes the seeds of `target`, of models with the help of the folder with ONNX's own tests."""
    os.makedirs(folder, exist_ok=True)
    kept = [read(path) for path in find(f"fuzz/{target}/*") if not path.endswith(".textproto")]
    for seed in kept + list(SEEDS.get(target, lambda _: [])(onnx)):
        if len(seed) <= MOST_BYTES:
            with open(os.path.join(folder, hashlib.sha1(seed).hexdigest()), "wb") as file:
                file.write(seed)
