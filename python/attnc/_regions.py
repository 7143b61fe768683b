"""Traced expressions as the text of a region."""

import struct

import numpy as np

from ._elements import FLOATS

_BITS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}
# The score of f16 and bf16 may be what a kernel holds, which is f32: no one asked to round it.
_UNROUNDED = " fastmath<contract>"
_HOLDS = {"f16": np.float16, "bf16": np.float32, "f32": np.float32, "f64": np.float64}


def collect(root):
    """The values that `root` follows from, each after its operands."""
    found, left = {}, [root]
    while left:
        value = left.pop()
        if value.serial not in found:
            found[value.serial] = value
            left += value.operands
    return [found[serial] for serial in sorted(found)]


def captured(values):
    """The arrays that values read or ask sizes of, in order."""
    for value in values:
        if value.op == "extract":
            yield value.data
        elif value.op == "dim" and not isinstance(value.data[0], str):
            yield value.data[0]


class Region:
    """Writes the ops of one. `element` is the type of the query; f16 and bf16 are computed in f32.
    `names` are the arguments' of captured arrays by their id, `types` the types of arguments."""

    def __init__(self, element, names, types):
        self.element, self.names, self.types = element, names, types
        self.work = element if element in ("f32", "f64") else "f32"
        self.lines, self.known, self.count = [], {}, 0

    def write(self, root, yields):
        """The lines between the block's arguments and its end."""
        values = {}
        for value in collect(root):
            values[value.serial] = self._write_value(value, [values[x.serial] for x in value.operands])
        name = values[root.serial]
        if yields == "float":
            name = self._cast(name, self._float(root.type), self.element, _UNROUNDED)
        return self.lines + [f"attn.yield {name} : {self.element if yields == 'float' else 'i1'}"]

    def _float(self, type):
        return self.work if type == "float" else type

    def _type(self, value):
        return "i1" if value.type == "bool" else self._float(value.type)

    def _add(self, text, name=None):
        """The name of the op's result, that of an equal op before where there is one."""
        if text not in self.known:
            self.known[text] = f"%{name or self.count}"
            self.count += name is None
            self.lines.append(f"{self.known[text]} = {text}")
        return self.known[text]

    def _write_value(self, value, operands):
        if value.op == "argument":
            return self._cast("%s", self.element, self.work, _UNROUNDED) if value.data == "s" else f"%{value.data}"
        if value.op == "constant":
            return self._constant(value)
        if value.op == "dim":
            return self._size(*value.data)
        if value.op == "extract":
            return self._extract(value, operands)
        if value.op == "float_cast":
            return self._cast(operands[0], self._type(value.operands[0]), self._type(value))
        data = [value.data] if value.data else []
        return self._add(f"{value.op} {', '.join(data + operands)}{self._signature(value)}")

    def _signature(self, value):
        """The type of operands, and the result's where the op is a cast."""
        of, is_cast = self._type(value.operands[-1]), len(value.operands) == 1 and value.type != "bool"
        return f" : {of} to {self._type(value)}" if is_cast and of != self._type(value) else f" : {of}"

    def _constant(self, value):
        if value.type == "bool":
            return self._add(f"arith.constant {str(value.data).lower()}", "true" if value.data else "false")
        type = self._type(value)
        if type in FLOATS:
            return self._add(f"arith.constant {literal(value.data, type)} : {type}")
        name = f"c{value.data}" if type == "index" else f"c{value.data}_{type}"
        return self._add(f"arith.constant {value.data} : {type}", name)

    def _array(self, array):
        return self.names[array if isinstance(array, str) else id(array.source)]

    def _size(self, array, axis):
        name = self._array(array)
        at = self._add(f"arith.constant {axis} : index", f"c{axis}")
        return self._add(f"tensor.dim %{name}, {at} : {self.types[name]}")

    def _extract(self, value, indices):
        name = self._array(value.data)
        read = self._add(f"tensor.extract %{name}[{', '.join(indices)}] : {self.types[name]}")
        return self._cast(read, value.data.dtype, self.work) if value.type == "float" else read

    def _cast(self, name, before, after, flags=""):
        """Between floats."""
        if before == after:
            return name
        if _BITS[before] == _BITS[after]:
            return self._cast(self._cast(name, before, "f32"), "f32", after, flags)
        op = "extf" if _BITS[before] < _BITS[after] else "truncf"
        return self._add(f"arith.{op} {name}{flags} : {before} to {after}")


def literal(number, type):
    """Decimal; in bits what `type` doesn't hold as a finite number."""
    with np.errstate(over="ignore"):
        held = _HOLDS[type](number)
    if np.isfinite(held):
        text = repr(number)
        return text if "." in text else text.replace("e", ".0e") if "e" in text else text + ".0"
    bits = struct.pack({2: ">e", 4: ">f", 8: ">d"}[held.itemsize], held)
    return f"0x{bits[:_BITS[type] // 8].hex().upper()}"
