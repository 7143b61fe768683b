"""FlexAttention in graphs of torch.compile, as _sdpa.py."""

import hashlib
import math

import torch

from . import _operators
from ._blocks import read_blocks, read_tables
from ._captured import Array
from ._of_torch import ReadTraced
from ._sdpa import Operand, build_open, cast, check_operands, find_order, leave, write
from ._spec import SpecWriter
from ._trace import trace

_WHOLE = 1 << 30  # the block size where there is no BlockMask


def flex_attention(query, key, value, score_mod, block_mask, scale, kernel_options, score_buffers=(), mask_buffers=(), *,
                   keeps_blocks=False):
    """The operator of PyTorch's graphs: (context, lse to base 2, largest scores). `keeps_blocks`: whether the tables of
    the BlockMask come from outside of the graph, the same for many calls."""
    try:
        return _attend(*cast(query, key, value), score_mod, block_mask, scale, kernel_options, score_buffers, mask_buffers,
                       keeps_blocks)
    except OSError:  # no compiler, a full disk
        raise
    except Exception as error:
        leave("flex_attention", error)
    return torch.ops.higher_order.flex_attention(query, key, value, score_mod, block_mask, scale, kernel_options,
                                                 score_buffers, mask_buffers)


def _attend(query, key, value, score_mod, block_mask, scale, kernel_options, score_buffers, mask_buffers, keeps_blocks):
    if kernel_options.get("OUTPUT_MAX"):
        raise ValueError("the largest scores are asked for")
    if key.shape[0] == value.shape[0] == 1:
        key, value = (x.expand(query.shape[0], -1, -1, -1) for x in (key, value))
    check_operands(query, key, value)
    mods, lse = _Mods(query.dtype), bool(kernel_options.get("OUTPUT_LOGSUMEXP"))
    score = mods.trace("score_mod", score_mod, score_buffers)
    blocks = _Blocks(block_mask, mods.trace("mask_mod", block_mask[-1], mask_buffers))
    make = lambda mask: build_open(query, key, value, score=score, mask=mask, scale=float(scale), return_lse=lse)
    how = find_order(query), lse
    if keeps_blocks and not blocks.are_missing and (mask := _name_mask(block_mask[-1], mask_buffers)):
        built, inputs = make(blocks.visible)
        specs = write(built), SpecWriter(make(blocks.read())[0], "attention").write()
        captured = [x for x in mask_buffers if isinstance(x, torch.Tensor)]
        results = _operators.block_attention(*specs, [x.tensor for x in inputs], *how, mask, blocks.tables, blocks.lengths,
                                             blocks.size, captured)
    else:
        built, inputs = make(None if blocks.are_missing else blocks.read(*read_tables(blocks.namespace())))
        results = _operators.attention(write(built), [x.tensor for x in inputs], *how)
    nothing = results[0].new_empty(0)
    return results[0], results[1] / math.log(2) if lse else nothing, nothing


class _Mods:
    """Traces the graphs of mods. Their buffers become arrays of the spec, each once."""

    def __init__(self, dtype):
        self.dtype, self.arrays = dtype, {}

    def trace(self, name, graph, buffers):
        names = [node.name for node in graph.graph.nodes if node.op == "placeholder"]
        stand_ins = [self._stand_in(*pair) for pair in zip(buffers, names[len(names) - len(buffers):])]
        with ReadTraced(self.dtype):
            return trace(name, lambda *positions: graph.forward(*positions, *stand_ins), lambda function, _: function)

    def _stand_in(self, buffer, name):
        if not isinstance(buffer, torch.Tensor):
            return _number(buffer)
        if buffer.device.type != "cpu":
            raise ValueError(f"{name} is on {buffer.device}, kernels on the CPU")
        return self.arrays.setdefault(id(buffer), Array(Operand(buffer.shape, buffer.dtype, buffer), name))


def _number(x):
    """Numbers are part of what is compiled, also those that PyTorch holds open."""
    return int(x) if isinstance(x, torch.SymInt) else x


class _Blocks:
    """A BlockMask as graphs have it, and what its mask_mod shows."""

    def __init__(self, block_mask, visible):
        self.lengths, self.size = list(block_mask[:2]), list(map(int, block_mask[-3:-1]))
        self.tables = [x for x in block_mask[2:6] if x is not None]
        is_all = visible.op == "constant" and visible.data
        self.visible = None if is_all else visible
        self.are_missing = bool(is_all and self.size == [_WHOLE, _WHOLE] and self.lengths == [1, 1])

    def namespace(self):
        return _operators.make_block_mask(self.tables, self.lengths, self.size)

    def read(self, partial=None, full=None):
        """Which keys are visible by two tables, which may be given by each call."""
        shape = (*self.tables[0].shape[:2], 1, 1)
        tables = [Array(Operand(shape, torch.bool, table), name)
                  for name, table in (("partial_blocks", partial), ("full_blocks", full))]
        shared = [bool(size == 1) for size in shape[:2]]
        mod = read_blocks(lambda *_: True if self.visible is None else self.visible, *tables, self.size, shared)
        return trace("mask_mod", mod, lambda function, _: function)


def _name_mask(graph, buffers):
    """A name by which operators find a mask_mod; None where the text of the graph doesn't say all of it."""
    if any(node.op == "get_attr" for node in graph.graph.nodes):
        return None
    numbers = [None if isinstance(x, torch.Tensor) else _number(x) for x in buffers]
    name = hashlib.sha256(f"{graph.code}{numbers}".encode()).hexdigest()

    def mod(b, h, q, k, *tensors):
        left = iter(tensors)
        return graph.forward(b, h, q, k, *(next(left) if number is None else number for number in numbers))

    _operators.masks[name] = mod
    return name
