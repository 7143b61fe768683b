import numpy as np
from check import context, score, softmax


def inputs(rng):
    shapes = {"query": (2, 8, 17, 64), "key": (2, 2, 100, 64), "value": (2, 2, 100, 64)}
    return {name: rng.standard_normal(shape) for name, shape in shapes.items()}


def outputs(query, key, value):
    s = score(query, key) * 0.125
    q, k = np.ogrid[: s.shape[2], : s.shape[3]]
    visible = k <= q + s.shape[3] - s.shape[2]
    return {"context": context(softmax(np.where(visible, s, -np.inf)), value)}
