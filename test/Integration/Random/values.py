"""What the calls of a graph are given: normal numbers, NaN and Inf anywhere, integers at their edges."""

import numpy as np
from arithmetic import Arithmetic
from graph import FLOATS

TYPES = {"f16": np.float16, "bf16": np.float32, "f32": np.float32, "f64": np.float64, "i1": np.bool_,
         "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64}
KINDS = ("normal", "edges", "special", "large")


def draw_inputs(graph, seed, call):
    """Arrays by the argument's name; bf16 is held as f32."""
    rng, sizes = np.random.default_rng([seed, call]), graph.sizes(call)
    kind = KINDS[call % len(KINDS)]
    return {a.tensor.name: draw_array(a, [sizes.get(dim, dim) for dim in a.tensor.dims], sizes, rng, kind)
            for a in graph.arguments}


def draw_array(argument, shape, sizes, rng, kind):
    element = argument.tensor.element
    if element in FLOATS:
        return draw_floats(argument, shape, rng, kind)
    if element == "i1":
        return rng.random(shape) < (rng.choice([0.0, 0.05, 1.0]) if kind == "edges" else 0.7)
    return np.asarray(draw_integers(argument, shape, sizes, rng, kind), TYPES[element])


def draw_floats(argument, shape, rng, kind):
    scale = argument.scale * (8 if kind == "large" and len(shape) == 4 else 1)
    values = np.asarray(scale * rng.standard_normal(shape), np.float32)
    if kind == "special" and not argument.finite and values.size and rng.random() < 0.5:
        count = int(rng.integers(1, 1 + max(1, values.size // 30)))
        values.reshape(-1)[rng.integers(0, values.size, count)] = rng.choice([np.nan, np.inf, -np.inf], count)
    if kind == "edges" and values.size:
        values.reshape(-1)[rng.integers(0, values.size, 3)] = rng.choice([0.0, -0.0, 1e-30, 100.0], 3)
    return np.asarray(Arithmetic().hold(values, argument.tensor.element), TYPES[argument.tensor.element])


def draw_integers(argument, shape, sizes, rng, kind):
    low, high = argument.low, argument.high
    if argument.room:
        all_, new = (sizes.get(dim, dim) for dim in argument.room)
        low, high = 0, all_ - new
    if kind == "edges":
        return rng.choice([low, high, *argument.extremes, *([0] if low <= 0 <= high else [])], shape)
    values = rng.integers(low, high, shape, np.int64, endpoint=True)
    if argument.extremes and kind == "special":
        return np.where(rng.random(shape) < 0.5, rng.choice(argument.extremes, shape), values)
    return values
