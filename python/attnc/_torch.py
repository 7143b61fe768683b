"""Kernels as ops of PyTorch."""

from ._kernel import _ELEMENTS


def torch_op(name, kernel):
    """Registers `kernel` as the custom op `name`, as in "mine::causal", which
    torch.compile and torch.export take as it is. Inputs by place, in the kernel's
    order."""
    import torch

    inputs = kernel.description["inputs"]
    outputs = kernel.description["outputs"]
    elements = [getattr(torch, _ELEMENTS[output["dtype"]]) for output in outputs]
    tensors = ", ".join(["Tensor"] * len(outputs))
    schema = "({}) -> {}".format(", ".join(f"Tensor {tensor['name']}" for tensor in inputs),
                                 tensors if len(outputs) == 1 else f"({tensors})")

    def run(*tensors):
        # A compiler may choose other strides than the model had; the kernel reads along the last axis.
        return kernel(*(t if t.ndim == 0 or t.stride(-1) == 1 else t.contiguous() for t in tensors))

    def shapes(*tensors):
        empty = tuple(tensors[0].new_empty(shape, dtype=element)
                      for shape, element in zip(kernel.output_shapes(tensors), elements))
        return empty[0] if len(empty) == 1 else empty

    op = torch.library.custom_op(name, run, mutates_args=(), schema=schema)
    op.register_fake(shapes)
    return op
