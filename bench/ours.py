"""Our own side of the comparison: a case compiled by attnc, called from Python."""

import ctypes
import glob
import json
import os
import subprocess

import numpy as np

NAME = "attnc"


class _Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class _Type(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    """DLPack's DLTensor."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _Type),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


_CODES = {"i": 0, "f": 2, "b": 6}  # numpy's kinds as DLDataTypeCode


def _tensor(array):
    """An array as a DLTensor, which borrows its memory."""
    shape = (ctypes.c_int64 * array.ndim)(*array.shape)
    strides = (ctypes.c_int64 * array.ndim)(*(s // array.itemsize for s in array.strides))
    element = _Type(_CODES[array.dtype.kind], 8 * array.itemsize, 1)
    return _Tensor(array.ctypes.data, _Device(1, 0), array.ndim, element, shape, strides, 0)


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


def build(case, arrays, options, folder):
    """Compiles the case; returns the path of a shared library."""
    spec = os.path.join(folder, "spec.mlir")
    with open(spec, "w") as file:
        file.write(case.spec(arrays))
    command = [options.attnc, "compile", spec, "-o", folder, "--name", "kernel", "--emit", "shared_library"]
    if weights := {name: array for name, array in arrays.items() if case.is_weight(name)}:
        command += ["--weights", os.path.join(folder, "weights.safetensors")]
        write_weights(weights, command[-1])
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    library, = glob.glob(os.path.join(folder, "*.so"))
    return library


def prepare(case, arrays, options, folder):
    """A function that runs the case once and returns its result."""
    library = ctypes.CDLL(build(case, arrays, options, folder))
    library.kernel_last_error.restype = ctypes.c_char_p
    result = np.empty(case.output_shape(), np.float32)
    inputs = [array for name, array in arrays.items() if not case.is_weight(name)]
    arguments = [ctypes.byref(_tensor(array)) for array in (*inputs, result)]

    def call():
        if library.kernel(*arguments) != 0:
            raise RuntimeError(library.kernel_last_error().decode())
        return result

    return call
