import numpy as np
from check import context, score, softmax

LENGTH = 70


def inputs(rng):
    return {"query": rng.standard_normal((2, 8, LENGTH, 64)), "key": rng.standard_normal((2, 2, LENGTH, 64)),
            "value": rng.standard_normal((2, 2, LENGTH, 64))}


def outputs(query, key, value):
    s = np.where(np.tri(LENGTH, dtype=bool), score(query, key) * 0.125, -np.inf)
    return {"context": context(softmax(s), value)}
