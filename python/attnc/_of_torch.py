"""PyTorch's functions and methods where they meet traced values."""

import functools

import torch
from torch.overrides import TorchFunctionMode

from . import _activations, _attention, _functions
from ._arithmetic import binary
from ._captured import Array
from ._elements import NAMES, side_by_side
from ._refusals import Operators, user_line
from ._values import convert, lift, resolve


def _is_traced(values):
    return any(isinstance(value, Operators) or isinstance(value, (tuple, list)) and _is_traced(value)
               for value in values)


def call(function, args, kwargs):
    """What `function` of torch is for traced values."""
    name = getattr(function, "__name__", str(function))
    base = name[2:-2] if name.startswith("__") else name
    if function is torch.Tensor.where:  # of self where the condition holds
        args = (args[1], args[0], *args[2:])
    implementation = _table.get(base)
    if implementation is None and base[:1] == "r" and base[1:] in _OPERATORS:
        implementation = lambda x, y: _table[base[1:]](y, x)
    if implementation is None:
        raise TypeError(f"{user_line()}expected functions of one element on traced values, found torch's {name}: write "
                        "it with +, -, comparisons, torch.where, torch.exp and the like")
    kwargs = {key: value for key, value in kwargs.items() if key not in ("device", "requires_grad", "layout")}
    try:
        return implementation(*map(_operand, args), **{key: _operand(value) for key, value in kwargs.items()})
    except TypeError as error:
        if "argument" not in str(error):
            raise
        raise TypeError(f"{user_line()}expected other arguments of torch's {name} on traced values: {error}") from None


def _operand(x):
    return Array(x) if isinstance(x, torch.Tensor) else x


attend = torch.compiler.disable(_attention.attend)


class ReadTraced(TorchFunctionMode):
    """Within it, tensors may be read at traced indices, wherever they come from. `dtype` is that of the query."""

    score_dtype = torch.float32  # of the innermost one

    def __init__(self, dtype=torch.float32):
        super().__init__()
        self.arrays = {}
        self.dtype = torch.float64 if dtype == torch.float64 else torch.float32

    def __enter__(self):
        self.outer, ReadTraced.score_dtype = ReadTraced.score_dtype, self.dtype
        return super().__enter__()

    def __exit__(self, *error):
        ReadTraced.score_dtype = self.outer
        return super().__exit__(*error)

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if not _is_traced(args) and not _is_traced(kwargs.values()):
            return function(*args, **kwargs)
        if function is torch.Tensor.__getitem__ and isinstance(args[0], torch.Tensor):
            return self._read(args[0])[args[1]]
        return call(function, args, kwargs)

    def _read(self, tensor):
        """The stand-in of a tensor, one for all its reads; it keeps the tensor alive."""
        if id(tensor) not in self.arrays:
            self.arrays[id(tensor)] = (tensor, Array(tensor, "tensor"))
        return self.arrays[id(tensor)][1]


def ready(tensor):
    """As kernels read it: without its history, its elements side by side along the last axis."""
    if not isinstance(tensor, torch.Tensor):
        return tensor
    return side_by_side(tensor.detach() if tensor.requires_grad else tensor)


# -- What torch calls operators, beside `__add__` and `__radd__`.
_OPERATORS = {"add": "add", "sub": "sub", "subtract": "sub", "mul": "mul", "multiply": "mul", "div": "truediv",
              "truediv": "truediv", "true_divide": "truediv", "divide": "truediv", "floordiv": "floordiv",
              "floor_divide": "floordiv", "mod": "mod", "remainder": "mod", "pow": "pow", "and": "and", "or": "or",
              "xor": "xor", "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor", "lshift": "lshift",
              "rshift": "rshift", "bitwise_left_shift": "lshift", "bitwise_right_shift": "rshift"}
_COMPARISONS = {"lt": "lt", "less": "lt", "le": "le", "less_equal": "le", "gt": "gt", "greater": "gt", "ge": "ge",
                "greater_equal": "ge", "eq": "eq", "ne": "ne", "not_equal": "ne"}
_SAME = ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "sin", "cos", "tan", "sinh", "cosh",
         "tanh", "erf", "sigmoid", "isnan", "isinf", "isfinite", "arcsin", "arccos", "arctan", "arcsinh",
         "arccosh", "arctanh", "minimum", "maximum", "copysign", "where", "sign", "square", "fmod", "hypot", "logaddexp",
         "logical_and", "logical_or", "logical_xor", "logical_not")
_OTHER_NAMES = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh",
                "atanh": "arctanh", "atan2": "arctan2", "arctan2": "arctan2", "sgn": "sign"}


def _round(name):
    """Integers stay as they are."""
    of_float = getattr(_functions, name)

    def function(x):
        value = resolve(lift(x))
        return value if value.low is not None else of_float(value)

    return function


def _div(x, y, rounding_mode=None):
    if rounding_mode not in (None, "floor"):
        raise TypeError(f'{user_line()}expected rounding_mode None or "floor", found {rounding_mode!r}')
    return binary("floordiv" if rounding_mode else "truediv", x, y)


def _extreme(name):
    """Of two tensors; a number would be a dim to reduce."""
    def function(x, other):
        if not isinstance(other, Operators):
            raise TypeError(f"{user_line()}expected a second tensor for torch's {name[:3]}, found {other!r}: write torch.clamp")
        return getattr(_functions, name)(x, other)

    return function


def _clamp(x, min=None, max=None):
    x = x if min is None else _functions.maximum(x, min)
    return x if max is None else _functions.minimum(x, max)


def _scaled(name):
    """Of x and alpha times y."""
    return lambda x, y, alpha=1: binary(name, x, y if alpha == 1 else binary("mul", y, alpha))


def _dot(x, y):
    """Of two vectors, parts of arrays, element by element."""
    if not all(isinstance(v, Array) and v.ndim == 1 for v in (x, y)) or x.sizes[-1] != y.sizes[-1]:
        raise TypeError(f"{user_line()}expected two vectors of one size, found {x!r} and {y!r}")
    return functools.reduce(lambda total, i: total + x[i] * y[i], range(1, x.sizes[-1]), x[0] * y[0])


def _filled(number):
    def function(x, size=(), *, dtype=None):
        return _new_full(x, size, number, dtype=dtype)

    return function


def _new_full(x, size, fill_value, *, dtype=None):
    if tuple(size):
        raise TypeError(f"{user_line()}expected one element, found a tensor of shape {tuple(size)}")
    number = resolve(lift(fill_value))
    return convert(number, resolve(lift(x)).type) if dtype is None else number.to(dtype)


def _new_tensor(x, data, *, dtype=None):
    return lift(data) if dtype is None else lift(data).to(dtype)


def _to(dtype):
    return lambda x: lift(x).to(dtype)


_table = {base: functools.partial(binary, name) for base, name in (_OPERATORS | _COMPARISONS).items()}
_table |= {name: getattr(_functions, name) for name in _SAME}
_table |= {name: getattr(_functions, other) for name, other in _OTHER_NAMES.items()}
_table |= {name: _round(name) for name in ("floor", "ceil", "trunc")} | {"round": _round("rint")}
_table |= {"add": _scaled("add"), "sub": _scaled("sub"), "subtract": _scaled("sub")} | _activations.TABLE
_table |= {"min": _extreme("minimum"), "max": _extreme("maximum")}
_table |= {"bitwise_not": lambda x: ~x, "invert": lambda x: ~x, "neg": lambda x: -x, "negative": lambda x: -x,
           "abs": abs, "absolute": abs, "reciprocal": lambda x: 1 / x,
           "clamp": _clamp, "clip": _clamp, "div": _div, "divide": _div,
           "clamp_min": _clamp, "clamp_max": lambda x, max: _clamp(x, None, max), "dot": _dot, "vdot": _dot,
           "frac": lambda x: x - _functions.trunc(x), "lerp": lambda x, end, weight: x + weight * (end - x),
           "type_as": lambda x, other: convert(resolve(lift(x)), resolve(lift(other)).type),
           "masked_fill": lambda x, mask, value: _functions.where(mask, value, x)}
_table |= {"ones_like": _filled(1), "zeros_like": _filled(0), "new_ones": _filled(1), "new_zeros": _filled(0),
           "full_like": lambda x, fill_value, dtype=None: _new_full(x, (), fill_value, dtype=dtype),
           "new_full": _new_full, "new_tensor": _new_tensor}
# Methods alone.
_table |= {"float": _to("f32"), "double": _to("f64"), "half": _to("f16"), "bfloat16": _to("bf16"), "bool": _functions.truth,
           "int": _to("i32"), "long": _to("i64"), "short": _to("i16"), "detach": lift, "clone": lift, "contiguous": lift}


def find_attribute(value, name):
    """That of a tensor, for a traced value; None where there is none."""
    if name == "device":
        return torch.device("cpu")
    if name == "dtype":
        kind = resolve(lift(value)).type
        return ReadTraced.score_dtype if kind == "float" else getattr(torch, NAMES["i64" if kind == "index" else kind])
    if name in _table and hasattr(torch.Tensor, name):
        return lambda *args, **kwargs: call(getattr(torch.Tensor, name), (value, *args), kwargs)
    return None
