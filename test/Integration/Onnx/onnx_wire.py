"""ONNX files as nested lists of fields, for tests that must write what no library would.

A message is a list of (number, value): an int for a varint, bytes for everything else that has a
length, and Fixed for the rest. What is not touched is written as it was read.
"""


class Fixed(bytes):
    """Four or eight bytes: a float, a double."""


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def write_varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def parse(data):
    fields, at = [], 0
    while at < len(data):
        key, at = read_varint(data, at)
        if key & 7 == 0:
            value, at = read_varint(data, at)
        elif key & 7 == 2:
            size, at = read_varint(data, at)
            value, at = data[at : at + size], at + size
        else:
            size = {1: 8, 5: 4}[key & 7]
            value, at = Fixed(data[at : at + size]), at + size
        fields.append((key >> 3, value))
    return fields


def serialize(fields):
    out = bytearray()
    for number, value in fields:
        if isinstance(value, int):
            out += write_varint(number << 3) + write_varint(value)
        elif isinstance(value, Fixed):
            out += write_varint(number << 3 | {4: 5, 8: 1}[len(value)]) + value
        else:
            out += write_varint(number << 3 | 2) + write_varint(len(value)) + value
    return bytes(out)


def get(fields, number):
    """All values of a field."""
    return [value for found, value in fields if found == number]


def put(fields, number, values):
    """The message with these values of a field alone."""
    return [f for f in fields if f[0] != number] + [(number, value) for value in values]


def read_varints(value):
    """A repeated integer, packed or not."""
    if isinstance(value, int):
        return [value]
    values, at = [], 0
    while at < len(value):
        item, at = read_varint(value, at)
        values.append(item)
    return values
