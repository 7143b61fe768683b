"""Cases: spec in the attn dialect, inputs, and the same computation in numpy, in any
element type. Shapes are (batch, heads, len, head_dim)."""

import dataclasses
import string
from typing import Callable, Mapping

import numpy as np

# numpy has no bf16: uint16 holds its bits.
_ELEMENTS = {"float32": "f32", "float16": "f16", "uint16": "bf16", "int8": "i8", "int32": "i32", "bool": "i1"}
DTYPES = {"f32": np.float32, "f16": np.float16, "bf16": np.uint16}
EPS = {"f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7}


def mlir_type(array):
    sizes = "".join(f"{size}x" for size in array.shape)
    return f"tensor<{sizes}{_ELEMENTS[array.dtype.name]}>"


def align(array):
    """A copy at a multiple of 4096 bytes, as allocators of pools and tensors place them: numpy's are 16 bytes behind one."""
    room = np.empty(array.nbytes + 4096, np.uint8)
    place = room[-room.ctypes.data % 4096:][: array.nbytes].view(array.dtype).reshape(array.shape)
    place[...] = array
    return place


def narrow(array, element):
    """The nearest numbers of `element`, ties to even."""
    if element != "bf16":
        return array.astype(DTYPES[element])
    bits = array.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def widen(array):
    """16-bit floats as float32."""
    if array.dtype == np.uint16:
        return (array.astype(np.uint32) << 16).view(np.float32)
    return array.astype(np.float32) if array.dtype == np.float16 else array


def softmax_context(score, value, near=lambda x: x):
    """Rounds what it keeps by `near`."""
    numerator = near(np.exp(score - score.max(-1, keepdims=True)))
    return near(numerator @ value / numerator.sum(-1, keepdims=True))


@dataclasses.dataclass(frozen=True)
class Variant:
    """A score modification, a mask, or both, as MLIR and as functions for numpy and
    PyTorch alike. In the texts `$name` is the type of input `name`."""

    name: str
    # The text of attn.mask, and (inputs, batch, head, query, key) -> visible.
    mask_text: str = ""
    visible: Callable | None = None
    # The body of attn.modify_score, from %s to %r, and
    # (math, score, inputs, batch, head, query, key) -> score; `math` is numpy or torch.
    score_text: str = ""
    score: Callable | None = None
    # More inputs by name: (case, random generator) -> array.
    inputs: Mapping[str, Callable] = dataclasses.field(default_factory=dict)
    # True if `score` adds a bias, which a peer may then be given as a tensor.
    additive: bool = True


class KeySizes:
    """By default as many keys as queries, and as many key heads as query heads."""

    @property
    def keys(self):
        return self.kv_len or self.q_len

    @property
    def key_heads(self):
        return self.kv_heads or self.heads


@dataclasses.dataclass(frozen=True)
class Attention(KeySizes):
    batch: int
    heads: int
    q_len: int
    head_dim: int
    variant: Variant = Variant("")
    kv_len: int = 0  # q_len when 0
    kv_heads: int = 0  # heads when 0
    element: str = "f32"  # of query, key, value and context

    output = "context"
    storage = "plain"  # how keys and values are kept
    layout = "heads_first"  # the rows of a head behind each other

    @property
    def value_dim(self):
        return self.head_dim

    @property
    def name(self):
        words = [self.variant.name, f"({self.batch},{self.heads},{self.q_len},{self.head_dim})"]
        words += [f"{self.kv_len} keys"] if self.kv_len else []
        words += [f"{self.kv_heads} key heads"] if self.kv_heads else []
        words += [self.element] if self.element != "f32" else []
        return " ".join(filter(None, words))

    def inputs(self):
        rng = np.random.default_rng(0)
        query = (self.batch, self.heads, self.q_len, self.head_dim)
        key = (self.batch, self.key_heads, self.keys, self.head_dim)
        shapes = {"query": query, "key": key, "value": key}
        arrays = {n: narrow(rng.standard_normal(s, dtype=np.float32), self.element) for n, s in shapes.items()}
        return arrays | {n: make(self, rng) for n, make in self.variant.inputs.items()}

    def output_shape(self):
        return (self.batch, self.heads, self.q_len, self.value_dim)

    def chunks(self, arrays):
        """What is read of keys and values, as (addresses, bytes) of equal chunks."""
        return [([array.ctypes.data], array.nbytes) for name, array in arrays.items() if name.startswith(("key", "value"))]

    def places(self):
        """Batch, head, query and key as indices that broadcast to the whole score."""
        return np.ogrid[: self.batch, : self.heads, : self.q_len, : self.keys]

    def flops(self, arrays):
        """FLOPs of both products, over the visible pairs."""
        return 2 * (self.head_dim + self.value_dim) * self._visible_pairs(arrays)

    def dense_mask(self, arrays):
        """The mask as booleans, with sizes of 1 where it does not vary."""
        return self.variant.visible(arrays, *self.places())

    def dense_bias(self, arrays):
        """The variant's bias on the score, -inf where it is masked."""
        if self.variant.visible:
            return np.where(self.dense_mask(arrays), np.float32(0), np.float32(-np.inf))
        bias = self.variant.score(np, np.float32(0), arrays, *self.places())
        return np.ascontiguousarray(bias, np.float32)

    def _visible_pairs(self, arrays):
        pairs = self.batch * self.heads * self.q_len * self.keys
        if not self.variant.visible:
            return pairs
        batch, head, query, key = self.places()
        seen = 0
        for rows in np.split(query, range(1024, self.q_len, 1024), axis=2):  # never the whole mask at once
            visible = self.variant.visible(arrays, batch, head, rows, key)
            seen += int(np.count_nonzero(visible)) * (pairs // self.q_len * rows.size // visible.size)
        return seen

    def is_weight(self, name):
        return False

    def spec(self, arrays):
        """The text of the case in the attn dialect, all sizes fixed."""
        types = {name: mlir_type(array) for name, array in arrays.items()}
        fill = lambda text: string.Template(text).substitute(types)
        context = f"tensor<{'x'.join(map(str, self.output_shape()))}x{self.element}>"
        score = f"tensor<{self.batch}x{self.heads}x{self.q_len}x{self.keys}x{self.element}>"
        key, value = (f"tensor<{self.batch}x{self.key_heads}x{self.keys}x{dim}x{self.element}>"
                      for dim in (self.head_dim, self.value_dim))
        lines = self.gather_lines(types) + [
            f"%score = attn.score %query, %key scale({self.head_dim**-0.5!r}) : {types['query']}, {key} -> {score}"]
        last = "%score"
        if self.variant.score:
            lines += [f"%changed = attn.modify_score {last} {{",
                      "^bb0(%s: f32, %b: index, %h: index, %q: index, %k: index):",
                      fill(self.variant.score_text), "attn.yield %r : f32", f"}} : {score}"]
            last = "%changed"
        if self.variant.visible:
            lines.append(f"%masked = attn.mask {last} {fill(self.variant.mask_text)} : {score}")
            last = "%masked"
        lines += [f"%prob = attn.softmax {last} : {score}",
                  f"%context = attn.context %prob, %value : {score}, {value} -> {context}",
                  f"return %context : {context}"]
        arguments = ", ".join(f"%{name}: {type}" for name, type in types.items())
        return f"func.func @kernel({arguments}) -> {context} {{\n" + "\n".join(lines) + "\n}\n"

    def gather_lines(self, types):
        """What defines %key and %value if they are no inputs."""
        return []

    def rows_of(self, arrays, name, batch, head):
        """Keys or values of one head in order."""
        return arrays[name][batch, head]

    def samples(self):
        """The compared (batch, head, rows): up to 256 rows of two heads."""
        rows = np.unique(np.linspace(0, self.q_len - 1, min(self.q_len, 256)).astype(int))
        return [(0, 0, rows), (self.batch - 1, self.heads - 1, rows)]

    def sample(self, result):
        return np.stack([widen(result[batch, head][rows]) for batch, head, rows in self.samples()])

    def reference(self, arrays, dtype):
        """The samples, computed plainly in `dtype`; in float32, what is kept is rounded to the case's element."""
        return np.stack([self._rows(arrays, dtype, *sample) for sample in self.samples()])

    def _rows(self, arrays, dtype, batch, head, rows):
        shared = head // (self.heads // self.key_heads)
        near = (lambda x: x) if dtype == np.float64 else lambda x: widen(narrow(x, self.element))
        key, value = (widen(self.rows_of(arrays, n, batch, shared)).astype(dtype) for n in ("key", "value"))
        query = widen(arrays["query"][batch, head][rows]).astype(dtype)
        score = near(query @ key.T * dtype(self.head_dim**-0.5))
        at = (arrays, batch, head, rows[:, None], np.arange(self.keys)[None, :])
        if self.variant.score:
            score = self.variant.score(np, score, *at).astype(dtype)
        if self.variant.visible:
            score = np.where(self.variant.visible(*at), score, dtype(-np.inf))
        return softmax_context(score, value, near)


@dataclasses.dataclass(frozen=True)
class KeysFirst(Attention):
    """The same keys and values in order, with the rows of a key's heads side by side."""

    storage = "keys first"
    layout = "keys_first"

    @property
    def name(self):
        return f"{super().name}, keys first"

    def inputs(self):
        arrays = super().inputs()
        return arrays | {name + "_rows": np.ascontiguousarray(arrays.pop(name).swapaxes(1, 2)) for name in ("key", "value")}

    def gather_lines(self, types):
        key = f"tensor<{self.batch}x{self.key_heads}x{self.keys}x{self.head_dim}x{self.element}>"
        return [f"%{name} = attn.transpose %{name}_rows [0, 2, 1, 3] : {types[name + '_rows']} -> {key}"
                for name in ("key", "value")]

    def rows_of(self, arrays, name, batch, head):
        return arrays[name + "_rows"][batch, :, head]


@dataclasses.dataclass(frozen=True)
class Paged(Attention):
    """The same keys and values in shuffled pages, as vLLM keeps them or with heads first."""

    page_size: int = 16
    heads_first: bool = False

    storage = "pages"

    @property
    def layout(self):
        return "heads_first" if self.heads_first else "keys_first"

    @property
    def name(self):
        return f"{super().name}, pages of {self.page_size}, {self.layout.replace('_', ' ')}"

    def inputs(self):
        arrays, count = super().inputs(), self.keys // self.page_size
        pages = np.random.default_rng(1).permutation(self.batch * count)
        for name in ("key", "value"):
            rows = arrays.pop(name).reshape(self.batch, self.key_heads, count, self.page_size, self.head_dim)
            order = (0, 2, 1, 3, 4) if self.heads_first else (0, 2, 3, 1, 4)
            in_order = rows.transpose(order).reshape(pages.size, *(rows.shape[d] for d in order[2:]))
            arrays[name + "_pages"] = np.empty(in_order.shape, in_order.dtype)
            arrays[name + "_pages"][pages] = in_order
        return arrays | {"table": pages.astype(np.int32).reshape(self.batch, count)}

    def chunks(self, arrays):
        """Pages in the table's order; those with heads first head by head."""
        groups = []
        for name in ("key_pages", "value_pages"):
            pool, pages = arrays[name], arrays["table"].astype(np.int64)
            heads = self.key_heads if self.heads_first else 1
            size = pool.strides[0] // heads
            firsts = pages[:, None, :] * pool.strides[0] + np.arange(heads)[None, :, None] * size
            groups.append((pool.ctypes.data + firsts.ravel(), size))
        return groups

    def gather_lines(self, types):
        return [f"%{name} = attn.gather_pages %{name}_pages[%table] layout({self.layout})"
                f" : {types[name + '_pages']}, {types['table']}" for name in ("key", "value")]

    def rows_of(self, arrays, name, batch, head):
        pages = arrays[name + "_pages"][arrays["table"][batch]]
        return (pages[:, head] if self.heads_first else pages[:, :, head]).reshape(self.keys, self.head_dim)


@dataclasses.dataclass(frozen=True)
class Quantized(Attention):
    """The same keys and values in 8 bits, with a scale for each block of dims."""

    block: int = 0  # a whole row
    scale: str = "f32"

    @property
    def storage(self):
        return "q8_0" if (self.block, self.scale) == (32, "f16") else "i8"

    @property
    def name(self):
        return f"{super().name}, i8, a scale of {self.scale} for {self.block or 'a row'}{' dims' * bool(self.block)}"

    def inputs(self):
        arrays = super().inputs()
        for name in ("key", "value"):
            rows = arrays.pop(name)
            blocks = rows.reshape(*rows.shape[:3], -1, self.block or self.head_dim)
            scales = narrow(np.abs(blocks).max(-1) / 127, self.scale)
            arrays[name + "_rows"] = np.rint(blocks / widen(scales)[..., None]).astype(np.int8).reshape(rows.shape)
            arrays[name + "_scales"] = scales
        return arrays

    def gather_lines(self, types):
        rows = f"tensor<{self.batch}x{self.key_heads}x{self.keys}x{self.head_dim}xf32>"
        return [f"%{name} = attn.dequantize %{name}_rows scales(%{name}_scales : {types[name + '_scales']})"
                f" : {types[name + '_rows']} -> {rows}" for name in ("key", "value")]

    def rows_of(self, arrays, name, batch, head):
        rows, scales = (arrays[f"{name}_{part}"][batch, head] for part in ("rows", "scales"))
        return rows * np.repeat(widen(scales), self.block or self.head_dim, axis=-1)


@dataclasses.dataclass(frozen=True)
class Narrow(Attention):
    """The same keys and values in f16 beside a query in f32."""

    storage = "f16"

    @property
    def name(self):
        return f"{super().name}, {self.storage} cache"

    def inputs(self):
        arrays = super().inputs()
        return {"query": arrays["query"]} | {
            name + "_rows": narrow(arrays[name], self.storage) for name in ("key", "value")}

    def gather_lines(self, types):
        return [f"%{name} = arith.extf %{name}_rows : {types[name + '_rows']} to "
                f"{types[name + '_rows'].replace('f16', 'f32')}" for name in ("key", "value")]

    def rows_of(self, arrays, name, batch, head):
        return widen(arrays[name + "_rows"][batch, head])


@dataclasses.dataclass(frozen=True)
class Latent(Attention):
    """Latent attention in its absorbed form: one key head, whose first dims are the values too."""

    latent_dim: int = 512

    storage = "latent"

    @property
    def value_dim(self):
        return self.latent_dim

    @property
    def name(self):
        return f"latent {super().name}, values of {self.latent_dim} dims"

    def inputs(self):
        arrays = super().inputs()
        del arrays["value"]
        return arrays

    def gather_lines(self, types):
        value = types["key"].replace(f"x{self.head_dim}x", f"x{self.latent_dim}x")
        return [f"%value = tensor.extract_slice %key[0, 0, 0, 0] [{self.batch}, 1, {self.keys}, {self.latent_dim}] "
                f"[1, 1, 1, 1] : {types['key']} to {value}"]

    def rows_of(self, arrays, name, batch, head):
        rows = arrays["key"][batch, head]
        return rows[:, :self.latent_dim] if name == "value" else rows


@dataclasses.dataclass(frozen=True)
class Module:
    """A self-attention layer: QKV, attention, output projection; if `normed`, residual and
    LayerNorm after it. All inputs but the hidden rows are parameters."""

    batch: int
    len: int
    width: int
    heads: int
    normed: bool = False
    epsilon = 1e-5

    output = "attended"
    element = "f32"
    variant = Variant("module")

    @property
    def head_dim(self):
        return self.width // self.heads

    @property
    def name(self):
        normed = ", residual, LayerNorm" if self.normed else ""
        return f"module ({self.batch},{self.len},{self.width} wide), {self.heads} heads{normed}"

    def inputs(self):
        rng = np.random.default_rng(0)
        draw = lambda *shape: rng.standard_normal(shape, dtype=np.float32)
        narrow = np.float32(self.width**-0.5)
        arrays = {"hidden": draw(self.batch, self.len, self.width)}
        for name in ("query", "key", "value", "output"):
            arrays[name + "_weight"] = draw(self.width, self.width) * narrow
            arrays[name + "_bias"] = draw(self.width)
        if self.normed:
            arrays |= {"norm_scale": draw(self.width), "norm_bias": draw(self.width)}
        return arrays

    def is_weight(self, name):
        return name != "hidden"

    def output_shape(self):
        return (self.batch, self.len, self.width)

    def flops(self, arrays):
        tokens = self.batch * self.len
        return tokens * (8 * self.width**2 + 4 * self.len * self.width)

    def spec(self, arrays):
        types = {name: mlir_type(array) for name, array in arrays.items()}
        wide = types["hidden"]
        head = f"tensor<{self.batch}x{self.heads}x{self.len}x{self.head_dim}xf32>"
        score = f"tensor<{self.batch}x{self.heads}x{self.len}x{self.len}xf32>"
        lines = []

        def linear(result, input, name):
            weight, bias = name + "_weight", name + "_bias"
            lines.append(f"%{result} = attn.linear %{input}, %{weight}, %{bias}"
                         f" : {wide}, {types[weight]}, {types[bias]} -> {wide}")

        for name in ("query", "key", "value"):
            linear(name + "_wide", "hidden", name)
            lines.append(f"%{name} = attn.split_heads %{name}_wide num_heads({self.heads}) : {wide} -> {head}")
        lines += [f"%score = attn.score %query, %key scale({self.head_dim**-0.5!r}) : {head}, {head} -> {score}",
                  f"%prob = attn.softmax %score : {score}",
                  f"%context = attn.context %prob, %value : {score}, {head} -> {head}",
                  f"%merged = attn.merge_heads %context : {head} -> {wide}"]
        linear("attended", "merged", "output")
        if self.normed:
            row = types["norm_scale"]
            lines += ["%added = attn.map %attended, %hidden {", "^bb0(%x: f32, %y: f32):",
                      "%z = arith.addf %x, %y : f32", "attn.yield %z : f32",
                      f"}} : {wide}, {wide} -> {wide}",
                      f"%normed = attn.layer_norm %added scale(%norm_scale : {row}) bias(%norm_bias : {row})"
                      f" epsilon({self.epsilon:.1e}) : {wide}"]
        lines.append(f"return %{'normed' if self.normed else 'attended'} : {wide}")
        weight = lambda name: f' {{attn.weight = "{name}"}}' if self.is_weight(name) else ""
        arguments = ", ".join(f"%{name}: {type}{weight(name)}" for name, type in types.items())
        return f"func.func @kernel({arguments}) -> {wide} {{\n" + "\n".join(lines) + "\n}\n"

    def sample(self, result):
        return result

    def reference(self, arrays, dtype):
        a = {name: array.astype(dtype) for name, array in arrays.items()}
        linear = lambda x, name: x @ a[name + "_weight"].T + a[name + "_bias"]
        sizes = (self.batch, self.len, self.heads, self.head_dim)
        query, key, value = (linear(a["hidden"], n).reshape(sizes).swapaxes(1, 2)
                             for n in ("query", "key", "value"))
        context = softmax_context(query @ key.swapaxes(-1, -2) * dtype(self.head_dim**-0.5), value)
        attended = linear(context.swapaxes(1, 2).reshape(self.output_shape()), "output")
        if not self.normed:
            return attended
        added = attended + a["hidden"]
        centred = added - added.mean(-1, keepdims=True)
        spread = np.sqrt((centred * centred).mean(-1, keepdims=True) + dtype(self.epsilon))
        return centred / spread * a["norm_scale"] + a["norm_bias"]
