"""FlexAttention in float64, by PyTorch's own vmap over mods."""

import torch
from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex


def _over_positions(mod, has_score):
    score = (0,) if has_score else ()
    for which in range(3, -1, -1):  # the last dim innermost
        mod = torch.vmap(mod, in_dims=(*score, *(0 if axis == which else None for axis in range(4))))
    return mod


def reference(query, key, value, score_mod=None, mask_mod=None, scale=None):
    """(context, lse)"""
    query, key, value = (x.double() for x in (query, key, value))
    group = query.shape[1] // key.shape[1]
    key, value = (x.repeat_interleave(group, 1) for x in (key, value))
    scores = query @ key.transpose(-1, -2) * (query.shape[-1] ** -0.5 if scale is None else scale)
    positions = [torch.arange(size) for size in scores.shape]
    with TransformGetItemToIndex():
        if score_mod:
            scores = _over_positions(score_mod, True)(scores, *positions).double()
        if mask_mod:
            scores = scores.masked_fill(~_over_positions(mask_mod, False)(*positions).expand(scores.shape), -torch.inf)
    lse = torch.logsumexp(scores, -1)
    prob = torch.exp(scores - torch.where(lse == -torch.inf, 0, lse)[..., None])
    return prob @ value, lse
