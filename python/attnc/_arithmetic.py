"""Records Python's operators."""

import numpy as np

from ._captured import Array
from ._elements import FLOATS, WIDTHS, is_array, short_name
from ._refusals import Operators, user_line
from ._values import _FLOATS, _INT, PREDICATES, Value, compare, constant, convert, lift, resolve, unify


def binary(name, x, y):
    left, right = x, y
    x, y = _lift_operand(left), _lift_operand(right)
    if x is None or y is None:
        return _refuse_operand(name, left if x is None else right)
    if name in PREDICATES:
        return compare(name, *unify(x, y, numeric=name not in ("eq", "ne")))
    if name in ("and", "or", "xor"):
        return _bitwise(name, *unify(x, y, numeric=False))
    if name == "pow":
        return _power(x, y)
    if name in ("add", "mul") and x.type == y.type == "bool":  # a bool, as of arrays
        return _bitwise("or" if name == "add" else "and", x, y)
    x, y = unify(x, y)
    if name == "truediv" and x.type not in _FLOATS:
        x, y = convert(x, "float"), convert(y, "float")
    return _float_arithmetic(name, x, y) if x.type in _FLOATS else _arithmetic(name, x, y)


def _lift_operand(x):
    return lift(Array(x) if not isinstance(x, (Operators, np.ndarray)) and is_array(x) else x)


def _refuse_operand(name, operand):
    """Python makes a TypeError of what isn't implemented, but compares identities where it is == or !=."""
    if name not in ("eq", "ne"):
        return NotImplemented
    raise TypeError(f"{user_line()}expected a number beside a traced value, found {type(operand).__name__}")


def _bitwise(name, x, y):
    if x.type in _FLOATS:
        raise TypeError(f"{user_line()}expected bools or integers for &, | and ^, found a float: "
                        "put comparisons beside them in parentheses")
    bounds = None
    if x.low >= 0 and y.low >= 0:
        bounds = (0, min(x.high, y.high) if name == "and" else 2 ** max(x.high, y.high).bit_length() - 1)
    elif name == "and" and max(x.low, y.low) >= 0:
        bounds = (0, x.high if x.low >= 0 else y.high)
    return Value({"and": "arith.andi", "or": "arith.ori", "xor": "arith.xori"}[name], x.type, (x, y), bounds=bounds)


def _float_arithmetic(name, x, y):
    if name == "floordiv":
        return Value("math.floor", x.type, (Value("arith.divf", x.type, (x, y)),))
    if name == "mod":  # Python's has the sign of the divisor
        rest = Value("arith.remf", x.type, (x, y))
        return select((rest != 0) & ((rest < 0) != (y < 0)), rest + y, rest)
    if name in ("lshift", "rshift"):
        raise TypeError(f"{user_line()}expected integers for << and >>, found a float")
    return Value({"add": "arith.addf", "sub": "arith.subf", "mul": "arith.mulf", "truediv": "arith.divf"}[name],
                 x.type, (x, y))


def _arithmetic(name, x, y):
    if name == "add":
        return Value("arith.addi", x.type, (x, y), bounds=(x.low + y.low, x.high + y.high))
    if name == "sub":
        return Value("arith.subi", x.type, (x, y), bounds=(x.low - y.high, x.high - y.low))
    if name == "mul":
        return Value("arith.muli", x.type, (x, y), bounds=_corners(x, y, lambda a, b: a * b))
    if name in ("lshift", "rshift"):
        return _shift(name, x, y)
    return _divide(name, x, y)


def _corners(x, y, op):
    corners = [op(a, b) for a in (x.low, x.high) for b in (y.low, y.high)]
    return min(corners), max(corners)


def _divide(name, x, y):
    """Rounded down, as Python does."""
    if y.low == y.high == 0:
        raise ZeroDivisionError(f"{user_line()}expected a divisor other than 0")
    is_positive = y.low > 0
    if name == "mod":
        if is_positive and x.low >= 0:
            return Value("arith.remsi", x.type, (x, y), bounds=(0, min(x.high, y.high - 1)))
        rest = x - x // y * y
        rest.low, rest.high = (0, y.high - 1) if is_positive else (rest.low, rest.high)
        return rest
    bounds = _corners(x, y, lambda a, b: a // b) if is_positive else None
    return Value("arith.divsi" if is_positive and x.low >= 0 else "arith.floordivsi", x.type, (x, y), bounds=bounds)


def _shift(name, x, y):
    if y.op == "constant" and not 0 <= y.data < WIDTHS[x.type]:
        raise ValueError(f"{user_line()}expected to shift {x.type} by 0 to {WIDTHS[x.type] - 1} bits, found {y.data}")
    bounds = None
    if y.op == "constant":
        move = (lambda a: a << y.data) if name == "lshift" else (lambda a: a >> y.data)
        bounds = (move(x.low), move(x.high))
    return Value("arith.shli" if name == "lshift" else "arith.shrsi", x.type, (x, y), bounds=bounds)


def _power(x, y):
    """An integer to a number of Python is multiplied out; everything else is a float."""
    is_count = y.type == _INT and 0 <= y.data <= 64
    x = resolve(x)
    if not is_count:
        if x.type not in _FLOATS and resolve(y).type not in _FLOATS:
            raise TypeError(f"{user_line()}expected a float, or an exponent known here from 0 to 64, found an "
                            "integer to the power of a traced one: write 1 << n, or x.to(\"f32\")")
        x, y = unify(x, y)
        return Value("math.powf", x.type, (x, y))
    result = constant(1, x.type if x.type != "bool" else "index")
    for digit in bin(y.data)[2:] if y.data else "":
        result = result * result if result.op != "constant" else result
        result = (result * x if result.op != "constant" else x) if digit == "1" else result
    return result


def select(condition, x, y):
    bounds = None if x.low is None else (min(x.low, y.low), max(x.high, y.high))
    return Value("arith.select", x.type, (condition, x, y), bounds=bounds)


class _Methods:
    """Of values and of arrays without dimensions."""

    def to(self, dtype):
        """Another type: "f32", "i64", "index", "bool"…, or a dtype of numpy or PyTorch. A device stays as it is."""
        name = short_name(dtype)
        if name == "cpu":
            return self
        if name not in WIDTHS and name not in FLOATS:
            raise TypeError(f"{user_line()}expected one of {', '.join((*FLOATS, *WIDTHS))}, found {name}")
        return convert(resolve(lift(self)), name)

    def __neg__(self):
        x = resolve(lift(self))
        return Value("arith.negf", x.type, (x,)) if x.type in _FLOATS else binary("sub", 0, self)

    def __pos__(self):
        return lift(self)

    def __invert__(self):
        x = resolve(lift(self))
        return binary("xor", x, True if x.type == "bool" else -1)

    def __abs__(self):
        x = resolve(lift(self))
        if x.type in _FLOATS:
            return Value("math.absf", x.type, (x,))
        x = convert(x, "index") if x.type == "bool" else x
        return x if x.low >= 0 else Value("math.absi", x.type, (x,), bounds=(0, max(-x.low, x.high)))

    def __pow__(self, other, modulo=None):
        return NotImplemented if modulo is not None else binary("pow", self, other)

    def __rpow__(self, other):
        return binary("pow", other, self)

    def __divmod__(self, other):
        return self // other, self % other

    def __rdivmod__(self, other):
        return other // self, other % self


def _add_operators():
    def forward(name):
        return lambda self, other: binary(name, self, other)

    def backward(name):
        return lambda self, other: binary(name, other, self)

    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "and", "or", "xor", "lshift", "rshift"):
        setattr(Operators, f"__{name}__", forward(name))
        setattr(Operators, f"__r{name}__", backward(name))
    for name in ("lt", "le", "gt", "ge", "eq", "ne"):
        setattr(Operators, f"__{name}__", forward(name))
    for name, method in vars(_Methods).items():
        if callable(method):
            setattr(Operators, name, method)


_add_operators()
