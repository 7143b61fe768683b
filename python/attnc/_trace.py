"""From a lambda to the value that it returns."""

import inspect

from ._captured import Array, rebind
from ._elements import is_array
from ._values import _FLOATS, _REAL, POSITIONS, SCORE, Value, lift, resolve

_PARAMETERS = {"score": "s, b, h, q, k", "mask": "b, h, q, k"}
_PARAMETERS |= {"score_mod": _PARAMETERS["score"], "mask_mod": _PARAMETERS["mask"]}


def trace(name, function, substitute=rebind):
    """What `function` returns for the score and the positions; arrays that it reads stand in for
    themselves, as `substitute` finds them."""
    if isinstance(function, Value):
        return function
    if not callable(function):
        raise TypeError(f"{name}: expected a function of ({_PARAMETERS[name]}), found {_describe(name, function)}")
    if not hasattr(function, "__code__") and hasattr(type(function).__call__, "__code__"):
        function = function.__call__  # a method of an object, which may hold arrays
    arguments = POSITIONS if name.startswith("mask") else (SCORE, *POSITIONS)
    _check_arity(name, function, arguments)
    try:
        result = substitute(function, name)(*arguments)
    except IndexError as error:
        raise _explain(error) from error
    return check_result(name, function, result)


def _describe(name, found):
    """What was given in place of a function; of an array the function that reads it."""
    rank = getattr(found, "ndim", 0) if is_array(found) else 0
    if not 0 < rank <= 4:
        return type(found).__name__
    read = f"array[{', '.join('bhqk'[-rank:])}]"
    return (f"an array of {rank} dims: write {name}=lambda {_PARAMETERS[name]}: "
            f"{read if name.startswith('mask') else 's + ' + read}")


def _explain(error):
    """numpy doesn't ask what a traced value has to say as an index."""
    if not str(error).startswith("only integers, slices"):
        return error
    trace = error.__traceback__
    while trace.tb_next:
        trace = trace.tb_next
    return TypeError(f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}: expected an array of the function's closure, "
                     "defaults or globals at a traced index, found another one: write attnc.array(x)[…] for it")


def _check_arity(name, function, arguments):
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError:
        raise TypeError(f"{name}: expected a function of ({_PARAMETERS[name]}), found one of "
                        f"{inspect.signature(function)}{_place(function)}") from None


def check_result(name, function, result):
    """Checks the type of what a score or mask function returned."""
    value = None if isinstance(result, Array) and result.ndim else lift(result)
    is_score = name.startswith("score")
    kind = "a float" if is_score else "a bool, as comparisons are,"
    if value is None or value.type not in ((*_FLOATS, _REAL) if is_score else ("bool",)):
        found = type(result).__name__ if value is None else value.type
        raise TypeError(f"{name}: expected {kind} from the function{_place(function)}, found {found}")
    return resolve(value)


def _place(function):
    code = getattr(function, "__code__", None)
    return f" at {code.co_filename}:{code.co_firstlineno}" if code else ""
