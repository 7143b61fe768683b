"""Functions of traced values: attnc.where, attnc.exp…"""

import math

from ._arithmetic import binary, select
from ._refusals import user_line
from ._values import _FLOATS, Value, convert, lift, resolve, unify

# Their names in the dialect math; numpy's where they differ.
_TESTS = ("isnan", "isinf", "isfinite")
_UNARY = {name: name for name in (*_TESTS, "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt",
                                  "cbrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "erf", "floor", "ceil", "trunc")}
_UNARY |= {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh",
           "arctanh": "atanh", "rint": "roundeven"}
_BINARY = {"minimum": ("arith.minsi", "arith.minimumf", min), "maximum": ("arith.maxsi", "arith.maximumf", max)}


def _number(name, x):
    value = lift(x)
    if value is None:
        raise TypeError(f"{user_line()}attnc.{name}: expected a traced value or a number, found {type(x).__name__}")
    return value


def _float(name, x):
    value = resolve(_number(name, x))
    return value if value.type in _FLOATS else convert(value, "float")


def _make_unary(name, op):
    def function(x):
        value = _float(name, x)
        return Value(f"math.{op}", "bool" if name in _TESTS else value.type, (value,))

    return _name(function, name, f"numpy's {name} of a traced value, as a float." if name not in ("erf", "rsqrt") else
                 {"erf": "The error function.", "rsqrt": "1 / sqrt(x)."}[name])


def _make_extreme(name):
    of_ints, of_floats, choose = _BINARY[name]

    def function(x, y):
        x, y = unify(_number(name, x), _number(name, y))
        if x.type in _FLOATS:
            return Value(of_floats, x.type, (x, y))
        return Value(of_ints, x.type, (x, y), bounds=(choose(x.low, y.low), choose(x.high, y.high)))

    return _name(function, name, f"The {name} of two values; NaN where one of them is.")


def _name(function, name, text):
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    return function


def where(condition, x, y):
    """x where the condition, a bool, holds, and y elsewhere."""
    test = _number("where", condition)
    if test.type != "bool":
        raise TypeError(f"{user_line()}attnc.where: expected a bool (a comparison) first, found {test.type}")
    return select(test, *unify(_number("where", x), _number("where", y), numeric=False))


def sigmoid(x):
    """1 / (1 + exp(-x))."""
    return 1 / (1 + exp(-_float("sigmoid", x)))


def arctan2(y, x):
    """The angle of the point (x, y)."""
    return Value("math.atan2", *_two_floats("arctan2", y, x))


def copysign(x, y):
    """x with the sign of y."""
    return Value("math.copysign", *_two_floats("copysign", x, y))


def sign(x):
    """-1, 0 or 1, of x's type; NaN stays NaN."""
    value = resolve(_number("sign", x))
    return where(value > 0, 1, where(value < 0, -1, value))


def square(x):
    """x times x."""
    return x * x


def fmod(x, y):
    """The rest of a division rounded towards 0, which has the sign of x."""
    x, y = unify(_number("fmod", x), _number("fmod", y))
    if x.type in _FLOATS:
        return Value("arith.remf", x.type, (x, y))
    rest = abs(x) % abs(y)
    return where(x < 0, -rest, rest)


def hypot(x, y):
    """The length of the vector (x, y)."""
    _, (x, y) = _two_floats("hypot", abs(x), abs(y))
    longer, shorter = maximum(x, y), minimum(x, y)
    return where((longer == 0) | isinf(longer), longer, longer * sqrt(1 + square(shorter / longer)))


def logaddexp(x, y):
    """log(exp(x) + exp(y))."""
    _, (x, y) = _two_floats("logaddexp", x, y)
    return where(x == y, x + math.log(2), maximum(x, y) + log1p(exp(-abs(x - y))))


def logical_and(x, y):
    """Whether both are not 0."""
    return truth(x) & truth(y)


def logical_or(x, y):
    """Whether one of them is not 0."""
    return truth(x) | truth(y)


def logical_xor(x, y):
    """Whether one of them alone is not 0."""
    return truth(x) ^ truth(y)


def logical_not(x):
    """Whether x is 0."""
    return ~truth(x)


def truth(x):
    """As a bool: whether x is not 0."""
    return convert(resolve(_number("bool", x)), "bool")


def clip(x, low, high):
    """x, but at least `low` and at most `high`."""
    return minimum(maximum(x, low), high)


def _two_floats(name, x, y):
    pair = unify(_float(name, x), _float(name, y))
    return pair[0].type, pair


_made = {name: _make_unary(name, op) for name, op in _UNARY.items()}
_made |= {name: _make_extreme(name) for name in _BINARY}
_made |= {function.__name__: function for function in (
    where, sigmoid, arctan2, copysign, sign, square, fmod, hypot, logaddexp, logical_and, logical_or, logical_xor,
    logical_not, clip)}
globals().update(_made)
__all__ = list(_made)

# What numpy's functions become where they meet a traced value.
_OPERATORS = {"add": "add", "subtract": "sub", "multiply": "mul", "divide": "truediv", "floor_divide": "floordiv",
              "remainder": "mod", "power": "pow", "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor",
              "left_shift": "lshift", "right_shift": "rshift", "less": "lt", "less_equal": "le", "greater": "gt",
              "greater_equal": "ge", "equal": "eq", "not_equal": "ne"}
of_numpy = dict(_made) | {"negative": lambda x: -x, "absolute": abs, "invert": lambda x: ~x, "fabs": abs}
of_numpy |= {of: lambda x, y, name=name: binary(name, x, y) for of, name in _OPERATORS.items()}
