"""Launches the kernel of pipeline.ptx, or of a copy of it with a mistake, and compares it with numpy.

usage: pipeline.py FILE.ptx
"""

import os
import subprocess
import sys

import numpy as np
from launch import TensorMap, launch
from warp import find_ptxas
from warpgroup import rows_of_lanes

TILE, ROWS = 16, 70  # of the last tile 6 rows


def main(path):
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-2, 3, (rows, 64)).astype(np.float16) for rows in (64, ROWS))
    tiles = -(-ROWS // TILE)
    got = launch(path, "pipeline", [TensorMap(a, [64, 64]), TensorMap(b, [TILE, 64]), np.empty((128, 8), np.float32), tiles],
                 13440, threads=256)[2]
    padded = np.zeros((tiles * TILE, 64), np.float32)
    padded[:ROWS] = b
    np.testing.assert_array_equal(rows_of_lanes(got), a.astype(np.float32) @ padded.reshape(tiles, TILE, 64).sum(0).T)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    assembled = subprocess.run([find_ptxas(), "-arch=sm_90a", sys.argv[1], "-o", os.devnull],
                               check=True, capture_output=True, text=True)
    sys.stdout.write(assembled.stdout + assembled.stderr)
    main(sys.argv[1])
