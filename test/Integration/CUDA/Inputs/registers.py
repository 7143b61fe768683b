"""Registers, places and numbers of PTX, as C has them."""

import re

REGISTERS = {"pred": "int", "b16": "uint16_t", "b32": "uint32_t", "b64": "uint64_t",
             "u32": "uint32_t", "f32": "uint32_t", "f64": "uint64_t"}
FLOATS = ("f16", "f32", "f64")
INTEGERS = {"s8": "int8_t", "s16": "int16_t", "s32": "int32_t", "s64": "int64_t",
            "u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t",
            "b8": "uint8_t", "b16": "uint16_t", "b32": "uint32_t", "b64": "uint64_t", "pred": "int"}


class Unknown(Exception):
    pass


def parts(operand):
    """The registers of an operand: several are in braces."""
    return operand.strip("{}").split(", ")


def variable(operand):
    """The name in C of a register."""
    return re.sub(r"[%.$]", "_", operand)


def read(operand, kind):
    """The value of an operand as a number of C."""
    bits = re.fullmatch(r"0([fFdD])([0-9A-Fa-f]+)", operand)
    if bits:
        return f"as_f{32 if bits[1] in 'fF' else 64}(0x{bits[2]}u)"
    index = re.fullmatch(r"%(ctaid|tid)\.([xyz])", operand)
    if index:
        return f"{'blockIdx' if index[1] == 'ctaid' else 'threadIdx'}.{index[2]}"
    return f"as_{kind}({variable(operand)})" if kind in FLOATS else f"({INTEGERS[kind]}){variable(operand)}"


def write(operand, kind, value):
    """A statement that makes a register the bits of a number."""
    to = variable(operand)
    return f"{to} = of_{kind}({value});" if kind in FLOATS else f"{to} = ({INTEGERS[kind]})({value});"


def split_place(place):
    """What lies before and after the + of an address in brackets."""
    return re.fullmatch(r"\[([^+\]]+)(?:\+(-?\d+))?\]", place).groups()


def address_of(place):
    base, offset = split_place(place)
    return f"{read(base, 'b64')} + {offset or 0}"
