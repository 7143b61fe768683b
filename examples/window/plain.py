import numpy as np
from check import context, score, softmax


def inputs(rng):
    return {name: rng.standard_normal((1, 4, 301, 64)) for name in ("query", "key", "value")}


def outputs(query, key, value):
    s = score(query, key) * 0.125
    q, k = np.ogrid[: s.shape[2], : s.shape[3]]
    visible = (-16 <= k - q) & (k - q <= 8)
    return {"context": context(softmax(np.where(visible, s, -np.inf)), value)}
