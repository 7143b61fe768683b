"""torch.nn.TransformerEncoderLayer where it runs as one operator of PyTorch, whose attention no graph shows."""

import torch
import torch.nn.functional as F

from ._sdpa import scaled_dot_product_attention


def transformer_encoder_layer_fwd(x, width, heads, qkv_weight, qkv_bias, proj_weight, proj_bias, use_gelu, norm_first, eps,
                                  norm_weight_1, norm_bias_1, norm_weight_2, norm_bias_2, ffn_weight_1, ffn_bias_1,
                                  ffn_weight_2, ffn_bias_2, mask=None, mask_type=None):
    """PyTorch's operator of this name, from others."""
    visible = None if mask is None else _find_visible(mask, mask_type)

    def attend(x):
        query, key, value = (part.unflatten(-1, (heads, -1)).transpose(1, 2)
                             for part in F.linear(x, qkv_weight, qkv_bias).chunk(3, -1))
        context = scaled_dot_product_attention(query, key, value, visible)
        return F.linear(context.transpose(1, 2).flatten(2), proj_weight, proj_bias)

    def feed(x):
        return F.linear((F.gelu if use_gelu else F.relu)(F.linear(x, ffn_weight_1, ffn_bias_1)), ffn_weight_2, ffn_bias_2)

    first, second = (lambda x, weight=weight, bias=bias: F.layer_norm(x, (width,), weight, bias, eps)
                     for weight, bias in ((norm_weight_1, norm_bias_1), (norm_weight_2, norm_bias_2)))
    if norm_first:
        x = x + attend(first(x))
        return x + feed(second(x))
    x = first(x + attend(x))
    return second(x + feed(x))


def _find_visible(mask, mask_type):
    """As the operator has it, what is not 0 hides a key: of rows and keys, of batch and keys (1), or of all dims (2)."""
    visible = ~mask.to(torch.bool)
    return visible[:, None, None, :] if mask_type == 1 else visible
