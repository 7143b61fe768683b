"""Our own side of the comparison: a case compiled by attnc, called from Python."""

import ctypes
import glob
import os
import subprocess

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


def _tensor(array):
    """A row-major float32 array as a DLTensor, which borrows its memory."""
    shape = (ctypes.c_int64 * array.ndim)(*array.shape)
    strides = (ctypes.c_int64 * array.ndim)(*(s // array.itemsize for s in array.strides))
    return _Tensor(array.ctypes.data, _Device(1, 0), array.ndim, _Type(2, 32, 1), shape, strides, 0)


def build(case, options, folder):
    """Compiles the case; returns the path of a shared library."""
    spec, library = os.path.join(folder, "spec.mlir"), os.path.join(folder, "kernel.so")
    with open(spec, "w") as file:
        file.write(case.spec)
    subprocess.run([options.attnc, "compile", spec, "-o", folder, "--name", "kernel"], check=True)
    archive, = glob.glob(os.path.join(folder, "*.a"))
    subprocess.run([options.cc, "-shared", "-o", library, "-Wl,--whole-archive", archive,
                    "-Wl,--no-whole-archive", "-lm", "-lpthread", "-ldl"], check=True)
    return library


def prepare(case, arrays, options, folder):
    """A function that runs the case once, into arrays["context"]."""
    library = ctypes.CDLL(build(case, options, folder))
    library.kernel_last_error.restype = ctypes.c_char_p
    names = ("query", "key", "value", "context")
    arguments = [ctypes.byref(_tensor(arrays[name])) for name in names]

    def call():
        if library.kernel(*arguments) != 0:
            raise RuntimeError(library.kernel_last_error().decode())
        return arrays["context"]

    return call
