"""Computes a graph in numpy, each op by its formula: no line is shared with attnc's reference."""

import warnings

import numpy as np
from arithmetic import Arithmetic, RegionEvaluation
from evaluate_attention import AttentionOps
from evaluate_layers import LayerOps


def evaluate(graph, inputs, sizes, arithmetic):
    """The results of the function on arrays by the argument's name."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        evaluation = Evaluation(graph, sizes, arithmetic)
        given = {a.tensor: inputs[a.tensor.name] for a in graph.arguments}
        return evaluation.run({t: arithmetic.hold(array, t.element) for t, array in given.items()},
                              graph.ops, graph.results)


class Evaluation(AttentionOps, LayerOps):
    def __init__(self, graph, sizes, arithmetic):
        self.graph, self.sizes, self.a = graph, sizes, arithmetic
        self.values = {}
        self.hidden = {}  # by what masks, with modify_scores alone between them and a score

    def run(self, values, ops, results):
        self.values = values
        for op in ops:
            arrays = [values[operand] for operand in op.operands]
            computed = getattr(self, op.kind.split(".")[-1], None)
            outputs = computed(op, *arrays) if computed else self.elementwise(op, *arrays)
            outputs = outputs if isinstance(outputs, tuple) else (outputs,)
            for tensor, array in zip(op.results, outputs):
                values[tensor] = self.a.hold(array, tensor.element)
        return [values[result] for result in results]

    def shape(self, dims):
        return tuple(self.sizes.get(dim, dim) for dim in dims)

    def hold(self, x, op):
        return self.a.hold(x, op.results[0].element)

    # Regions and elementwise ops.

    def region(self, region, arguments):
        known = dict(zip(region.parameters, arguments))
        return RegionEvaluation(self.a, self.values.__getitem__, known).value(region.result)

    def elementwise(self, op, *arrays):
        return RegionEvaluation(self.a, None, {}).compute(ElementwiseScalar(op), op.kind.split(".")[1], arrays)

    def places(self, shape):
        return [np.arange(size).reshape([-1 if dim == at else 1 for dim in range(len(shape))])
                for at, size in enumerate(shape)]

    def over(self, region, shape, *values):
        """A region over the places of a shape."""
        return np.broadcast_to(self.region(region, [*values, *self.places(shape)]), shape)

    def map(self, op, *arrays):
        return np.broadcast_to(self.region(op.regions[0], arrays), self.shape(op.results[0].dims))

    def generate(self, op):
        return self.over(op.regions[0], self.shape(op.results[0].dims))

    # The tensor dialect.

    def concat(self, op, *arrays):
        return np.concatenate(arrays, axis=op.attributes["dim"])

    def at(self, op):
        """The elements that a slice stands for."""
        a = op.attributes
        return tuple(slice(first, first + (size - 1) * step + 1 if size else first, step)
                     for first, size, step in zip(a["offsets"], self.shape(a["sizes"]), a["strides"]))

    def extract_slice(self, op, x):
        return x[self.at(op)].reshape(self.shape(op.results[0].dims))

    def insert_slice(self, op, source, whole):
        result = whole.copy()
        result[self.at(op)] = source.reshape(result[self.at(op)].shape)
        return result

    def pad(self, op, x):
        low, shape = op.attributes["low"], self.shape(op.results[0].dims)
        result = np.array(self.over(op.regions[0], shape), x.dtype)
        result[tuple(slice(before, before + size) for before, size in zip(low, x.shape))] = x
        return result

    def expand_shape(self, op, x):
        return x.reshape(self.shape(op.results[0].dims))

    collapse_shape = reshape = expand_shape

    def splat(self, op):
        element = op.results[0].element
        return np.full(self.shape(op.results[0].dims), Arithmetic().hold(op.attributes["value"], element))

    def dense(self, op):
        return Arithmetic().hold(op.attributes["values"], op.results[0].element)

    def call(self, op, *arrays):
        _, parameters, ops, results = next(f for f in self.graph.functions if f[0] == op.attributes["callee"])
        inner = Evaluation(self.graph, self.sizes, self.a)
        return tuple(inner.run(dict(zip(parameters, arrays)), ops, results))


class ElementwiseScalar:
    """An elementwise op on tensors, as one of a region."""

    def __init__(self, op):
        self.op, self.type, self.attribute = op.kind, op.results[0].element, None
        self.operands = op.operands
