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


def copy_to_device(cuda, array, offset):
    """A tensor of CUDA's, `offset` elements behind where memory begins."""
    memory = ctypes.c_uint64()
    assert cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(array.nbytes + 2 * offset)) == 0
    place = memory.value + 2 * offset  # this driver's memory is the CPU's
    ctypes.memmove(place, array.ctypes.data, array.nbytes)
    view = dlpack.from_numpy(array)
    view.data, view.device = place, dlpack.Device(dlpack.CUDA, 0)
    return view


def call_on_device(library):
    """Addresses that are multiples of 16 bytes, and others."""
    cuda, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
    assert cuda.cuCtxCreate_v2(ctypes.byref(context)) == 0
    x = np.arange(64, dtype=np.float16).reshape(1, 1, 64)
    for name, offset, added in ("even address", 8, 0), ("odd address", 4, 1):
        tensors = [copy_to_device(cuda, array, offset) for array in (x, np.zeros_like(x))]
        status = getattr(library, "pass")(*map(ctypes.byref, tensors))
        y = np.frombuffer(ctypes.string_at(tensors[1].data, x.nbytes), np.float16)
        print(f"{name}:", library.pass_last_error().decode() if status else "right" if np.array_equal(y, x.ravel() + added) else y)


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
    call_on_device(library)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
