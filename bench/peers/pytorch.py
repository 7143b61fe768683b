"""PyTorch's scaled_dot_product_attention; modules eagerly around it."""

import encoder
import torch
from encoder import Encoder
from work import Module

NAME = "PyTorch"
VERSION = torch.__version__
torch.set_num_threads(1)


def takes(case):
    """Not where a dense mask and PyTorch's copy of it would take many GB."""
    return case.variant.visible is None or case.variant.name == "causal" or case.q_len <= 16384


def sdpa_options(case, arrays):
    """The variant in PyTorch's words: causal by name, any other mask or bias dense.
    A softcap it does not have; it is timed without."""
    options = {"enable_gqa": True} if case.kv_heads else {}
    if case.variant.name == "causal":
        options["is_causal"] = True
    elif case.variant.visible:
        options["attn_mask"] = torch.from_numpy(case.dense_mask(arrays))
    elif case.variant.score and case.variant.additive:
        options["attn_mask"] = torch.from_numpy(case.dense_bias(arrays))
    return options


def prepare(case, arrays):
    """A function that runs the case once and returns its result."""
    if isinstance(case, Module):
        return prepare_module(case, arrays)
    if isinstance(case, Encoder):
        return prepare_encoder(arrays)
    element = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[case.element]
    query, key, value = (torch.from_numpy(arrays[n]).view(element) for n in ("query", "key", "value"))
    options = sdpa_options(case, arrays)

    @torch.inference_mode()
    def call():
        context = torch.nn.functional.scaled_dot_product_attention(query, key, value, **options)
        return (context.view(torch.uint16) if case.element == "bf16" else context).numpy()

    return call


def prepare_module(case, arrays):
    tensor = {name: torch.from_numpy(array) for name, array in arrays.items()}
    inward = ("query", "key", "value")
    qkv_weight = torch.cat([tensor[n + "_weight"] for n in inward])
    qkv_bias = torch.cat([tensor[n + "_bias"] for n in inward])

    @torch.inference_mode()
    def call():
        wide = torch.nn.functional.linear(tensor["hidden"], qkv_weight, qkv_bias)
        split = wide.view(case.batch, case.len, 3, case.heads, case.head_dim).permute(2, 0, 3, 1, 4)
        context = torch.nn.functional.scaled_dot_product_attention(*split)
        merged = context.transpose(1, 2).reshape(case.output_shape())
        attended = torch.nn.functional.linear(merged, tensor["output_weight"], tensor["output_bias"])
        if not case.normed:
            return attended.numpy()
        return torch.nn.functional.layer_norm(attended + tensor["hidden"], (case.width,), tensor["norm_scale"],
                                              tensor["norm_bias"], case.epsilon).numpy()

    return call


def prepare_encoder(arrays):
    from export_onnx import load  # the example's own module
    encode = load(encoder.weights_path())
    token_ids, attention_mask = map(torch.from_numpy, arrays.values())

    @torch.inference_mode()
    def call():
        return encode(token_ids, attention_mask).numpy()

    return call
