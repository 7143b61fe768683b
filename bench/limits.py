"""The limits of one core, measured beside the kernels: FMAs, and a plain read of the bytes that a kernel reads."""

import ctypes
import os
import subprocess
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS = 100_000
CHUNK = 1 << 16  # as much as a CPU prefetches well by itself
AHEAD = 1 << 13  # of smaller chunks, as many bytes are prefetched


def build():
    with tempfile.TemporaryDirectory() as folder:
        library = os.path.join(folder, "limits.so")
        subprocess.run([os.environ.get("CC", "cc"), "-O3", "-march=native", "-shared", "-fPIC",
                        os.path.join(HERE, "limits.c"), "-o", library], check=True)
        loaded = ctypes.CDLL(library)
    loaded.flops.restype = ctypes.c_double
    loaded.flops.argtypes = loaded.multiply_add.argtypes = [ctypes.c_int64]
    loaded.read_chunks.argtypes = [ctypes.c_void_p] + 3 * [ctypes.c_int64]
    return loaded


class Limits:
    def __init__(self):
        self.library = build()
        self.flops = self.library.flops(STEPS)

    def multiply_add(self):
        self.library.multiply_add(STEPS)

    def reader(self, groups):
        """A function that reads (addresses, bytes) of each group of equal chunks once."""
        lists = [(np.ascontiguousarray(addresses, np.uint64), size) for addresses, size in groups]

        def call():
            for addresses, size in lists:
                ahead = 0 if size >= CHUNK else max(1, AHEAD // size)
                self.library.read_chunks(addresses.ctypes.data, addresses.size, size - size % 256, ahead)

        return call
