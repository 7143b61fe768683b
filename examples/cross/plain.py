from check import context, score, softmax


def inputs(rng):
    shapes = {"query": (2, 4, 49, 64), "key": (2, 4, 129, 64), "value": (2, 4, 129, 96)}
    return {name: rng.standard_normal(shape) for name, shape in shapes.items()}


def outputs(query, key, value):
    return {"context": context(softmax(score(query, key) * 0.125), value)}
