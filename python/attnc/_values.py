"""Expressions of the indices and the score, recorded as Python computes with them.

A value has one of the types of a region's scalars; "float" is the one that scores are computed in.
Numbers of Python take the type of what they meet. Integers carry their range, which tells how an
index becomes a float and where a division rounds down by itself.
"""

import itertools

import numpy as np

from ._elements import FLOATS, WIDTHS
from ._refusals import Operators, user_line

MOST_POSITION = 2**29  # the largest size that kernels take
_FLOATS = ("float",) + FLOATS
_serial = itertools.count()


class Value(Operators):
    """The result of `op`: that of an arith or math op, or "argument", "constant", "extract" or "dim",
    which `data` says more of."""

    __slots__ = ("op", "type", "operands", "data", "low", "high", "serial")

    def __init__(self, op, type, operands=(), data=None, bounds=None):
        self.op, self.type, self.operands, self.data = op, type, operands, data
        self.serial = next(_serial)
        self.low = self.high = None
        if type in WIDTHS:
            least, most = range_of(type)
            low, high = bounds or (least, most)
            self.low, self.high = (low, high) if least <= low and high <= most else (least, most)  # which wraps around

    def __repr__(self):
        return f"<traced {self.type}>"


def range_of(type):
    return (0, 1) if type == "bool" else (-2 ** (WIDTHS[type] - 1), 2 ** (WIDTHS[type] - 1) - 1)


# The types of Python's own numbers, until they meet another one.
_INT, _REAL = "int of Python", "float of Python"


def lift(x):
    """A value of what may stand beside one; None where that is something else."""
    if isinstance(x, Value):
        return x
    if isinstance(x, Operators):
        return x.element()
    if isinstance(x, np.generic) or isinstance(x, np.ndarray) and x.ndim == 0:  # as numpy hands over scalars to compare
        x = x.item()
    if isinstance(x, bool):
        return Value("constant", "bool", data=x, bounds=(int(x), int(x)))
    if isinstance(x, int):
        return Value("constant", _INT, data=x)
    if isinstance(x, float):
        return Value("constant", _REAL, data=x)
    return None


def resolve(x):
    """Python's own number by itself."""
    return convert(x, {_INT: "index", _REAL: "float"}.get(x.type, x.type))


def constant(number, type):
    if type == "bool":
        return lift(bool(number))
    if type in _FLOATS:
        return Value("constant", type, data=float(number))
    number = int(number)
    least, most = range_of(type)
    if not least <= number <= most:
        raise OverflowError(f"{user_line()}expected an integer that {type} holds, found {number}")
    return Value("constant", type, data=number, bounds=(number, number))


def convert(x, type):
    """`x` as another type, as numpy's astype."""
    if x.type == type:
        return x
    if x.op == "constant":
        return constant(x.data, type)
    if x.type in _FLOATS:
        return _convert_float(x, type)
    if type == "bool":
        return compare("ne", x, constant(0, x.type))
    if type in _FLOATS:
        if x.type == "index":
            x = convert(x, "i32" if -(2**31) <= x.low and x.high < 2**31 else "i64")
        return Value("arith.uitofp" if x.type == "bool" else "arith.sitofp", type, (x,))
    if "index" in (x.type, type):
        op = "arith.index_castui" if x.type == "bool" else "arith.index_cast"
    else:
        op = "arith.extui" if x.type == "bool" else "arith.extsi" if WIDTHS[x.type] < WIDTHS[type] else "arith.trunci"
    return Value(op, type, (x,), bounds=(x.low, x.high))


def _convert_float(x, type):
    if type in _FLOATS:
        return Value("float_cast", type, (x,))
    if type == "bool":
        return compare("ne", x, constant(0, x.type))
    if type == "index":
        return convert(convert(x, "i64"), "index")
    return Value("arith.fptosi", type, (x,))


# Ordered but for "not equal", as in Python: NaN is unlike everything.
PREDICATES = {"lt": ("slt", "olt"), "le": ("sle", "ole"), "gt": ("sgt", "ogt"), "ge": ("sge", "oge"),
              "eq": ("eq", "oeq"), "ne": ("ne", "une")}


def compare(name, x, y):
    is_float = x.type in _FLOATS
    return Value("arith.cmpf" if is_float else "arith.cmpi", "bool", (x, y), data=PREDICATES[name][is_float])


def promote(x, y):
    """The type of both, where both are numbers of another type than Python's."""
    if x == y:
        return x
    floats = [type for type in (x, y) if type in _FLOATS]
    if not floats:
        return "index" if "index" in (x, y) else max(x, y, key=WIDTHS.get)
    if len(floats) == 1:
        return floats[0] if floats[0] in ("f32", "f64") else "float"
    return "f64" if "f64" in floats else "float" if "float" in floats else "f32"


def unify(*values, numeric=True):
    """The values as one type; `numeric`, a bool alone becomes a number."""
    types = [x.type for x in values]
    known = [type for type in types if type not in (_INT, _REAL)]
    type = known[0] if known else None
    for each in known[1:]:
        type = promote(type, each)
    if _REAL in types and type not in _FLOATS:
        type = "float"
    if type is None or type == "bool" and (numeric or _INT in types):
        type = "index"
    return [convert(x, type) for x in values]


def _position(name):
    return Value("argument", "index", data=name, bounds=(0, MOST_POSITION))


SCORE = Value("argument", "float", data="s")
POSITIONS = tuple(map(_position, "bhqk"))
q_len = Value("dim", "index", data=("query", 2), bounds=(0, MOST_POSITION))
kv_len = Value("dim", "index", data=("key", 2), bounds=(0, MOST_POSITION))
