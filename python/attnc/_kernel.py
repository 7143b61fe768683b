"""A library that attnc made, as a callable."""

import json
import numbers
import os
import re
import sys

import numpy as np

from ._elements import NAMES
from .library import Library


def load(path, name=None, weights=None):
    """Loads the kernel of the shared library at `path`. `name` is that of its C function, by default
    NAME of the file libNAME.so. `weights` is the file of its constants, if it has one, by default
    the one beside the library."""
    path = os.fspath(path)
    stem = re.fullmatch(r"(?:lib)?(.*?)\.so[.\d]*", os.path.basename(path))
    if name is None and not stem:
        raise ValueError(f"path: expected a shared library called libNAME.so, or the name of its C function by name=, found {path}"
                         + (": attnc.compile takes specs" if path.endswith((".mlir", ".onnx")) else ""))
    return Kernel(os.path.abspath(path), name or stem[1], weights)


def _check_threads(threads):
    """The error if they are not a number that C's int holds."""
    if not isinstance(threads, numbers.Integral):
        return TypeError(f"threads: expected an int, found {threads!r}")
    return None if threads < 2**31 else ValueError(f"threads: expected at most {2**31 - 1}, found {threads}")


_BITS = {"float8_e4m3fn": "uint8"}  # what numpy holds of a type that it lacks


def _describe_dim(dim):
    """Symbols are anybody's text."""
    return "?" if dim is None else repr(dim)[1:-1] if isinstance(dim, str) else str(dim)


class Kernel:
    """Call it with its inputs in order, or by name. `out` is an array, or a tuple of
    arrays for several results; `threads` is the maximal number of threads,
    0 for one per processor."""

    def __init__(self, path, name, weights=None):
        self._library = Library(path, name)
        self.name = name
        self.description = json.loads(self._library.description)
        if "weights" in self.description:
            beside = os.path.join(os.path.dirname(path), self.description["weights"]["file"])
            self._library.load_weights(os.fspath(weights or beside))
        elif weights:
            raise ValueError(f"expected no file of weights for a library with its constants within, found {weights}")
        self._inputs = [tensor["name"] for tensor in self.description["inputs"]]
        self._outputs = self.description["outputs"]
        self._sources = [self._find_sources(output["dims"]) for output in self._outputs]
        self._elements = [NAMES[output["dtype"]] for output in self._outputs]
        self._torch_elements = None  # until the first tensor comes

    def _find_sources(self, dims):
        """For each dimension of a result its size, or the (input, axis) that it is
        equal to, or None."""
        places = {}
        for number, tensor in enumerate(self.description["inputs"]):
            for axis, dim in enumerate(tensor["dims"]):
                if isinstance(dim, str):
                    places.setdefault(dim, (number, axis))
        return [places.get(dim) if isinstance(dim, str) else dim for dim in dims]

    def __repr__(self):
        tensor = lambda t: f"{t['name']}: {t['dtype']}[{', '.join(map(_describe_dim, t['dims']))}]"
        inputs, outputs = (", ".join(map(tensor, self.description[side])) for side in ("inputs", "outputs"))
        return f"<attnc kernel {self.name}({inputs}) -> {outputs}>"

    def __call__(self, *inputs, out=None, threads=0, **named):
        if named:
            inputs = self._order(inputs, named)
        if len(inputs) != len(self._inputs):
            raise TypeError(f"expected {len(self._inputs)} inputs ({', '.join(self._inputs)}), found {len(inputs)}")
        if out is None:
            outputs = self._allocate(inputs)
        else:
            outputs = tuple(out) if isinstance(out, (tuple, list)) else (out,)
            if len(outputs) != len(self._outputs):
                raise TypeError(f"expected {len(self._outputs)} arrays in out, found {len(outputs)}")
        try:
            self._library.run(inputs, outputs, threads)
        except TypeError as error:
            raise _check_threads(threads) or error from None
        return outputs[0] if len(outputs) == 1 else outputs

    def __copy__(self, _=None):
        return self  # calls change nothing

    __deepcopy__ = __copy__

    def __reduce__(self):
        raise TypeError(f"expected no pickling of a kernel: keep its library, as attnc compile and attnc.export write it, and "
                        f"attnc.load it, found {self.name}")

    def _order(self, inputs, named):
        """Positional inputs, then named ones."""
        missing = self._inputs[len(inputs):]
        unknown = set(named) - set(missing)
        if unknown:
            raise TypeError(f"expected inputs named {', '.join(missing)}, found {', '.join(sorted(unknown))}")
        return inputs + tuple(named[name] for name in missing if name in named)

    def add_sizes(self, sizes):
        """For each result for each dim a function of the inputs, or None: those that sizes of inputs are not equal to."""
        for sources, functions in zip(self._sources, sizes):
            if len(sources) == len(functions):
                sources[:] = [function if source is None else source for source, function in zip(sources, functions)]

    def output_shapes(self, inputs):
        """The shapes of the results for inputs of these shapes."""
        try:
            return [tuple([source if type(source) is int else source(inputs) if callable(source)
                           else inputs[source[0]].shape[source[1]] for source in sources]) for sources in self._sources]
        except (AttributeError, IndexError, TypeError) as error:
            raise self._explain(inputs) from error

    def _explain(self, inputs):
        """The error if no shapes follow from these inputs."""
        for sources, output in zip(self._sources, self._outputs):
            if None in sources:
                return ValueError(f"expected out, since no input has the shape of {output['name']}")
        for array, tensor in zip(inputs, self.description["inputs"]):
            if not hasattr(array, "shape"):
                return TypeError(f"{tensor['name']}: expected an array that speaks DLPack, found {type(array).__name__}")
            if len(array.shape) != len(tensor["dims"]):
                return ValueError(f"{tensor['name']}: expected {len(tensor['dims'])} dims, found {len(array.shape)}")
        return ValueError(f"expected {len(self._inputs)} arrays, found {len(inputs)}")

    def _allocate(self, inputs):
        """PyTorch tensors if the first input is one, else numpy arrays."""
        like = inputs[0] if inputs else None
        shapes = self.output_shapes(inputs)
        if isinstance(like, np.ndarray) or not hasattr(like, "new_empty"):
            return tuple([np.empty(shape, _BITS.get(element, element)) for shape, element in zip(shapes, self._elements)])
        if self._torch_elements is None:
            self._torch_elements = [getattr(sys.modules["torch"], element) for element in self._elements]
        return tuple([like.new_empty(shape, dtype=element) for shape, element in zip(shapes, self._torch_elements)])
