"""What the blocks of a BlockMask say beside its mask_mod."""

import weakref

import torch
from torch.nn.attention.flex_attention import create_block_mask

_agreeing = weakref.WeakKeyDictionary()  # for BlockMasks their mask_mod, and whether it says what their blocks say


def choose_mod(block_mask):
    """A mask_mod that shows what the BlockMask does: its own where the blocks say no more."""
    known, agrees = _agreeing.get(block_mask, (None, False))
    if known is not block_mask.mask_mod:
        agrees = _agree(block_mask)
        _agreeing[block_mask] = (block_mask.mask_mod, agrees)
    return block_mask.mask_mod if agrees else _read_blocks(block_mask)


def _agree(block_mask):
    """Whether the blocks are those of the mask_mod, as create_block_mask makes them."""
    batch, heads = block_mask.kv_num_blocks.shape[:2]
    made = create_block_mask(block_mask.mask_mod, batch, heads, *block_mask.seq_lengths, device="cpu",
                             BLOCK_SIZE=block_mask.BLOCK_SIZE)
    (partial, full), (made_partial, made_full) = _tables(block_mask), _tables(made)
    # What is visible as a whole may be listed as visible in parts.
    return torch.equal(partial | full, made_partial | made_full) and not (full & ~made_full).any()


def _tables(block_mask):
    """For each block whether it is visible in parts, by the mask_mod, and whether it is as a whole."""
    partial = _table(block_mask.kv_num_blocks, block_mask.kv_indices)
    if block_mask.full_kv_num_blocks is None:
        return partial, torch.zeros_like(partial)
    return partial, _table(block_mask.full_kv_num_blocks, block_mask.full_kv_indices)


def _table(counts, columns):
    listed = torch.arange(columns.shape[-1]) < counts[..., None]
    # One column more takes what isn't listed.
    table = torch.zeros(*columns.shape[:-1], columns.shape[-1] + 1, dtype=torch.bool)
    return table.scatter(-1, torch.where(listed, columns, columns.shape[-1]).long(), True)[..., :-1]


def _read_blocks(block_mask):
    """A mask_mod that reads the blocks, too."""
    partial, full = _tables(block_mask)
    rows, columns = block_mask.BLOCK_SIZE
    one_batch, one_head = (size == 1 for size in partial.shape[:2])

    def mask_mod(b, h, q, k):
        at = (0 if one_batch else b, 0 if one_head else h, q // rows, k // columns)
        return full[at] | partial[at] & block_mask.mask_mod(b, h, q, k)

    return mask_mod
