"""Calls a library of shared-memory.mlir, before and after it released its kernels, and prints the target
whose code ran.

usage: capabilities.py LIBRARY   (where libcuda.so.1 is found, which on-cpu sees to)
"""

import ctypes
import os
import sys

import numpy as np

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../../bench"))
import dlpack  # noqa: E402


def main(path):
    library = ctypes.CDLL(path)
    library.f_last_error.restype = library.f_target.restype = ctypes.c_char_p
    x, y = np.arange(40, dtype=np.float32), np.zeros(40, np.float32)
    for _ in range(2):
        y[:] = 0
        status = library.f(*(ctypes.byref(dlpack.from_numpy(array)) for array in (x, y)))
        library.f_release(None)
    print(status, library.f_last_error().decode() if status else library.f_target().decode(), np.array_equal(x, y))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
