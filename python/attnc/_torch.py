"""PyTorch modules as kernels, kernels as PyTorch ops, and FlexAttention."""

import re

from ._compile import check_name
from ._elements import NAMES, side_by_side
from ._kernel import Kernel


def from_torch(module, example_inputs, dynamic_shapes=None, target=None, name=None):
    """The kernel of a module in evaluation mode, its weights included, by way of ONNX; PyTorch's exporter needs
    the packages onnx and onnxscript. `example_inputs` is a tuple; sizes are theirs unless
    `dynamic_shapes`, as in torch.export, opens them. FlexAttention within is compiled by its mods. `name` is
    the C function's, by default the class's."""
    import torch

    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"module: expected a torch.nn.Module, found {type(module).__name__}")
    if not isinstance(example_inputs, (tuple, list)):
        raise TypeError(f"example_inputs: expected a tuple, found {type(example_inputs).__name__}")
    check_name(type(module).__name__ if name is None else name)
    from . import _export

    return _export.from_torch(module, tuple(example_inputs), dynamic_shapes, target, name or type(module).__name__)


def flex_attention(query, key, value, score_mod=None, block_mask=None, scale=None, enable_gqa=False, return_lse=False,
                   kernel_options=None, *, return_aux=None):
    """torch.nn.attention.flex_attention on the CPU: softmax(score_mod(scale * query @ key.T)) @ value over the keys
    that `block_mask` shows, for tensors query (batch, heads, q_len, head_dim), key (batch, kv_heads, kv_len, head_dim)
    and value (batch, kv_heads, kv_len, value_dim) of f32, f16, bf16 or f64; key and value may have a batch of 1.

    `score_mod(score, b, h, q_idx, kv_idx)` and the mask_mod of `block_mask` are functions of traced values: PyTorch's
    functions of one element, operators, and reads of tensors. They are compiled once for all sizes of batch, query and
    key. `kv_heads` other than heads needs `enable_gqa`. `return_aux=AuxRequest(lse=True)` gives (context, AuxOutput), the
    lse of shape (batch, heads, q_len) in f32 (f64 for f64), and the older `return_lse` (context, lse); no
    `max_scores`. `kernel_options` are Triton's and ignored. There is no gradient: a ValueError says so where one is
    asked for."""
    from . import _flex

    return _flex.flex_attention(query, key, value, score_mod, block_mask, scale, enable_gqa, return_lse, return_aux)


def torch_op(name, kernel):
    """Registers `kernel` as the custom op `name`, as in "mine::causal", for
    torch.compile and torch.export. Inputs are positional, in the kernel's order. There is no gradient:
    a NotImplementedError says so where one is computed."""
    import torch

    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_]\w*::[A-Za-z_]\w*", name, re.ASCII):
        raise ValueError(f'name: expected one of the form "namespace::name", found {name!r}')
    if not isinstance(kernel, Kernel):
        raise TypeError(f"kernel: expected one of attnc.compile, load or from_torch, found {type(kernel).__name__}")
    inputs = kernel.description["inputs"]
    outputs = kernel.description["outputs"]
    elements = [getattr(torch, NAMES[output["dtype"]]) for output in outputs]
    tensors = ", ".join(["Tensor"] * len(outputs))
    schema = "({}) -> {}".format(", ".join(f"Tensor {tensor['name']}" for tensor in inputs),
                                 tensors if len(outputs) == 1 else f"({tensors})")

    def run(*tensors):
        if _is_forward_mode(tensors):
            raise NotImplementedError(f"{name}: expected no gradient of forward mode to be asked for, as kernels have none yet: "
                                      "call it outside of forward_ad.dual_level() and torch.func.jvp")
        # A compiler may choose other strides than the model had; the kernel reads along the last axis.
        return kernel(*[side_by_side(t.detach()) for t in tensors])

    def shapes(*tensors):
        empty = tuple(tensors[0].new_empty(shape, dtype=element)
                      for shape, element in zip(kernel.output_shapes(tensors), elements))
        return empty[0] if len(empty) == 1 else empty

    def refuse(context, *gradients):
        raise NotImplementedError(f"{name}: expected no gradient to be asked for, as kernels have none yet: call it under "
                                  "torch.no_grad(), or on tensor.detach()")

    op = torch.library.custom_op(name, run, mutates_args=(), schema=schema)
    op.register_fake(shapes)
    op.register_autograd(refuse)
    return op


def _is_forward_mode(tensors):
    """Whether a tangent would be lost. torch.func.jvp hides those of an op's inputs from it."""
    from torch._functorch import eager_transforms
    from torch.autograd import forward_ad

    return forward_ad._current_level >= 0 and (eager_transforms.JVP_NESTING > 0 or
                                               any(forward_ad.unpack_dual(t).tangent is not None for t in tensors))
