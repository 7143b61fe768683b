"""Arrays that a lambda reads: they stand in for themselves while it is traced."""

import copy
import functools
import types

from ._elements import FLOATS, WIDTHS, check_device, describe, is_array
from ._refusals import Operators, user_line
from ._values import _INT, MOST_POSITION, Value, convert, lift, resolve

_PACKAGE = __name__.partition(".")[0]


class Array(Operators):
    """An array in a lambda, read by an index for each dimension: `doc[b, q]`. It is an argument of the
    spec, so that other numbers and sizes compile nothing anew. An index beyond its ends reads the
    last element there; a negative number counts from the end."""

    __slots__ = ("source", "name", "dtype", "sizes", "indices")

    def __init__(self, source, name="array"):
        self.source, self.name, self.indices = source, name, ()
        self.sizes, self.dtype = describe(name, source)
        check_device(name, source)
        if self.dtype not in FLOATS and self.dtype not in WIDTHS:
            raise TypeError(f"{name}: expected bools, integers of 8 to 64 bits with a sign, f16, bf16, f32 or f64, "
                            f"found {self.dtype}")

    def __repr__(self):
        return f"<traced array {self.name}: {self.dtype}[{', '.join(map(str, self.sizes))}]>"

    @property
    def ndim(self):
        return len(self.sizes) - len(self.indices)

    @property
    def shape(self):
        """Sizes as traced values: they stay open."""
        return tuple(_size(self, axis) for axis in range(len(self.indices), len(self.sizes)))

    def __getitem__(self, indices):
        indices = indices if isinstance(indices, tuple) else (indices,)
        whole = [index for index in indices if index is not Ellipsis]
        if len(whole) == self.ndim or indices and indices[-1] is Ellipsis and len(whole) == len(indices) - 1:
            indices = tuple(whole)  # it stands for no dimension, or for all that are left
        if len(indices) > self.ndim:
            raise IndexError(f"{user_line()}{self.name}: expected {self.ndim} indices at most, found {len(indices)}")
        start = len(self.indices)
        part = Array.__new__(Array)
        part.source, part.name, part.dtype, part.sizes = self.source, self.name, self.dtype, self.sizes
        part.indices = self.indices + tuple(_index(self, start + axis, index) for axis, index in enumerate(indices))
        return part.element() if part.ndim == 0 else part

    def element(self):
        if self.ndim:
            raise TypeError(f"{user_line()}{self.name}: expected {len(self.sizes)} indices for its shape "
                            f"{self.sizes}, found {len(self.indices)}")
        return Value("extract", "float" if self.dtype in FLOATS else self.dtype, self.indices, data=self)


def _size(array, axis):
    return Value("dim", "index", data=(array, axis), bounds=(0, MOST_POSITION))


def _index(array, axis, index):
    value = None if isinstance(index, bool) else lift(index)
    if value is None or value.type != _INT and resolve(value).type not in ("index", "i8", "i16", "i32", "i64"):
        found = value.type if value is not None else repr(index)
        raise TypeError(f"{user_line()}{array.name}: expected integers as indices, found {found}")
    if value.op == "constant" and value.data < 0:
        return _size(array, axis) + value.data
    value = convert(resolve(value), "index")
    if value.low >= 0:
        return value
    return Value("arith.select", "index", (value < 0, value + _size(array, axis), value))


def array(source, name="array"):
    """`source` to be read by lambdas that can't be seen to read it, as those of other modules.
    `name` is what the spec and errors call it."""
    return Array(source, name)


_NAMES = "names"  # in a memo: of the attributes that functions read
_FEW = 256  # parts of an object that is copied for an array among them


def rebind(value, name, memo=None):
    """`value` with stand-ins for the arrays that it holds or, a function, reads: in its closure, default
    arguments, globals or its object's attributes. A global function of another module stays as it is."""
    memo = {_NAMES: set()} if memo is None else memo
    if id(value) not in memo:
        memo[id(value)] = (value, value)  # in case it reads itself
        memo[id(value)] = (_rebind(value, name, memo), value)
    return memo[id(value)][0]


def _rebind(value, name, memo):
    if is_array(value):
        return Array(value, name)
    inner = lambda part, called=name: rebind(part, called, memo)
    if isinstance(value, types.FunctionType):
        memo[_NAMES].update(_names(value.__code__))
        return _rebind_function(value, inner)
    if isinstance(value, types.MethodType):
        function = inner(value.__func__)
        return types.MethodType(function, _rebind_attributes(value.__self__, inner, memo[_NAMES]))
    if isinstance(value, functools.partial):
        keywords = {key: inner(part, key) for key, part in value.keywords.items()}
        return functools.partial(inner(value.func), *map(inner, value.args), **keywords)
    if type(value) in (list, tuple):
        return _unless_same(value, type(value)(inner(part, f"{name}_{i}") for i, part in enumerate(value)))
    if type(value) is dict:
        reads = any(map(_is_function, value.values())) or _holds_array(value)
        return {key: inner(part, str(key)) for key, part in value.items()} if reads else value
    if isinstance(value, (type, types.ModuleType, types.BuiltinFunctionType, Operators)):
        return value
    return _rebind_attributes(value, inner, memo[_NAMES])


def _is_function(value):
    return isinstance(value, (types.FunctionType, types.MethodType, functools.partial))


def _is_array_or_dict(value):
    return is_array(value) or type(value) is dict and any(map(is_array, value.values()))


def _holds_array(value):
    """Whether an array is among its elements or attributes, theirs, and so on, of which all have to be few: a
    function that reads an attribute of a large model doesn't take the whole model apart."""
    if _is_array_or_dict(value):
        return True
    seen, rest, found = set(), [value], False
    while rest and len(seen) <= _FEW:
        part = rest.pop()
        found |= is_array(part)
        if id(part) not in seen:
            seen.add(id(part))
            rest += _parts(part).values()
    return found and not rest


def _parts(value):
    """Elements of the containers, attributes of the objects, that are copied with stand-ins in them."""
    if type(value) is dict:
        return value
    if type(value) in (list, tuple):
        return dict(enumerate(value))
    is_object = not isinstance(value, (type, types.ModuleType, types.BuiltinFunctionType, Operators))
    return getattr(value, "__dict__", {}) if is_object else {}


def _unless_same(old, new):
    return old if all(a is b for a, b in zip(old, new)) else new


def _rebind_attributes(value, inner, names):
    """A copy of an object, where it holds arrays itself or, as PyTorch's modules, in a dict; or where an
    attribute of one of these names does."""
    attributes = getattr(value, "__dict__", {})
    parts = {key: new for key, part in attributes.items()
             if (_is_array_or_dict(part) or key in names and not _is_function(part) and _holds_array(part))
             and (new := inner(part, key)) is not part}
    modules = attributes.get("_modules") or {}
    if read := {key: new for key, part in modules.items()
                if key in names and _holds_array(part) and (new := inner(part, key)) is not part}:
        parts["_modules"] = {**modules, **read}
    if not parts:
        return value
    stand_in = copy.copy(value)
    stand_in.__dict__.update(parts)
    return stand_in


def _rebind_function(function, inner):
    if (function.__module__ or "").partition(".")[0] == _PACKAGE:
        return function
    code = function.__code__
    changed = _rebind_globals(function, inner)
    defaults = function.__defaults__ or ()
    parameters = code.co_varnames[:code.co_argcount][code.co_argcount - len(defaults):]
    closure = [_rebind_cell(cell, name, inner) for cell, name in zip(function.__closure__ or (), code.co_freevars)]
    stand_in = types.FunctionType(code, {**function.__globals__, **changed} if changed else function.__globals__,
                                  function.__name__, tuple(map(inner, defaults, parameters)), tuple(closure))
    stand_in.__kwdefaults__ = {name: inner(part, name) for name, part in (function.__kwdefaults__ or {}).items()}
    return stand_in


def _rebind_globals(function, inner):
    """Those that change."""
    outside = function.__globals__
    used = {name: outside[name] for name in _names(function.__code__) if name in outside}
    return {name: new for name, old in used.items()
            if getattr(old, "__globals__", outside) is outside and (new := inner(old, name)) is not old}


def _names(code):
    """The globals, and more, that code and the functions in it may read."""
    yield from code.co_names
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            yield from _names(part)


def _rebind_cell(cell, name, inner):
    try:
        return types.CellType(inner(cell.cell_contents, name))
    except ValueError:  # not assigned yet
        return cell
