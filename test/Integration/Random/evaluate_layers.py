"""What the ops around attention compute."""

import numpy as np
from graph import FLOATS


class LayerOps:
    def linear(self, op, x, weight, *bias):
        rows = x.reshape(-1, x.shape[-1]) if x.size else np.zeros((int(np.prod(x.shape[:-1])), x.shape[-1]), x.dtype)
        y = self.hold(self.a.product(rows, weight.T), op).reshape(x.shape[:-1] + weight.shape[:1])
        return y + bias[0] if bias else y

    def split_heads(self, op, x):
        if op.attributes["time_first"]:
            x = np.swapaxes(x, 0, 1)
        heads = self.graph.size(op.attributes["heads"])
        return np.swapaxes(x.reshape(*x.shape[:2], heads, x.shape[2] // heads), 1, 2)

    def merge_heads(self, op, x):
        y = np.swapaxes(x, 1, 2)
        y = y.reshape(*y.shape[:2], y.shape[2] * y.shape[3])
        return np.swapaxes(y, 0, 1) if op.attributes["time_first"] else y

    def layer_norm(self, op, x, *rows):
        if op.attributes["mode"] == "layer":
            x = x - self.a.sum(x, -1, keepdims=True) / x.dtype.type(x.shape[-1])
        square = self.a.sum(x * x, -1, keepdims=True) / x.dtype.type(x.shape[-1])
        y = self.hold(x / np.sqrt(square + x.dtype.type(op.attributes["epsilon"])), op)
        for name, row in zip(op.attributes["rows"], rows):
            y = self.hold(y * row if name == "scale" else y + row, op)
        return y

    def embedding(self, op, table, ids):
        return table[ids]

    def positions(self, op, x, *offset):
        which, base, width = op.attributes["which"], op.attributes["base"], x.shape[-1]
        column, position = np.arange(width), np.arange(x.shape[-2], dtype=np.float64)[:, None]
        if offset:
            position = position + offset[0].reshape([-1] + [1] * (x.ndim - 1))
        if which == "sinusoidal_by_column":
            exponent = column
        elif which == "rotary_halves":
            exponent = 2 * (column % (width // 2))
        else:
            exponent = column // 2 * 2
        angle = self.angle(position, exponent / width, base)
        sine, cosine = (f(angle).astype(x.dtype) for f in (np.sin, np.cos))
        if which.startswith("sinusoidal"):
            return x + np.where(column % 2 == 0, sine, cosine)
        other = (column + width // 2) % width if which == "rotary_halves" else column ^ 1
        return x * cosine + x[..., other] * np.where(column < other, -sine, sine)

    def angle(self, position, exponent, base):
        """In f64, as the op says; exactly, or by way of a logarithm."""
        if self.a.exact:
            return position.astype(np.longdouble) / np.longdouble(base) ** exponent.astype(np.longdouble)
        return position * np.exp(-exponent * np.log(base))

    def append_cache(self, op, cache, rows, length):
        result = cache.copy()
        for batch, start in enumerate(length):
            result[batch, :, start:start + rows.shape[2]] = rows[batch]
        return result

    def dropout(self, op, x, *seed):
        if not seed:
            return x
        rate = op.attributes["rate"]
        words = philox(np.arange(x.size, dtype=np.uint64), int(seed[0]) % 2**64).reshape(x.shape)
        return np.where(words < np.uint64(int(rate * 2**32)), 0, x / x.dtype.type(1 - rate))

    def reduce(self, op, x):
        which, axes, keep = op.attributes["which"], tuple(op.attributes["axes"]), op.attributes["keep_dims"]
        is_float, count = op.results[0].element in FLOATS, int(np.prod([x.shape[axis] for axis in axes]))
        if which in ("max", "min"):
            bits = {"i8": 8, "i16": 16, "i32": 32, "i64": 64}.get(op.results[0].element, 0)
            first = -np.inf if is_float else -2**(bits - 1)
            if which == "min":
                first = np.inf if is_float else 2**(bits - 1) - 1
            return getattr(np, which)(x, axis=axes, keepdims=keep, initial=first)
        if which == "prod":
            return np.prod(x, axis=axes, keepdims=keep)
        total = self.a.sum(x * x if which == "l2" else x, axes, keepdims=keep)
        return np.sqrt(total) if which == "l2" else total / x.dtype.type(count) if which == "mean" else total

    def transpose(self, op, x):
        return np.transpose(x, op.attributes["order"])


def philox(index, seed):
    """The first word of Philox2x32-10 for each index."""
    low = np.uint64(0xFFFFFFFF)
    first, second, key = index & low, (index >> np.uint64(32)) ^ np.uint64(seed >> 32), seed & 0xFFFFFFFF
    for _ in range(10):
        product = first * np.uint64(0xD256D193)
        first, second = (product >> np.uint64(32)) ^ np.uint64(key) ^ second, product & low
        key = (key + 0x9E3779B9) & 0xFFFFFFFF
    return first
