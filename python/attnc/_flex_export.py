"""FlexAttention in modules that become ONNX: as operators that compute the scores, which attnc finds to be an attention again."""

import contextlib
from concurrent.futures import ThreadPoolExecutor

import torch
import torch.nn.functional as F
from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex
from torch._subclasses.fake_tensor import FakeTensor
from torch.nn.attention import flex_attention as flex

from ._blocks import add_blocks, blocks_agree


_calls = []
_CREATE = flex.create_block_mask.__code__


class Refusal(Exception):
    """What ONNX can't say."""


class _ByMod(flex.BlockMask):
    """A BlockMask without blocks."""

    def __init__(self, mask_mod, lengths):
        self.mask_mod, self.seq_lengths = mask_mod, lengths


def _create_block_mask(mask_mod, B, H, Q_LEN, KV_LEN, device=None, BLOCK_SIZE=128, _compile=False, **_):
    from attnc._flex_export import _ByMod

    return _ByMod(mask_mod, (Q_LEN, KV_LEN))


def _flex_attention(query, key, value, score_mod=None, block_mask=None, scale=None, enable_gqa=False, return_lse=False,
                    kernel_options=None, *, return_aux=None):
    from attnc._flex_export import attend

    return attend(query, key, value, score_mod, block_mask, scale, return_lse or return_aux is not None)


@contextlib.contextmanager
def writing_out():
    """Within it PyTorch's functions, under whatever name a module has them, have the code of those above. Gives a list of
    the calls."""
    _calls.clear()
    with _having_code({flex.flex_attention: _flex_attention.__code__, flex.create_block_mask: _create_block_mask.__code__}):
        yield _calls


@contextlib.contextmanager
def _having_code(codes):
    before = {function: function.__code__ for function in codes}
    for function, code in codes.items():
        function.__code__ = code
    try:
        yield
    finally:
        for function, code in before.items():
            function.__code__ = code


def attend(query, key, value, score_mod, block_mask, scale, wants_more):
    """flex_attention."""
    _calls.append(score_mod)
    if wants_more:
        raise Refusal("expected the context alone from flex_attention, found return_lse or return_aux")
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    mask = None if block_mask is None else _over_positions(_find_mod(block_mask), query, key)
    if score_mod is None:
        return F.scaled_dot_product_attention(query, key, value, mask, scale=scale, enable_gqa=query.shape[1] != key.shape[1])
    key, value = (x.repeat_interleave(query.shape[1] // x.shape[1], 1) for x in (key, value))
    work = torch.float64 if query.dtype == torch.float64 else torch.float32
    score = query.to(work) @ key.to(work).transpose(-2, -1) * scale
    score = _over_positions(score_mod, query, key, score).to(work)
    score = score if mask is None else torch.where(mask, score, -torch.inf)
    return torch.softmax(score, -1).to(query.dtype) @ value


def _find_mod(block_mask):
    if isinstance(block_mask, _ByMod):
        return block_mask.mask_mod
    if isinstance(block_mask.kv_num_blocks, FakeTensor):
        raise Refusal("expected a BlockMask by create_block_mask or from outside of forward, found one of other blocks")
    # Exporting is a mode of this thread.
    with ThreadPoolExecutor(1) as thread, _having_code({flex.create_block_mask: _CREATE}):
        agrees = thread.submit(blocks_agree, block_mask).result()
    return block_mask.mask_mod if agrees else add_blocks(block_mask)


def _over_positions(mod, query, key, *score):
    """The table of a mod."""
    sizes = (*query.shape[:3], key.shape[2])
    with TransformGetItemToIndex():
        return flex._vmap_for_bhqkv(mod, prefix=(0,) * len(score))(*score, *map(torch.arange, sizes))
