"""Attention in graphs of torch.compile: what takes the place of scaled_dot_product_attention. It is called while a graph is
traced, with tensors that have shapes alone, sizes being symbols where they are open."""

import dataclasses
import functools
import types

import torch
import torch.nn.functional as F

from . import _operators
from ._attention import build, get_kernel
from ._captured import Array
from ._elements import FLOATS, short_name
from ._fallback import warn_once
from ._spec import SpecWriter
from ._values import POSITIONS, SCORE


class Operand:
    """What a spec needs of a tensor."""

    def __init__(self, shape, dtype, tensor=None):
        self.shape, self.dtype, self.tensor = tuple(shape), dtype, tensor


def cast(*tensors):
    """As autocast does."""
    if not torch.is_autocast_enabled("cpu"):
        return tensors
    dtype = torch.get_autocast_dtype("cpu")
    return tuple(x if x.dtype == torch.float64 else x.to(dtype) for x in tensors)


def check_operands(query, key, value):
    """A ValueError says why kernels don't take them."""
    tensors = query, key, value
    shown = ", ".join(f"{name} {tuple(x.shape)}" for name, x in zip(("query", "key", "value"), tensors))
    if any(x.device.type != "cpu" for x in tensors):
        raise ValueError(f"tensors are on {query.device}, kernels on the CPU")
    if any(x.dtype != query.dtype for x in tensors) or short_name(query.dtype) not in FLOATS:
        raise ValueError(f"query, key and value are {query.dtype}, {key.dtype} and {value.dtype}")
    if any(x.ndim != 4 for x in tensors):
        raise ValueError(f"the shapes are {shown}")
    if query.shape[0] != key.shape[0] or key.shape[:3] != value.shape[:3]:
        raise ValueError(f"batch, heads or lengths differ: {shown}")


def build_open(query, key, value, **options):
    """`build` for any batch and lengths."""
    operands = [Operand((1, int(x.shape[1]), 1, int(x.shape[3])), x.dtype, x) for x in (query, key, value)]
    built, inputs = build(*operands, **options)
    return dataclasses.replace(built, q_len=None), inputs


def write(built):
    """The text of an attention whose kernel is compiled."""
    get_kernel(built)
    return SpecWriter(built, "attention").write()


def find_order(query):
    """The dims of a context from the outermost in memory: those of the query, as PyTorch has them."""
    before = lambda a, b: -1 if query.stride(a) > query.stride(b) else 1 if query.stride(a) < query.stride(b) else a - b
    return sorted(range(3), key=functools.cmp_to_key(before)) + [3]


def leave(name, reason):
    """Says once that a node stays PyTorch's."""
    lines = str(reason).strip().splitlines()
    warn_once(f"{name} is left to PyTorch: {lines[0] if lines else type(reason).__name__}")


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None,
                                 enable_gqa=False):
    """torch.nn.functional's."""
    try:
        return _attend(*cast(query, key, value), attn_mask, dropout_p, is_causal, scale, enable_gqa)
    except OSError:  # no compiler, a full disk
        raise
    except Exception as error:
        leave("scaled_dot_product_attention", error)
    return F.scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, scale=scale,
                                          enable_gqa=enable_gqa)


def _attend(query, key, value, mask, dropout, causal, scale, grouped):
    if dropout:
        raise ValueError(f"dropout_p is {dropout}")
    if mask is not None and causal:
        raise ValueError("both attn_mask and is_causal are given")
    is_single = query.ndim == 3  # of one head
    if is_single and mask is not None and mask.ndim > 3:
        raise ValueError(f"attn_mask has {mask.ndim} dims and query 3")
    if is_single:
        query, key, value = (x.unsqueeze(1) for x in (query, key, value))
        mask = mask.unsqueeze(1) if mask is not None and mask.ndim == 3 else mask
    check_operands(query, key, value)
    if not grouped and query.shape[1] != key.shape[1]:
        raise ValueError(f"query has {query.shape[1]} heads and key {key.shape[1]}, without enable_gqa")
    options = {} if mask is None else _read_mask(mask, (*query.shape[:3], key.shape[2]))
    built, inputs = build_open(query, key, value, scale=None if scale is None else float(scale),
                               causal="top_left" if causal else None, **options)
    context, = _operators.attention(write(built), [x.tensor for x in inputs], find_order(query), False)
    return context.squeeze(1) if is_single else context


def _read_mask(mask, sizes):
    """The options that an attn_mask is: bools, or what is added to scores, which have these sizes."""
    if mask.device.type != "cpu" or mask.ndim > 4:
        raise ValueError(f"attn_mask has shape {tuple(mask.shape)}, on {mask.device}")
    if any(size != 1 and size != wide for size, wide in zip(mask.shape, sizes[4 - mask.ndim:])):
        raise ValueError(f"attn_mask has shape {tuple(mask.shape)}, the scores {tuple(sizes)}")
    table = Array(Operand(mask.shape, mask.dtype, mask), "attn_mask")
    at = [0 if size == 1 else position for size, position in zip(mask.shape, POSITIONS[4 - mask.ndim:])]
    read = table[tuple(at)] if at else table
    return {"mask": read} if mask.dtype == torch.bool else {"score": SCORE + read}


# PyTorch's, which finds the function above in place of its own, also under modes that see calls of torch.
multi_head_attention_forward = types.FunctionType(
    F.multi_head_attention_forward.__code__,
    {**vars(F), "__name__": __name__, "has_torch_function": lambda _: False,
     "scaled_dot_product_attention": scaled_dot_product_attention},
    "multi_head_attention_forward", F.multi_head_attention_forward.__defaults__)
