"""The limits of one core, measured beside the kernels: FMAs, and a plain read of the bytes that a kernel reads."""

import ctypes
import os
import subprocess
import tempfile
import time

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS = 100_000
PIECE = 1 << 12  # larger chunks are read so many bytes at a time
# How many bytes ahead are prefetched, how often, and with which locality (3 is L1, 2 is L2); what is fastest depends
# on the CPU and on the chunks.
FETCHES = [(0, 0, 2), (1 << 12, 1, 2), (1 << 13, 1, 2), (1 << 15, 1, 2), (1 << 15, 3, 2), (1 << 13, 1, 3),
           (3 << 12, 3, 3)]


def build():
    with tempfile.TemporaryDirectory() as folder:
        library = os.path.join(folder, "limits.so")
        subprocess.run([os.environ.get("CC", "cc"), "-O3", "-march=native", "-shared", "-fPIC",
                        os.path.join(HERE, "limits.c"), "-o", library], check=True)
        loaded = ctypes.CDLL(library)
    loaded.flops.restype = ctypes.c_double
    loaded.flops.argtypes = loaded.multiply_add.argtypes = [ctypes.c_int64]
    loaded.read_chunks.argtypes = [ctypes.c_void_p] + 5 * [ctypes.c_int64]
    return loaded


def pieces(addresses, size):
    """The chunks, those larger than a piece in pieces; what is left of one is not read."""
    if size <= PIECE:
        return addresses, size
    offsets = np.arange(size // PIECE, dtype=np.uint64) * np.uint64(PIECE)
    return (addresses[:, None] + offsets).ravel(), PIECE


class Limits:
    def __init__(self):
        self.library = build()
        self.flops = self.library.flops(STEPS)

    def multiply_add(self):
        self.library.multiply_add(STEPS)

    def reader(self, groups):
        """The fastest function that reads (addresses, bytes) of each group of equal chunks once."""
        lists = [pieces(np.ascontiguousarray(addresses, np.uint64), size) for addresses, size in groups]

        def read(ahead, fetches, locality):
            for addresses, size in lists:
                self.library.read_chunks(addresses.ctypes.data, addresses.size, size - size % 256,
                                         max(1, ahead // size), fetches, locality)

        def seconds(variant):
            start = time.perf_counter()
            read(*variant)
            return time.perf_counter() - start

        fastest = min(FETCHES, key=lambda variant: min(seconds(variant) for _ in range(3)))
        return lambda: read(*fastest)
