"""PyTorch's FlexAttention, compiled for the CPU."""

import functools
import os
import shutil

import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

NAME = "FlexAttention"
VERSION = torch.__version__
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
torch.set_num_threads(1)
if not shutil.which(compiler := os.environ.get("CXX", "g++")):
    raise ImportError(f"expected a C++ compiler for torch.compile, found no {compiler}")


def takes(case):
    """Some variants, for each case takes PyTorch's compiler about ten seconds."""
    compiled = ("causal", "causal window 256", "4 sinks and causal window 256", "6 % of blocks", "ALiBi", "softcap 30",
                "documents", "documents of 512")
    return case.variant.name in compiled and case.q_len % 128 == 0 and case.q_len <= 4096


def prepare(case, arrays):
    """A function that runs the case once and returns its result."""
    tensor = {name: torch.from_numpy(array) for name, array in arrays.items()}
    options = {"enable_gqa": case.heads != case.key_heads}
    if case.variant.score:
        options["score_mod"] = lambda score, b, h, q, k: case.variant.score(torch, score, tensor, b, h, q, k)
    if case.variant.visible:
        visible = lambda b, h, q, k: case.variant.visible(tensor, b, h, q, k)
        options["block_mask"] = create_block_mask(visible, case.batch, None, case.q_len, case.keys, device="cpu")
    compiled = torch.compile(functools.partial(flex_attention, **options), dynamic=False)

    @torch.inference_mode()
    def call():
        return compiled(tensor["query"], tensor["key"], tensor["value"]).numpy()

    return call
