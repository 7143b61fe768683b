"""The operators that attention becomes in PyTorch's graphs. The text of a spec names their kernel, so that a graph which
PyTorch keeps on disk means the same in another process."""

import types
from concurrent.futures import ThreadPoolExecutor

import torch
from torch.utils.weak import WeakTensorKeyDictionary

from ._attention import find_kernel
from ._blocks import Snapshot, blocks_agree, read_tables
from ._of_torch import ready


def _allocate(query, value, order, lse):
    """The context, its dims in memory in `order`, and the lse of a kernel that gives it."""
    sizes = (*query.shape[:3], value.shape[3])
    context = query.new_empty([sizes[axis] for axis in order]).permute([order.index(axis) for axis in range(4)])
    element = torch.float64 if query.dtype == torch.float64 else torch.float32
    return [context, query.new_empty(sizes[:3], dtype=element)] if lse else [context]


def _run(spec, operands, order, lse):
    results = _allocate(operands[0], operands[2], order, lse)
    find_kernel(spec)(*map(ready, operands), out=results)
    return results


@torch.library.custom_op("attnc::attention", mutates_args=())
def attention(spec: str, operands: list[torch.Tensor], order: list[int], lse: bool) -> list[torch.Tensor]:
    """[context], or [context, lse], of query, key, value and what else `spec` reads."""
    return _run(spec, operands, order, lse)


@attention.register_fake
def _(spec, operands, order, lse):
    return _allocate(operands[0], operands[2], order, lse)


@torch.library.custom_op("attnc::block_attention", mutates_args=())
def block_attention(spec: str, by_tables: str, operands: list[torch.Tensor], order: list[int], lse: bool, mask: str,
                    tables: list[torch.Tensor], lengths: list[int], block_size: list[int],
                    captured: list[torch.Tensor]) -> list[torch.Tensor]:
    """Attention under a BlockMask of `tables`, whose mask_mod, called `mask`, reads `captured`: by `spec` where the tables
    show what the mask_mod does; else `by_tables`, a spec that reads them, too."""
    block_mask = make_block_mask(tables, lengths, block_size)
    if _agree(mask, block_mask, tables, captured):
        return _run(spec, operands, order, lse)
    return _run(by_tables, operands + list(read_tables(block_mask)), order, lse)


@block_attention.register_fake
def _(spec, by_tables, operands, order, lse, mask, tables, lengths, block_size, captured):
    return _allocate(operands[0], operands[2], order, lse)


def make_block_mask(tables, lengths, block_size):
    names = "kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices"
    return types.SimpleNamespace(seq_lengths=lengths, BLOCK_SIZE=tuple(block_size),
                                 **dict(zip(names, [*tables, None, None])))


masks = {}  # mask_mods of graphs by their names
_known = WeakTensorKeyDictionary()  # for a table: for a mask what was compared, and whether it agreed


def _agree(mask, block_mask, tables, captured):
    """Compared once, until a tensor changes."""
    if mask not in masks:
        return False
    known = _known.setdefault(tables[1], {})
    before, agreed = known.get(mask, (None, False))
    if before is None or not before.equals([*tables, *captured]):
        block_mask.mask_mod = lambda b, h, q, k: masks[mask](b, h, q, k, *captured)
        with ThreadPoolExecutor(1) as thread:  # compiled graphs run where vmap, which mods need, does not
            agreed = thread.submit(blocks_agree, block_mask).result()
        known[mask] = Snapshot([*tables, *captured]), agreed
    return agreed
