"""The block tables of a BlockMask beside its mask_mod."""

import weakref

import torch
from torch.nn.attention.flex_attention import create_block_mask

_agreeing = weakref.WeakKeyDictionary()  # for BlockMasks their mask_mod, what it reads, and whether it says what their blocks say


class Snapshot:
    """Tensors, to be compared with those of a later call, which may have been changed in place."""

    def __init__(self, tensors):
        self.parts = [(weakref.ref(x), _version(x), x.detach().clone()) for x in tensors]

    def equals(self, tensors):
        return len(self.parts) == len(tensors) and all(
            reference() is x and version is not None and version == _version(x)
            or copy.dtype == x.dtype and torch.equal(copy, x)
            for (reference, version, copy), x in zip(self.parts, tensors))


def _version(tensor):
    """None in inference mode, which counts no changes."""
    return None if tensor.is_inference() else tensor._version


def find_agreement(block_mask, captured):
    """blocks_agree, asked once until the BlockMask or one of the tensors `captured`, which its mask_mod reads, changes."""
    mod, before, agrees = _agreeing.get(block_mask, (None, None, False))
    tensors = [x for x in (block_mask.kv_num_blocks, block_mask.kv_indices, block_mask.full_kv_num_blocks,
                           block_mask.full_kv_indices, *captured) if x is not None]
    if mod is not block_mask.mask_mod or not before.equals(tensors):
        agrees = blocks_agree(block_mask)
        _agreeing[block_mask] = block_mask.mask_mod, Snapshot(tensors), agrees
    return agrees


def blocks_agree(block_mask):
    """Whether the blocks are those of the mask_mod, as create_block_mask makes them."""
    batch, heads = block_mask.kv_num_blocks.shape[:2]
    made = create_block_mask(block_mask.mask_mod, batch, heads, *block_mask.seq_lengths, device="cpu",
                             BLOCK_SIZE=block_mask.BLOCK_SIZE)
    (partial, full), (made_partial, made_full) = read_tables(block_mask), read_tables(made)
    # What is visible as a whole may be listed as visible in parts.
    return torch.equal(partial | full, made_partial | made_full) and not (full & ~made_full).any()


def read_tables(block_mask):
    """Tables of the partial blocks, to which the mask_mod applies, and of the full blocks."""
    partial = _table(block_mask.kv_num_blocks, block_mask.kv_indices)
    if block_mask.full_kv_num_blocks is None:
        return partial, torch.zeros_like(partial)
    return partial, _table(block_mask.full_kv_num_blocks, block_mask.full_kv_indices)


def _table(counts, columns):
    listed = torch.arange(columns.shape[-1]) < counts[..., None]
    # One column more takes what isn't listed.
    table = torch.zeros(*columns.shape[:-1], columns.shape[-1] + 1, dtype=torch.bool)
    return table.scatter(-1, torch.where(listed, columns, columns.shape[-1]).long(), True)[..., :-1]


def add_blocks(block_mask):
    """A mask_mod that reads the block tables, too."""
    partial, full = read_tables(block_mask)
    return read_blocks(block_mask.mask_mod, partial, full, block_mask.BLOCK_SIZE, [size == 1 for size in partial.shape[:2]])


def read_blocks(mod, partial, full, block_size, shared):
    """A mask_mod of `mod` in the blocks of two tables; `shared`: whether batches and heads share theirs."""
    def mask_mod(b, h, q, k):
        visible = mod(b, h, q, k)
        at = (0 if shared[0] else b, 0 if shared[1] else h, q // block_size[0], k // block_size[1])
        return partial[at] & visible | full[at]

    return mask_mod
