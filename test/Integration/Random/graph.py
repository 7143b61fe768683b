"""A function of the attn dialect as data: draw.py makes it, text.py prints it, evaluate.py computes it.

A dimension is a number, or the name of one that the call tells.
"""

import dataclasses
import random


@dataclasses.dataclass(frozen=True, eq=False)
class Tensor:
    name: str
    dims: tuple
    element: str


@dataclasses.dataclass(frozen=True, eq=False)
class Scalar:
    """A value of a region: an op of arith, math or tensor on others."""

    op: str
    operands: tuple
    type: str
    attribute: object = None
    low: int = 0  # of an integer, what it may be
    high: int = 0
    far: bool = False  # an index that may stand for one beyond 2^30

    @property
    def is_float(self):
        return self.type in FLOATS


@dataclasses.dataclass(frozen=True, eq=False)
class Region:
    parameters: tuple
    result: Scalar


@dataclasses.dataclass(frozen=True, eq=False)
class Op:
    kind: str
    operands: tuple
    results: tuple
    attributes: dict
    regions: tuple = ()


@dataclasses.dataclass(frozen=True, eq=False)
class Argument:
    """What the calls give for an argument. An integer lies from `low` to `high`, or is one of `extremes`."""

    tensor: Tensor
    low: int = 0
    high: int = 1
    extremes: tuple = ()
    room: tuple = ()  # dimensions (all, new): from 0 to all - new
    finite: bool = False
    scale: float = 1.0


FLOATS = ("f32", "f16", "bf16", "f64")
INTEGERS = ("i8", "i16", "i32", "i64")
WIDTHS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "index": 64}


class Graph:
    """A function under construction."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.element = self.choose(["f32"] * 5 + ["f16", "bf16", "f64"])
        self.choices, self.open = {}, set()  # the sizes a dimension may have, those that a call tells
        self.arguments, self.ops, self.results, self.functions = [], [], [], []
        self.count = 0

    def choose(self, options):
        return self.random.choice(options)

    def chance(self, probability):
        return self.random.random() < probability

    def dim(self, name, sizes, open_chance=0.25):
        """A dimension of one of these sizes; an open one may have another in each call."""
        first = self.choose(sizes)
        if self.chance(open_chance):
            self.open.add(name)
            self.choices[name] = [first, self.choose(sizes), self.choose(sizes)]
        else:
            self.choices[name] = [first]
        return name

    def sizes(self, call):
        """The size of each dimension in a call."""
        return {name: sizes[call % len(sizes)] for name, sizes in self.choices.items()}

    def size(self, dim):
        """The size of a dimension that is not open."""
        return self.choices[dim][0] if dim in self.choices else dim

    def most(self, dim):
        return max(self.choices[dim]) if dim in self.choices else dim

    def least(self, dim):
        return min(self.choices[dim]) if dim in self.choices else dim

    def fresh(self, prefix="v"):
        self.count += 1
        return f"{prefix}{self.count}"

    def argument(self, prefix, dims, element=None, **values):
        tensor = Tensor(self.fresh(prefix), tuple(dims), element or self.element)
        self.arguments.append(Argument(tensor, **values))
        return tensor

    def emit(self, kind, operands, dims, element=None, regions=(), **attributes):
        element = element or self.element
        tensor = Tensor(self.fresh(), tuple(dims), element)
        self.ops.append(Op(kind, tuple(operands), (tensor,), attributes, tuple(regions)))
        return tensor

    def same(self, kind, operands, **attributes):
        """An op whose result has its first operand's type."""
        return self.emit(kind, operands, operands[0].dims, operands[0].element, **attributes)
