"""FlexAttention's call."""

import torch
from torch.nn.attention.flex_attention import AuxOutput, BlockMask

from ._attention import build, get_kernel
from ._blocks import add_blocks, find_agreement
from ._of_torch import ReadTraced, ready
from ._regions import captured, collect
from ._trace import trace


@torch.compiler.disable
def flex_attention(query, key, value, score_mod, block_mask, scale, enable_gqa, return_lse, return_aux):
    """attnc.flex_attention."""
    _check_request(return_lse, return_aux)
    query, key, value = _check(query, key, value, enable_gqa)
    trace_mod = lambda name, mod: trace(name, mod, substitute=lambda function, _: function)
    with ReadTraced(query.dtype):
        score = None if score_mod is None else trace_mod("score_mod", score_mod)
        mask = None if block_mask is None else trace_mod("mask_mod", _check_block_mask(block_mask, query, key).mask_mod)
    if mask is not None and not find_agreement(block_mask, [array.source for array in captured(collect(mask))]):
        with ReadTraced(query.dtype):
            mask = trace_mod("mask_mod", add_blocks(block_mask))
    lse = return_lse if return_aux is None else return_aux.lse
    built, inputs = build(query, key, value, score=score, mask=mask, scale=scale, return_lse=lse)
    _check_gradients(inputs)
    results = get_kernel(built)(*map(ready, inputs))
    if return_aux is None:
        return results
    return (results[0], AuxOutput(lse=results[1])) if lse else (results, AuxOutput())


def _check_request(return_lse, return_aux):
    if return_aux is None:
        return
    if return_lse:
        raise ValueError("return_lse: expected False beside return_aux, found True: ask for AuxRequest(lse=True)")
    if return_aux.max_scores:
        raise ValueError("return_aux: expected an AuxRequest without max_scores, which kernels don't return")


def _check(query, key, value, enable_gqa):
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"{name}: expected a tensor of PyTorch, found {type(tensor).__name__}")
        if tensor.ndim != 4:
            raise ValueError(f"{name}: expected 4 dims (batch, heads, length, head_dim), found shape {tuple(tensor.shape)}")
        if tensor.device.type != "cpu":
            raise ValueError(f"{name}: expected a tensor on the CPU, found one on {tensor.device}")
    if not enable_gqa and query.shape[1] != key.shape[1]:
        raise ValueError(f"key: expected {query.shape[1]} heads as in query, found {key.shape[1]}: give enable_gqa=True "
                         "for heads that share keys")
    if key.shape[0] == value.shape[0] == 1:
        key, value = (tensor.expand(query.shape[0], -1, -1, -1) for tensor in (key, value))
    return query, key, value


def _check_gradients(tensors):
    """A ValueError where PyTorch would want a derivative."""
    if torch.is_grad_enabled() and any(getattr(tensor, "requires_grad", False) for tensor in tensors):
        raise ValueError("expected tensors without requires_grad, as attention has no gradient yet: call it under "
                         "torch.no_grad(), or on tensor.detach()")


def _check_block_mask(block_mask, query, key):
    if not isinstance(block_mask, BlockMask):
        raise TypeError(f"block_mask: expected a BlockMask, found {type(block_mask).__name__}")
    if getattr(block_mask.mask_mod, "__name__", "") == "_sliced_mask_mod_error":
        raise ValueError("block_mask: expected one with its mask_mod, found a slice of another: set its mask_mod")
    if tuple(block_mask.seq_lengths) != (query.shape[2], key.shape[2]):
        raise ValueError(f"block_mask: expected lengths {(query.shape[2], key.shape[2])} as of query and key, found "
                         f"{tuple(block_mask.seq_lengths)}")
    for axis, name in enumerate(("batch", "heads")):
        if block_mask.kv_num_blocks.shape[axis] not in (1, query.shape[axis]):
            raise ValueError(f"block_mask: expected 1 or {query.shape[axis]} as {name}, found "
                             f"{block_mask.kv_num_blocks.shape[axis]}")
    return block_mask
