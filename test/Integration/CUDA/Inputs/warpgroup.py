"""Launches the kernel of warpgroup.ptx, or of a copy of it with a mistake, and compares it with numpy.

usage: warpgroup.py FILE.ptx f16|bf16
"""

import os
import subprocess
import sys

import numpy as np
from launch import launch
from warp import bf16_of, find_ptxas


def rows_of_lanes(fragments):
    """A matrix of 64 rows, of the numbers that the 128 threads of a warpgroup hold."""
    thread, number = np.indices(fragments.shape)
    rows = thread // 32 * 16 + thread % 32 // 4 + number // 2 % 2 * 8
    columns = number // 4 * 8 + thread % 4 * 2 + number % 2
    matrix = np.full((64, 2 * fragments.shape[1]), np.nan, np.float32)
    matrix[rows, columns] = fragments
    return matrix


def check_chain(path, of_f32):
    """Sums of products of whole numbers, which are exact; those of a and b are at most 256, which bf16 holds."""
    rng = np.random.default_rng(0)
    a, b, v = (rng.integers(-2, 3, shape).astype(np.float32) for shape in [(64, 64), (16, 64), (16, 128)])
    halves = np.stack([v[:, :64], v[:, 64:]])
    inputs = [np.ascontiguousarray(of_f32(x)) for x in (a, b, halves)]
    got = launch(path, "chain", inputs + [np.empty((128, 64), np.float32)], 14336, threads=128)[3]
    np.testing.assert_array_equal(rows_of_lanes(got), a @ b.T @ v)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    path, element = sys.argv[1:]
    assembled = subprocess.run([find_ptxas(), "-arch=sm_90a", path, "-o", os.devnull],
                               check=True, capture_output=True, text=True)
    sys.stdout.write(assembled.stdout + assembled.stderr)
    check_chain(path, bf16_of if element == "bf16" else np.float16)
