"""Launches a kernel of warp.ptx, or of a copy of it with a mistake, and compares it with numpy.

usage: warp.py FILE.ptx product|product_bf16|tell
"""

import os
import subprocess
import sys

import numpy as np
from launch import launch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from ptxas import find_ptxas  # noqa: E402


def check_product(path, of_f32):
    """Sums of 16 products of whole numbers, which are exact."""
    rng = np.random.default_rng(0)
    a = rng.integers(-8, 9, (16, 16)).astype(np.float32)
    b = rng.integers(-8, 9, (16, 8)).astype(np.float32)
    got = launch(path, "product", [of_f32(a), of_f32(b), np.empty((2, 8, 8), np.float32)], 1024)[2]
    np.testing.assert_array_equal(got.reshape(16, 8), a @ b)


def bf16_of(numbers):
    return (numbers.view(np.uint32) >> 16).astype(np.uint16)


def check_tell(path):
    words = np.random.default_rng(0).integers(0, 1000, 32).astype(np.int32)
    got = launch(path, "tell", [words, np.empty((6, 32), np.int32)], 0)[1]
    lanes = np.arange(32)
    odd = words % 2 == 1
    np.testing.assert_array_equal(got[0], words[lanes ^ 1])
    np.testing.assert_array_equal(got[1], np.where(lanes % 16 == 0, -1, words[lanes - 1]))
    np.testing.assert_array_equal(got[2], np.where(lanes == 31, -1, words[(lanes + 1) % 32]))
    np.testing.assert_array_equal(got[3], words[lanes // 8 * 8 + 3])
    np.testing.assert_array_equal(got[4].view(np.uint32), np.sum(odd.astype(np.uint64) << lanes.astype(np.uint64)))
    np.testing.assert_array_equal(got[5], int(odd.any()) + 2 * int(odd.all()))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    path, kernel = sys.argv[1:]
    subprocess.run([find_ptxas(), "-arch=sm_80", path, "-o", os.devnull], check=True)
    if kernel == "tell":
        check_tell(path)
    else:
        check_product(path, bf16_of if kernel == "product_bf16" else np.float16)
