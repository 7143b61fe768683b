import numpy as np
from check import context, score, softmax


def inputs(rng):
    arrays = {name: rng.standard_normal((1, 4, 77, 64)) for name in ("query", "key", "value")}
    arrays["query"] *= 20  # scores well beyond the cap
    return arrays


def outputs(query, key, value):
    s = 30 * np.tanh(score(query, key) * 0.125 / 30)
    q, k = np.ogrid[: s.shape[2], : s.shape[3]]
    return {"context": context(softmax(np.where(k <= q, s, -np.inf)), value)}
