"""Errors for unsupported operations on traced values, with the user's line and an alternative."""

import linecache
import os
import sys

import numpy as np

_FOLDER = os.path.dirname(__file__)


def user_line():
    """The place in the user's code, as the beginning of a message."""
    torch = getattr(sys.modules.get("torch"), "__file__", None)
    of_torch = os.path.join(os.path.dirname(torch), "") if torch else _FOLDER
    frame = sys._getframe()
    while frame.f_back and (os.path.dirname(path := frame.f_code.co_filename) == _FOLDER or path.startswith(of_torch)):
        frame = frame.f_back
    path, line = frame.f_code.co_filename, frame.f_lineno
    source = linecache.getline(path, line, frame.f_globals).strip()
    return f"{path}:{line}: " + (f"`{source}`: " if source else "")


def _refuse(what):
    def method(self, *_):
        raise TypeError(user_line() + what)

    return method


class Operators:
    """Of traced values and arrays. What may be written with them, _arithmetic.py adds."""

    __slots__ = ()

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        from . import _functions

        function = _functions.of_numpy.get(ufunc.__name__)
        if method != "__call__" or options or not function:
            raise _not_of_numpy(ufunc)
        return function(*inputs)

    def __array_function__(self, function, types, inputs, options):
        from . import _functions

        if function not in (np.where, np.clip) or len(inputs) != 3 or options:
            raise _not_of_numpy(function)
        return _functions.of_numpy[function.__name__](*inputs)

    @classmethod
    def __torch_function__(cls, function, types, inputs=(), options=None):
        from . import _of_torch

        return _of_torch.call(function, inputs, options or {})

    def __getattr__(self, name):
        """What tensors have, where PyTorch is in use."""
        if name.startswith("__"):  # numpy and others ask
            raise AttributeError(name)
        if "torch" in sys.modules:
            from . import _of_torch

            if (attribute := _of_torch.find_attribute(self, name)) is not None:
                return attribute
        raise AttributeError(f"{user_line()}expected what traced values have, found .{name}")

    __bool__ = _refuse("expected no decision on a traced value, whose number is not known yet: write "
                       "attnc.where(c, x, y) in place of `if`, and &, |, ~ and (a <= b) & (b < c) in place of `and`, "
                       "`or`, `not`, `in` and a <= b < c")
    __int__ = _refuse("expected no int of a traced value, whose number is not known yet: write x.to(\"i32\"), and in "
                      "place of range() over it or of an index into a list an array given by attnc.array")
    __index__ = __int__
    __float__ = _refuse("expected no float of a traced value, whose number is not known yet: write x.to(\"f32\"), and "
                        "attnc.exp in place of math.exp")
    __complex__ = __float__
    __round__ = __floor__ = __ceil__ = __trunc__ = _refuse(
        "expected no integer of a traced value, whose number is not known yet: write attnc.rint in place of round, and "
        "attnc.floor, ceil and trunc in place of math's")
    __hash__ = _refuse("expected no key or element of a set, found a traced value: write attnc.where, or index an array")
    __iter__ = _refuse("expected one number, found a traced value to run through: write out the cases, or use "
                       ".shape[0] of an array")
    __len__ = __contains__ = __iter__


def _not_of_numpy(function):
    return TypeError(f"{user_line()}expected functions of attnc on traced values, found numpy.{function.__name__}")
