import numpy as np
from check import context, score, softmax


def inputs(rng):
    return {name: rng.standard_normal((2, 8, 129, 64)) for name in ("query", "key", "value")}


def outputs(query, key, value):
    s = score(query, key) * 0.125
    q, k = np.ogrid[: s.shape[2], : s.shape[3]]
    return {"context": context(softmax(np.where(k <= q, s, -np.inf)), value)}
