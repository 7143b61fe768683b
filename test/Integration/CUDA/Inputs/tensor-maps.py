"""Calls a library of tensor-maps.mlir, whose kernel `numbers` adds 1, on rows of several strides.

usage: tensor-maps.py LIBRARY   (where libcuda.so.1 is found, which on-cpu sees to)
"""

import ctypes
import os
import sys

import numpy as np

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../../bench"))
import dlpack  # noqa: E402

# Rows, the room of a row and of a batch in elements, and which kernel runs.
CASES = {"compact": ((2, 21), 64, 21 * 64, 0), "wide rows": ((3, 8), 72, 1000, 0), "one batch": ((1, 9), 64, 577, 0),
         "one row": ((1, 1), 65, 65, 0), "odd rows": ((2, 21), 68, 21 * 68, 1), "odd batches": ((2, 3), 64, 196, 1)}


def main(path):
    library = ctypes.CDLL(path)
    library.pass_last_error.restype = ctypes.c_char_p
    rng = np.random.default_rng(0)
    for name, ((batch, rows), row, room, added) in CASES.items():
        memory = rng.integers(-9, 9, (batch - 1) * room + rows * row).astype(np.float16)
        x = np.lib.stride_tricks.as_strided(memory, (batch, rows, 64), (2 * room, 2 * row, 2))
        y = np.full((batch, rows, 64), np.nan, np.float16)
        status = getattr(library, "pass")(*(ctypes.byref(dlpack.from_numpy(array)) for array in (x, y)))
        print(f"{name}:", library.pass_last_error().decode() if status else "right" if np.array_equal(y, x + added) else y)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
