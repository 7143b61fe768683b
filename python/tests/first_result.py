"""Prints the time from `import attnc` to a first result."""

import time

start = time.perf_counter()
import attnc
import numpy as np

imported = time.perf_counter()
query, key, value = np.random.default_rng(0).standard_normal((3, 2, 8, 100, 64), dtype=np.float32)
slope = 2.0 ** -np.arange(1, 9)
attnc.attention(query, key, value, causal="bottom_right", score=lambda s, b, h, q, k: s - slope[h] * (q - k))
print(f"{time.perf_counter() - start:.2f} s to the first result, {imported - start:.2f} of them for the import")
