"""Our own side of the comparison: a case compiled by attnc, called from Python."""

import ctypes
import glob
import json
import os
import subprocess

import dlpack
import numpy as np
from work import DTYPES

NAME = "attnc"


def write_weights(weights, path):
    """A safetensors file: the length of a header, the header, all data."""
    header, end = {}, 0
    for name, array in weights.items():
        header[name] = {"dtype": "F32", "shape": array.shape, "data_offsets": (end, end + array.nbytes)}
        end += array.nbytes
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in weights.values():
            file.write(array.tobytes())


def write_spec(case, arrays, folder):
    path = os.path.join(folder, "spec.mlir")
    with open(path, "w") as file:
        file.write(case.spec(arrays))
    return path


def compile(spec, options, folder, *arguments):
    """Compiles without a cache into `folder`; returns CPU seconds."""
    before = os.times()
    subprocess.run([options.attnc, "compile", spec, "-o", folder, "--no-cache", *arguments],
                   check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return sum(after[2:4]) - sum(before[2:4])  # of children: user and system


class Options(ctypes.Structure):
    """NAME_options."""

    _fields_ = [("size", ctypes.c_size_t), ("workspace", ctypes.c_void_p),
                ("workspace_bytes", ctypes.c_size_t), ("threads", ctypes.c_int),
                *((name, ctypes.c_void_p) for name in ("parallel", "pool", "allocate", "deallocate", "allocator"))]


class Kernel:
    """A case compiled to a shared library, and loaded."""

    def __init__(self, case, arrays, options, folder):
        self.case = case
        arguments = ["--name", "kernel", "--emit", "shared_library"]
        weights = {name: array for name, array in arrays.items() if case.is_weight(name)}
        path = getattr(case, "weights", None)  # of a model that has a file already
        if weights:
            path = os.path.join(folder, "weights.safetensors")
            write_weights(weights, path)
        if path:
            arguments += ["--weights", path]
        self.compile_seconds = compile(write_spec(case, arrays, folder), options, folder, *arguments)
        file, = glob.glob(os.path.join(folder, "*.so"))
        self.library = ctypes.CDLL(file)
        self.library.kernel_last_error.restype = ctypes.c_char_p

    def bind(self, arrays, threads=1):
        """A function that runs the case once on these arrays and returns its result."""
        result = np.empty(self.case.output_shape(), DTYPES[self.case.element])
        inputs = [array for name, array in arrays.items() if not self.case.is_weight(name)]
        tensors = [dlpack.from_numpy(array) for array in (*inputs, result)]
        pointers = (ctypes.c_void_p * len(tensors))(*map(ctypes.addressof, tensors))
        options = Options(size=ctypes.sizeof(Options), threads=threads)

        def call(_borrowed=(arrays, tensors)):
            if self.library.kernel_call(ctypes.byref(options), pointers) != 0:
                raise RuntimeError(self.library.kernel_last_error().decode())
            return result

        return call
