"""Writes what the PyTorch modules of an example compute to its recorded.npz.

usage: record.py FOLDER...   (with PyTorch; ./dev test has none and reads what this writes)

module.py has `CASES`, which gives for each function of spec.mlir a module, the
tensors it is called with by name, and the names of its results. The module's
parameters are arguments of the function too, under the name they have in its
state_dict with "_" for ".". Recorded are the arguments in float32 and the results
in float32 and in float64, as FUNCTION/in/NAME, FUNCTION/f32/NAME, FUNCTION/f64/NAME.
"""

import importlib.util
import os
import sys

import numpy as np
import torch


def shake(module):
    """Moves every parameter off its first value: norms start as if they had none."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))


def convert(tensors, dtype):
    """Floats in another type; integers and booleans as they are."""
    return {n: t.to(dtype) if t.is_floating_point() else t for n, t in tensors.items()}


def call(module, inputs, results, dtype):
    with torch.no_grad():
        outputs = module.to(dtype)(**convert(inputs, dtype))
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    return dict(zip(results, (o.numpy() for o in outputs), strict=True))


def record(function, make):
    """The arrays of one case under the names they are kept by."""
    torch.manual_seed(0)
    module, inputs, results = make()
    module.eval()
    shake(module)
    weights = {n.replace(".", "_"): p.detach() for n, p in module.named_parameters()}
    arguments = {n: t.numpy().copy() for n, t in {**inputs, **weights}.items()}
    plain = call(module, inputs, results, torch.float32)
    exact = call(module, inputs, results, torch.float64)
    parts = {"in": arguments, "f32": plain, "f64": exact}
    return {f"{function}/{part}/{n}": a for part, arrays in parts.items() for n, a in arrays.items()}


def record_folder(folder):
    location = importlib.util.spec_from_file_location("module", os.path.join(folder, "module.py"))
    module = importlib.util.module_from_spec(location)
    location.loader.exec_module(module)
    arrays = {}
    for function, make in module.CASES.items():
        arrays.update(record(function, make))
    np.savez_compressed(os.path.join(folder, "recorded.npz"), **arrays)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for folder in sys.argv[1:]:
        record_folder(folder)
