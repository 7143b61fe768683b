"""What a function computes, as a key of dictionaries: closures that are made anew for each call find their kernel by it."""

import types

from ._captured import _names

# Modules and classes of others may have settings that change.
_FIXED = ("torch", "math", "numpy", "builtins", __name__.partition(".")[0])


def find_structure(function):
    """Equal for functions that compute the same; None where one reads more than numbers, texts and such functions, as arrays."""
    try:
        return _describe(function, ())
    except TypeError:
        return None


def _describe(value, outer):
    if value is None or isinstance(value, (type, types.ModuleType, types.BuiltinFunctionType)) and _is_fixed(value):
        return value
    if type(value) in (bool, int, float, str):
        return type(value), repr(value)  # 1 is True, and 0.0 is -0.0
    if type(value) in (tuple, list):
        return type(value), *(_describe(part, outer) for part in value)
    if type(value) is not types.FunctionType or value in outer:
        raise TypeError
    return value.__code__, *(_describe(part, (*outer, value)) for part in _find_reads(value))


def _is_fixed(value):
    name = value.__name__ if isinstance(value, types.ModuleType) else value.__module__
    return str(name).partition(".")[0] in _FIXED


def _find_reads(function):
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not assigned yet
            raise TypeError from None
    yield from function.__defaults__ or ()
    yield from sorted((function.__kwdefaults__ or {}).items())
    outside = function.__globals__
    yield from (outside[name] for name in _names(function.__code__) if name in outside)
