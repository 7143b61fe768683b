"""The text of an attention with its options and lambdas."""

import dataclasses
import re

from ._functions import tanh
from ._regions import Region, captured, collect, literal
from ._values import SCORE

# What a spec has names for already, and what C and C++ have.
_TAKEN = set("""s b h q k true false query key value kv_lengths sink sinks score capped modified masked visible
    prob context lse auto break case char const continue default do double else enum extern float for goto if inline
    int long register restrict return short signed sizeof static struct switch typedef union unsigned void volatile
    while bool catch class delete explicit export friend mutable namespace new operator private protected public
    template this throw try typeid typename using virtual wchar_t and and_eq asm bitand bitor compl not not_eq or
    or_eq xor xor_eq NULL""".split())


@dataclasses.dataclass(frozen=True)
class Attention:
    """Its options: of arrays what the text needs, of lambdas what they return."""

    element: str
    heads: tuple  # of query, and of key and value
    dims: tuple  # head_dim and value_dim
    scale: float
    softcap: float = None
    score: object = None
    forms: tuple = ()  # short forms of masks
    mask: object = None
    lengths: str = None  # the element type of kv_lengths
    sink: tuple = None  # its dims
    lse: bool = False
    q_len: int = None  # what the kernel is made for; None: any, by several

    @property
    def lse_element(self):
        return "f64" if self.element == "f64" else "f32"

    def captured(self):
        """Arrays that the lambdas read, each once."""
        values = [value for root in (self.score, self.mask) if root is not None for value in collect(root)]
        arrays = {}
        for array in captured(values):
            arrays.setdefault(id(array.source), array)
        return list(arrays.values())


def _tensor(dims, element):
    sizes = "".join(f"{dim if isinstance(dim, int) else '?'}x" for dim in dims)
    return f"tensor<{sizes}{'i1' if element == 'bool' else element}>"


def _name(name, dims=None):
    """The attributes of an argument or a result."""
    shown = ", ".join(str(dim) if isinstance(dim, int) else f'"{dim}"' for dim in dims or ())
    return f'{{attn.name = "{name}"' + (f", attn.dims = [{shown}]}}" if dims else "}")


class SpecWriter:
    """Writes one as a function called `name`."""

    def __init__(self, attention, name):
        self.attention, self.name = attention, name
        self.arrays = attention.captured()
        self.names, self.types, self.arguments, self.lines = {"query": "query", "key": "key"}, {}, [], []

    def write(self):
        self._write_types()
        self._add_arguments()
        self._add_ops()
        rows = ["batch", self.attention.heads[0], "q_len"]
        results = [f"!context {_name('context', rows + [self.attention.dims[1]])}"]
        results += [f"{self.lse} {_name('lse', rows)}"] if self.attention.lse else []
        arguments = ",\n".join(f"    {argument}" for argument in self.arguments)
        separator = ",\n        "
        body = "\n".join(f"  {line}" for line in self.lines)
        head = f"func.func @{self.name}(\n{arguments})\n    -> ({separator.join(results)})"
        if self.attention.q_len:
            head += f" attributes {{attn.q_len = {self.attention.q_len}}}"
        return f"{self.aliases}\n{head} {{\n{body}\n}}\n"

    def _write_types(self):
        a = self.attention
        query, key = ["batch", a.heads[0], "q_len", a.dims[0]], ["batch", a.heads[1], "kv_len", a.dims[0]]
        self.operands = {"query": query, "key": key, "value": key[:3] + [a.dims[1]]}
        aliases = {name: _tensor(dims, a.element) for name, dims in self.operands.items()}
        aliases["score"] = _tensor(["batch", a.heads[0], "q_len", "kv_len"], a.element)
        aliases["context"] = _tensor(query[:3] + [a.dims[1]], a.element)
        self.aliases = "".join(f"!{name} = {type}\n" for name, type in aliases.items())
        self.types = {"query": "!query", "key": "!key"}
        self.lse = _tensor(query[:3], a.lse_element)

    def _add_arguments(self):
        for name, dims in self.operands.items():
            self._add_argument(name, f"!{name}", dims)
        a = self.attention
        if a.lengths:
            self._add_argument("kv_lengths", _tensor(["batch"], a.lengths), ["batch"])
        if a.sink:
            self._add_argument("sink", _tensor(a.sink, a.element), a.sink)
        for array in self.arrays:
            name = self._choose_name(array.name)
            self.names[id(array.source)], self.types[name] = name, _tensor("?" * len(array.sizes), array.dtype)
            self._add_argument(name, self.types[name])

    def _add_argument(self, name, type, dims=None):
        self.arguments.append(f"%{name}: {type} {_name(name, dims)}")

    def _choose_name(self, name):
        """The variable's, where C can have it and nothing here does."""
        name = re.sub(r"\W|[^\x00-\x7f]", "_", name)
        if name in _TAKEN or re.match(r"\d|_|c-?\d", name):
            name = f"array_{name}".replace("__", "_")
        count, base = 1, name
        while name in self.types:
            count, name = count + 1, f"{base}_{count}"
        return name

    def _add_ops(self):
        a = self.attention
        self.lines.append(f"%score = attn.score %query, %key scale({literal(a.scale, 'f64')}) : !query, !key")
        score = "score"
        if a.softcap:
            score = self._add_region("capped", "modify_score", score, tanh(SCORE / a.softcap) * a.softcap)
        if a.score is not None:
            score = self._add_region("modified", "modify_score", score, a.score)
        if a.forms:
            self.lines.append(f"%masked = attn.mask %{score} {' '.join(a.forms)} : !score")
            score = "masked"
        if a.mask is not None:
            score = self._add_region("visible", "mask", score, a.mask)
        self._add_softmax(score)

    def _add_region(self, result, op, score, root):
        region = Region(self.attention.element, self.names, self.types)
        lines = region.write(root, "bool" if op == "mask" else "float")
        score_type = "" if op == "mask" else f"%s: {self.attention.element}, "
        self.lines += [f"%{result} = attn.{op} %{score} {{",
                       f"^bb0({score_type}%b: index, %h: index, %q: index, %k: index):"]
        self.lines += [*(f"  {line}" for line in lines), "} : !score"]
        return result

    def _add_softmax(self, score):
        a, sink = self.attention, ""
        if a.sink:
            sink = f" sink({self._expand_sink()})"
        self.lines.append(f"%prob = attn.softmax %{score}{sink} : !score")
        self.lines.append("%context = attn.context %prob, %value : !score, !value")
        if a.lse:
            self.lines.append(f"%lse = attn.lse %{score} : !score -> {self.lse}")
        self.lines.append(f"return %context, %lse : !context, {self.lse}" if a.lse else "return %context : !context")

    def _expand_sink(self):
        a = self.attention
        if len(a.sink) == 3:
            return f"%sink : {_tensor(a.sink, a.element)}"
        wide = _tensor((1, *a.sink, 1), a.element)
        self.lines.append(f"%sinks = tensor.expand_shape %sink [[0, 1, 2]] output_shape [1, {a.sink[0]}, 1] "
                          f": {_tensor(a.sink, a.element)} into {wide}")
        return f"%sinks : {wide}"


def find_direct_reads(attention):
    """(array, axis, position) of each array that is read at a position itself and so needs its size."""
    roots = [root for root in (attention.score, attention.mask) if root is not None]
    reads = [value for root in roots for value in collect(root) if value.op == "extract"]
    return [(value.data, axis, index.data) for value in reads
            for axis, index in enumerate(value.operands) if index.op == "argument"]
