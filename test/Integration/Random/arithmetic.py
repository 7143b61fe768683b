"""What the scalars of a region are, in numpy: exactly, or as a plain computation in the spec's types.

Integers are held in 64 bits, with the sign of their own width. Floats of the exact kind are never
rounded; plain ones are computed in f32 (f64 for f64) and rounded to their type by every op.
"""

import math

import numpy as np
from graph import FLOATS, WIDTHS

MOST_INDEX = 2**30  # what an index counts as that 64 bits held


def round_bf16(x):
    """f32 to the nearest bf16, ties to even, held as f32."""
    bits = np.asarray(x, np.float32).view(np.uint32)
    rounded = ((bits.astype(np.uint64) + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32)
    return np.where(np.isnan(x), np.float32(np.nan), rounded.view(np.float32))


class Arithmetic:
    """`exact` is the type that everything is computed in, or None for a plain computation.
    Each `order` adds up in another one. Where a region hides a score by -inf, what it adds to that -inf may
    count or not: with `keeps_hidden` it does not."""

    def __init__(self, exact=None, order=0, keeps_hidden=False):
        self.exact, self.order, self.keeps_hidden = exact, order, keeps_hidden

    def permutation(self, count):
        return np.random.default_rng(self.order).permutation(count)

    def work(self, element):
        return self.exact or (np.float64 if element == "f64" else np.float32)

    def hold(self, x, element):
        """A result as its type holds it."""
        if element not in FLOATS:
            return np.asarray(x, bool) if element == "i1" else wrap(x, WIDTHS[element])
        x = np.asarray(x, self.work(element))
        if self.exact or element in ("f32", "f64"):
            return x
        return round_bf16(x) if element == "bf16" else x.astype(np.float16).astype(np.float32)

    def product(self, x, y):
        """x @ y."""
        if x.shape[-1] == 0:
            return np.zeros(np.broadcast_shapes(x.shape[:-2], y.shape[:-2]) + (x.shape[-2], y.shape[-1]), x.dtype)
        if self.order:
            places = self.permutation(x.shape[-1])
            x, y = x[..., places], y[..., places, :]
        return x @ y

    def sum(self, x, axis, keepdims=False):
        if self.order:
            for at in np.atleast_1d(axis):
                x = np.take(x, self.permutation(x.shape[at]), at)
        return np.sum(x, axis=axis, keepdims=keepdims)


def wrap(x, width):
    """The low bits of an integer of 64, with their sign."""
    x = np.asarray(x, np.int64)
    return x if width == 64 else (x << (64 - width)) >> (64 - width)


def unsigned(x, width):
    x = np.asarray(x, np.int64).view(np.uint64)
    return x if width == 64 else x & np.uint64(2**width - 1)


def divide(x, y):
    """Rounded towards zero; y is not 0."""
    quotient = np.abs(x) // np.abs(y)
    return np.where((x < 0) != (y < 0), -quotient, quotient)


INTEGERS = {
    "addi": np.add, "subi": np.subtract, "muli": np.multiply,
    "maxsi": np.maximum, "minsi": np.minimum,
    "divsi": divide, "remsi": lambda x, y: x - divide(x, y) * y,
    "floordivsi": np.floor_divide, "ceildivsi": lambda x, y: -np.floor_divide(-x, y),
    "shli": np.left_shift, "shrsi": np.right_shift,
    "andi": np.bitwise_and, "ori": np.bitwise_or, "xori": np.bitwise_xor,
}
UNSIGNED = {
    "divui": np.floor_divide, "remui": np.remainder, "maxui": np.maximum, "minui": np.minimum,
    "ceildivui": lambda x, y: x // y + (x % y != 0), "shrui": np.right_shift,
}
COMPARISONS = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
               "ge": np.greater_equal}


def error_function(x):
    return np.vectorize(math.erf, otypes=[np.float64])(x).astype(x.dtype) if x.size else x


def number_or(select):
    """The largest or least of two, where one is NaN the other."""
    return lambda x, y: select(np.where(np.isnan(x), y, x), np.where(np.isnan(y), x, y))


FLOAT_OPS = {
    "addf": np.add, "subf": np.subtract, "mulf": np.multiply, "divf": np.divide, "negf": np.negative,
    "maximumf": np.maximum, "minimumf": np.minimum,
    "maxnumf": number_or(np.maximum), "minnumf": number_or(np.minimum),
    "absf": np.abs, "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2,
    "log10": np.log10, "log1p": np.log1p, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "cbrt": np.cbrt,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "erf": error_function, "atan2": np.arctan2,
    "powf": np.power, "copysign": np.copysign, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc,
    "roundeven": np.rint, "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite,
    "fma": lambda x, y, z: x * y + z,
}


class RegionEvaluation:
    """A region on arrays that broadcast. `read` gives the array of a tensor."""

    def __init__(self, arithmetic, read, known):
        self.arithmetic, self.read, self.known = arithmetic, read, dict(known)

    def value(self, scalar):
        if scalar not in self.known:
            operands = [self.value(operand) for operand in scalar.operands]
            result = self.compute(scalar, scalar.op.split(".")[1], operands)
            self.known[scalar] = self.arithmetic.hold(result, scalar.type)
        return self.known[scalar]

    def compute(self, scalar, op, x):
        if op == "constant":
            return self.constant(scalar)
        if op == "extract":
            return self.extract(self.read(scalar.attribute), x)
        if op == "dim":
            return self.read(scalar.attribute[0]).shape[scalar.attribute[1]]
        if op == "select":
            return np.where(*x)
        if op == "cmpi":
            return self.compare(scalar, x)
        if op == "cmpf":
            return COMPARISONS[scalar.attribute[1:]](*x)
        if op in UNSIGNED:
            return np.asarray(UNSIGNED[op](*(unsigned(y, WIDTHS[scalar.type]) for y in x))).view(np.int64)
        if op in INTEGERS:
            return INTEGERS[op](*x)
        if op in FLOAT_OPS:
            result = FLOAT_OPS[op](*x)
            if self.arithmetic.keeps_hidden and op in ("addf", "subf"):
                hidden = (x[0] == -np.inf) | (op == "addf") & (x[1] == -np.inf)
                result = np.where(hidden, -np.inf, result)
            return result
        return self.convert(scalar, op, x[0])

    def constant(self, scalar):
        value = scalar.attribute
        if scalar.is_float:  # a constant is of its type even in exact arithmetic
            return Arithmetic().hold(value, scalar.type)
        return np.clip(value, -MOST_INDEX, MOST_INDEX) if scalar.type == "index" else value

    def extract(self, table, index):
        """Of an empty table nothing is read that matters."""
        return table[tuple(index)] if table.size else np.zeros(np.broadcast_shapes(*(np.shape(i) for i in index)))

    def compare(self, scalar, x):
        predicate, width = scalar.attribute, WIDTHS[scalar.operands[0].type]
        if predicate[0] == "u":
            x = [unsigned(y, width) for y in x]
        elif width == 1:
            x = [-np.asarray(y, np.int64) for y in x]
        return COMPARISONS[predicate if len(predicate) == 2 and predicate in COMPARISONS else predicate[1:]](*x)

    def convert(self, scalar, op, x):
        from_type = scalar.operands[0].type
        if op in ("extf", "truncf"):
            return x
        if op in ("sitofp", "uitofp"):
            x = np.asarray(x, np.int64)
            if from_type == "i1" and op == "sitofp":
                x = -x
            return unsigned(x, WIDTHS[from_type]) if op == "uitofp" else x
        if op == "fptosi":
            return np.asarray(np.trunc(x), np.int64)
        x = np.asarray(x, np.int64)
        if op in ("extui", "index_castui"):
            x = unsigned(x, WIDTHS[from_type]).view(np.int64)
        elif from_type == "i1":
            x = -x
        if scalar.type == "index" and from_type == "i64":
            x = np.clip(x, -MOST_INDEX, MOST_INDEX)
        return x
