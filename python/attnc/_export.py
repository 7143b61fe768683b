"""PyTorch modules by way of ONNX."""

import contextlib
import logging
import os
import shutil
import tempfile

import sympy
import torch
from torch.utils._pytree import tree_map

from . import _flex_export
from ._compile import CompileError, compile
from ._fallback import warn_once

_OPSET = 23  # the first with attention
# Says for each module that it has no use for torchvision.
logging.getLogger("torch.onnx._internal.exporter._registration").setLevel(logging.ERROR)


def from_torch(module, inputs, dynamic_shapes, target, name):
    """attnc.from_torch."""
    with _evaluating(module):
        program = _export(module, _separate(inputs), dynamic_shapes, name)
    _refuse_writes(program.exported_program.graph_signature, name)
    if any(x.dtype == torch.float64 for x in program.exported_program.state_dict.values()):
        warn_once(f"{name}: PyTorch's exporter rounds constants of float64 modules to float32")
    folder = tempfile.mkdtemp()
    try:
        path = os.path.join(folder, name + ".onnx")
        program.save(path)
        kernel = compile(path, target=target, name=name)
    except CompileError:
        folder = None  # the error names a node of the file
        raise
    finally:
        if folder:
            shutil.rmtree(folder)
    kernel.add_sizes(_find_sizes(program.exported_program))
    return kernel


def _export(module, inputs, dynamic_shapes, name):
    """An ONNX program."""
    if inputs and isinstance(inputs[-1], dict):
        inputs = (*inputs, {})  # else torch.onnx.export takes the dict as keyword arguments
    try:
        with _flex_export.writing_out() as calls:
            program = torch.onnx.export(module, inputs, dynamic_shapes=dynamic_shapes, dynamo=True, optimize=False, verbose=False,
                                        opset_version=_OPSET)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"attnc.from_torch: expected the package {error.name}, found none: pip install onnx onnxscript",
                                  name=error.name) from error
    except Exception as error:
        if isinstance(error.__cause__, _flex_export.Refusal):
            raise NotImplementedError(f"{name}: {error.__cause__}") from error
        raise
    if not calls:  # for which it would make tables of what follows from positions
        program.optimize()
    return program


def _refuse_writes(signature, name):
    """A kernel keeps nothing from one call to the next."""
    for what, written in (("buffer", signature.buffers_to_mutate), ("input", signature.user_inputs_to_mutate)):
        for target in written.values():
            raise NotImplementedError(f"{name}: the module writes its {what} {target!r}, which a kernel leaves as it is: "
                                      "take it as an input and return it as a result")


@contextlib.contextmanager
def _evaluating(module):
    """Without dropout; each part is in the mode it was in afterwards."""
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, mode in modes:
            part.training = mode


def _separate(inputs):
    """A tensor that is given twice stands for two inputs, which the exporter would take for one."""
    seen = set()

    def copy_known(x):
        if not isinstance(x, torch.Tensor):
            return x
        is_known = id(x) in seen
        seen.add(id(x))
        return x.clone() if is_known else x

    return tree_map(copy_known, inputs)


def _find_sizes(program):
    """For each result, for each dim a function of the inputs that gives its size; None where none is known."""
    nodes = {node.name: node for node in program.graph.nodes}
    shapes = lambda names: [getattr(nodes[name].meta.get("val"), "shape", ()) if name in nodes else () for name in names]
    places = {}
    for number, shape in enumerate(shapes(program.graph_signature.user_inputs)):
        for axis, size in enumerate(shape):
            places.setdefault(_expression(size), (number, axis))
    return [[_evaluate(_expression(size), places) for size in shape]
            for shape in shapes(program.graph_signature.user_outputs)]


def _expression(size):
    return size.node.expr if isinstance(size, torch.SymInt) else sympy.Integer(size)


def _evaluate(expression, places):
    if not expression.free_symbols <= places.keys():
        return None
    symbols = {symbol: places[symbol] for symbol in expression.free_symbols}
    return lambda inputs: int(expression.xreplace({symbol: sympy.Integer(inputs[number].shape[axis])
                                                   for symbol, (number, axis) in symbols.items()}))
