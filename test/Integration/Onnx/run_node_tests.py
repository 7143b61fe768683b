"""Runs the ONNX project's own node tests of attention through `attnc run`.

usage: run_node_tests.py [--constants] DATA PATTERN...

DATA is the folder `node` of the onnx wheel's test data; a pattern is one of fnmatch's, and
`!PATTERN` takes tests out again. A third of the tests that were asked for, or all with
`./dev test --all`, are run and named; the script fails if one of them fails or if there is none. Tolerances are the suite's own. With --constants
all inputs but the first are initializers, for ops that must know them when compiled.
"""

import concurrent.futures
import fnmatch
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from onnx_wire import read_varint

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from sample import sample  # noqa: E402

RTOL, ATOL = 1e-3, 1e-7
DTYPES = {1: "f4", 3: "i1", 5: "i2", 6: "i4", 7: "i8", 9: "?", 10: "f2", 11: "f8"}


def read_fields(data):
    """The fields of a protobuf message: (number, value)."""
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        if key & 7 == 0:
            value, at = read_varint(data, at)
        else:
            assert key & 7 == 2, "expected a varint or bytes"
            size, at = read_varint(data, at)
            value, at = data[at : at + size], at + size
        yield key >> 3, value


def read_varints(value):
    """A repeated integer, packed or not."""
    if isinstance(value, int):
        return [value]
    values, at = [], 0
    while at < len(value):
        item, at = read_varint(value, at)
        values.append(item)
    return values


def read_tensor(path):
    """Name and array of a TensorProto that holds raw data, as these tests do."""
    name, dims, dtype, raw = "", [], None, b""
    for number, value in read_fields(path.read_bytes()):
        if number == 1:
            dims += read_varints(value)
        elif number == 2:
            dtype = DTYPES[value]
        elif number == 8:
            name = value.decode()
        elif number == 9:
            raw = value
    return name, np.frombuffer(raw, dtype).reshape(dims)


def read_set(folder, kind):
    files = sorted(folder.glob(f"{kind}_*.pb"), key=lambda f: int(f.stem.split("_")[1]))
    return [read_tensor(f) for f in files]


def compare(name, ours, expected):
    if ours.shape != expected.shape or ours.dtype != expected.dtype:
        return f"{name}: expected {expected.dtype}{expected.shape}, found {ours.dtype}{ours.shape}"
    if not np.allclose(ours, expected, RTOL, ATOL, equal_nan=True):
        error = np.abs(ours.astype("f8") - expected.astype("f8"))
        return f"{name}: the largest error is {np.nanmax(error):.3g}"
    return None


def write_field(number, value):
    size, varint = len(value), b""
    while size > 127:
        varint, size = varint + bytes([size & 127 | 128]), size >> 7
    return bytes([number << 3 | 2]) + varint + bytes([size]) + value


def add_initializers(model, files):
    """The model with tensors as initializers: what follows a message is merged into it."""
    graph = b"".join(write_field(5, file.read_bytes()) for file in files)
    return model.read_bytes() + write_field(7, graph)


def run_test(attnc, folder, constants):
    """None, or what went wrong."""
    with tempfile.TemporaryDirectory() as scratch:
        model, inputs = folder / "model.onnx", read_set(folder / "test_data_set_0", "input")
        if constants:
            files = [folder / f"test_data_set_0/input_{i}.pb" for i in range(1, len(inputs))]
            whole = add_initializers(model, files)
            model, inputs = pathlib.Path(scratch, "model.onnx"), inputs[:1]
            model.write_bytes(whole)
        command = [attnc, "run", model]
        for name, array in inputs:
            np.save(f"{scratch}/in_{name}.npy", array)
            command += ["--input", f"{name}=@{scratch}/in_{name}.npy"]
        outputs = read_set(folder / "test_data_set_0", "output")
        for name, _ in outputs:
            command += ["--output", f"{name}=@{scratch}/out_{name}.npy"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            return (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[0]
        wrong = [compare(n, np.load(f"{scratch}/out_{n}.npy"), e) for n, e in outputs]
        return next((text for text in wrong if text), None)


def select(data, patterns):
    names = sorted(f.name for f in data.iterdir() if (f / "model.onnx").exists())
    chosen = []
    for name in names:
        matches = [not p.startswith("!") for p in patterns if fnmatch.fnmatch(name, p.lstrip("!"))]
        if matches and matches[-1]:
            chosen.append(name)
    return chosen


def main():
    constants = "--constants" in sys.argv
    data, *patterns = [argument for argument in sys.argv[1:] if argument != "--constants"]
    data = pathlib.Path(data)
    attnc = os.environ.get("ATTNC", "attnc")
    names = sample(select(data, patterns))
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        results = list(pool.map(lambda name: run_test(attnc, data / name, constants), names))
    for name, wrong in zip(names, results):
        print(f"FAIL {name}: {wrong}" if wrong else f"pass {name}")
    failed = sum(wrong is not None for wrong in results)
    print(f"{len(names) - failed} passed, {failed} failed")
    sys.exit(1 if failed or not names else 0)


if __name__ == "__main__":
    main()
