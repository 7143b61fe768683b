"""Ragged batches: sequences of different lengths in one call, in packed rows, and the same sequences one call
each. Queries are the last rows of their sequences, keys packed or in shuffled pages."""

import dataclasses

import numpy as np
from work import mlir_type, softmax_context


def offsets_of(lengths):
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)


def open_sizes(text, *dims):
    """The type with these of its sizes open."""
    sizes = text.removeprefix("tensor<").split("x")
    return "tensor<" + "x".join("?" if dim in dims else size for dim, size in enumerate(sizes))


@dataclasses.dataclass(frozen=True)
class Ragged:
    """A batch of sequences: q_lens query rows of each, the last of kv_lens."""

    title: str
    q_lens: tuple
    kv_lens: tuple
    heads: int
    head_dim: int
    kv_heads: int
    page_size: int = 0  # 0: packed keys

    element = "f32"

    @property
    def name(self):
        keys = f"pages of {self.page_size}" if self.page_size else "packed keys"
        return f"{self.title} ({self.heads},{self.head_dim}) {self.kv_heads} key heads, {keys}"

    def is_weight(self, name):
        return False

    def output_shape(self):
        return (sum(self.q_lens), self.heads, self.head_dim)

    def inputs(self):
        rng = np.random.default_rng(0)
        draw = lambda *shape: rng.standard_normal(shape, dtype=np.float32)
        rows = (sum(self.kv_lens), self.kv_heads, self.head_dim)
        if not self.page_size:
            return {"query": draw(*self.output_shape()), "key": draw(*rows), "value": draw(*rows),
                    "offsets": offsets_of(self.q_lens), "kv_offsets": offsets_of(self.kv_lens)}
        batch, longest = len(self.kv_lens), -(-max(self.kv_lens) // self.page_size)
        counts = [-(-length // self.page_size) for length in self.kv_lens]
        pages = iter(rng.permutation(sum(counts)))
        table = np.zeros((batch, longest), np.int32)
        for entries, count in zip(table, counts):
            entries[:count] = [next(pages) for _ in range(count)]
        pool = (sum(counts), self.page_size, self.kv_heads, self.head_dim)
        return {"query": draw(*self.output_shape()), "key": draw(*pool), "value": draw(*pool),
                "offsets": offsets_of(self.q_lens), "table": table, "lengths": np.array(self.kv_lens, np.int32)}

    def spec(self, arrays):
        """All sizes open but those of heads, as in a server."""
        types = {name: open_sizes(mlir_type(array), 0, *([1] if name == "table" else []))
                 for name, array in arrays.items()}
        query, key = (f"tensor<?x{heads}x?x{self.head_dim}xf32>" for heads in (self.heads, self.kv_heads))
        score = f"tensor<?x{self.heads}x?x?xf32>"
        lines = [f"%q = attn.unpack_rows %query offsets(%offsets) : {types['query']}, tensor<?xi32> -> {query}"]
        for letter, name in (("k", "key"), ("v", "value")):
            lines.append(f"%{letter} = attn.gather_pages %{name}[%table] lengths(%lengths : tensor<?xi32>) : "
                         f"{types[name]}, {types['table']} -> {key}" if self.page_size else
                         f"%{letter} = attn.unpack_rows %{name} offsets(%kv_offsets) : "
                         f"{types[name]}, tensor<?xi32> -> {key}")
        lengths = "kv_lengths(%lengths" if self.page_size else "kv_offsets(%kv_offsets"
        lines += [f"%score = attn.score %q, %k scale({self.head_dim**-0.5!r}) : {query}, {key} -> {score}",
                  f"%masked = attn.mask %score causal(bottom_right) q_offsets(%offsets : tensor<?xi32>) "
                  f"{lengths} : tensor<?xi32>) : {score}",
                  f"%prob = attn.softmax %masked : {score}",
                  f"%c = attn.context %prob, %v : {score}, {key} -> {query}",
                  f"%context = attn.pack_rows %c offsets(%offsets) : {query}, tensor<?xi32> -> {types['query']}",
                  f"return %context : {types['query']}"]
        arguments = ", ".join(f"%{name}: {type}" for name, type in types.items())
        return f"func.func @kernel({arguments}) -> {types['query']} {{\n" + "\n".join(lines) + "\n}\n"

    def parts(self, arrays):
        """Each sequence as a batch of its own, and its inputs."""
        first = arrays["offsets"]
        for b, (q_len, kv_len) in enumerate(zip(self.q_lens, self.kv_lens)):
            query = arrays["query"][first[b]:first[b + 1]].swapaxes(0, 1)[None]
            own = {"query": np.ascontiguousarray(query)}
            if self.page_size:
                count = -(-kv_len // self.page_size)
                own |= {"key": arrays["key"], "value": arrays["value"],
                        "table": np.ascontiguousarray(arrays["table"][b:b + 1, :count]),
                        "lengths": arrays["lengths"][b:b + 1]}
            else:
                own |= {name: arrays[name][slice(*arrays["kv_offsets"][b:b + 2])] for name in ("key", "value")}
            yield Sequence(self, q_len, kv_len), own

    def samples(self):
        """The compared (row, head): up to 8 rows of each sequence, of one head."""
        first = offsets_of(self.q_lens)
        return [(b, i, (7 * b) % self.heads) for b, length in enumerate(self.q_lens)
                for i in np.unique(np.linspace(0, length - 1, min(length, 8)).astype(int)) if first[b + 1] > first[b]]

    def sample(self, result):
        first = offsets_of(self.q_lens)
        return np.stack([result[first[b] + i, head] for b, i, head in self.samples()])

    def reference(self, arrays, dtype):
        first, results = offsets_of(self.q_lens), []
        for b, i, head in self.samples():
            seen = self.kv_lens[b] - self.q_lens[b] + i + 1
            key, value = (self._rows(arrays, name, b)[:seen, head * self.kv_heads // self.heads].astype(dtype)
                          for name in ("key", "value"))
            query = arrays["query"][first[b] + i, head].astype(dtype)
            results.append(softmax_context((key @ query * dtype(self.head_dim**-0.5))[None], value)[0])
        return np.stack(results)

    def _rows(self, arrays, name, b):
        if not self.page_size:
            return arrays[name][slice(*arrays["kv_offsets"][b:b + 2])]
        pages = arrays[name][arrays["table"][b]]
        return pages.reshape(-1, *pages.shape[2:])


# Bottom right of the keys that a sequence has in its pages.
PAGED_MASK = """%c2 = arith.constant 2 : index
%m = tensor.dim %query, %c2 : {query}
%masked = attn.mask %score {{
^bb0(%b: index, %h: index, %i: index, %j: index):
  %length = tensor.extract %lengths[%b] : tensor<1xi32>
  %n = arith.index_cast %length : i32 to index
  %past = arith.subi %n, %m : index
  %last = arith.addi %i, %past : index
  %seen = arith.cmpi sle, %j, %last : index
  attn.yield %seen : i1
}} : {score}"""


@dataclasses.dataclass(frozen=True)
class Sequence:
    """One sequence of a ragged batch in a call of its own; all share a kernel."""

    batch: Ragged
    q_len: int
    kv_len: int

    element = "f32"

    def is_weight(self, name):
        return False

    def output_shape(self):
        return (1, self.batch.heads, self.q_len, self.batch.head_dim)

    def spec(self, arrays):
        heads, kv_heads, dim = self.batch.heads, self.batch.kv_heads, self.batch.head_dim
        query, key, score = (f"tensor<1x{heads}x?x{dim}xf32>", f"tensor<1x{kv_heads}x?x{dim}xf32>",
                             f"tensor<1x{heads}x?x?xf32>")
        rows = f"tensor<?x{kv_heads}x{dim}xf32>"
        if self.batch.page_size:
            pool = f"tensor<?x{self.batch.page_size}x{kv_heads}x{dim}xf32>"
            types = {"query": query, "key": pool, "value": pool, "table": "tensor<1x?xi32>", "lengths": "tensor<1xi32>"}
            lines = [f"%{name[0]} = attn.gather_pages %{name}[%table] lengths(%lengths : tensor<1xi32>) : "
                     f"{pool}, tensor<1x?xi32> -> {key}" for name in ("key", "value")]
            mask = PAGED_MASK.format(query=query, score=score)
        else:
            types = {"query": query, "key": rows, "value": rows}
            lines = [line for name in ("key", "value") for line in (
                f"%{name}_heads = attn.transpose %{name} [1, 0, 2] : {rows} -> {key.replace('1x', '', 1)}",
                f"%{name[0]} = tensor.expand_shape %{name}_heads [[0, 1], [2], [3]] output_shape [1, {kv_heads}, %n, {dim}]"
                f" : {key.replace('1x', '', 1)} into {key}")]
            lines = ["%c0 = arith.constant 0 : index", f"%n = tensor.dim %key, %c0 : {rows}", *lines]
            mask = f"%masked = attn.mask %score causal(bottom_right) : {score}"
        lines += [f"%score = attn.score %query, %k scale({dim**-0.5!r}) : {query}, {key} -> {score}", mask]
        lines += [f"%prob = attn.softmax %masked : {score}",
                  f"%context = attn.context %prob, %v : {score}, {key} -> {query}", f"return %context : {query}"]
        arguments = ", ".join(f"%{name}: {type}" for name, type in types.items())
        return f"func.func @kernel({arguments}) -> {query} {{\n" + "\n".join(lines) + "\n}\n"
