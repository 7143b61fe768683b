"""Makes the inputs of run.test, or checks its outputs."""

import sys

import numpy as np

command, folder = sys.argv[1:]
score = np.random.default_rng(1).standard_normal((3, 5)).astype(np.float32)
if command == "make":
    np.save(f"{folder}/score.npy", score)
    np.save(f"{folder}/fortran.npy", np.asfortranarray(score))
    with open(f"{folder}/version2.npy", "wb") as file:
        np.lib.format.write_array(file, score, version=(2, 0))
    np.save(f"{folder}/bools.npy", np.array([0, 1, 2, 128, 255], np.uint8).view(np.bool_))
else:
    weight = np.exp(score - score.max(-1, keepdims=True))
    expected = weight / weight.sum(-1, keepdims=True)
    for name in "c", "f", "v":
        found = np.load(f"{folder}/{name}.npy")
        assert found.dtype == np.float32 and found.shape == (3, 5)
        np.testing.assert_allclose(found, expected, rtol=1e-5)
