"""PyTorch's scaled_dot_product_attention."""

import torch

NAME = "PyTorch"
VERSION = torch.__version__
torch.set_num_threads(1)


def prepare(case, arrays):
    """A function that runs the case once and returns its result."""
    query, key, value = (torch.from_numpy(arrays[n]) for n in ("query", "key", "value"))
    options = {}
    if case.mask == "causal(top_left)":
        options["is_causal"] = True
    elif case.mask:
        options["attn_mask"] = torch.from_numpy(case.visible())
    if case.kv_heads:
        options["enable_gqa"] = True

    @torch.inference_mode()
    def call():
        return torch.nn.functional.scaled_dot_product_attention(query, key, value, **options).numpy()

    return call
