"""Compares attention over random pools of pages with numpy, called with guarded tensors: block tables,
those of keys in f8E4M3FN, tables in CSR, and lists of chosen keys.

    pools.py [TARGET] [--count N] [--hostile N] [--seed S]

Page sizes of 1 to 128, lengths of 0 to 3,000, prefixes that sequences share. A hostile call has a few
elements of its tables changed: it is refused, or its result is right.
"""

import argparse
import os
import sys

import numpy as np

import calls
import check
from calls import guard
from quantized import FLOAT8, FLOAT8_NAN

HEADS, KV_HEADS, DIM = 4, 2, 32
EXAMPLE = os.path.join(os.path.dirname(os.path.abspath(check.__file__)), "chosen")
sys.path.append(EXAMPLE)
import plain as chosen  # noqa: E402

with open(os.path.join(EXAMPLE, "spec.mlir")) as file:
    CHOSEN = file.read()

ATTENTION = """
  %score = attn.score %query, %key scale(0.125) : tensor<?x4x?x32xf32>, tensor<?x2x?x32xf32>
  %masked = attn.mask %score {
  ^bb0(%b: index, %h: index, %i: index, %k: index):
    %c2 = arith.constant 2 : index
    %q_len = tensor.dim %query, %c2 : tensor<?x4x?x32xf32>
    %length = tensor.extract %n[%b] : tensor<?xi32>
    %kv_len = arith.index_cast %length : i32 to index
    %past = arith.subi %kv_len, %q_len : index
    %end = arith.addi %i, %past : index
    %seen = arith.cmpi sle, %k, %end : index
    attn.yield %seen : i1
  } : tensor<?x4x?x?xf32>
  %prob = attn.softmax %masked : tensor<?x4x?x?xf32>
  %context = attn.context %prob, %value : tensor<?x4x?x?xf32>, tensor<?x2x?x32xf32>
  return %context : tensor<?x4x?x32xf32>
}"""

TABLE = """
func.func @table(%query: tensor<?x4x?x32xf32> {attn.name = "query"},
                 %keys: tensor<?x?x2x32xf32> {attn.name = "keys"}, %values: tensor<?x?x2x32xf32> {attn.name = "values"},
                 %table: tensor<?x?xi32> {attn.name = "table"}, %n: tensor<?xi32> {attn.name = "lengths"})
    -> (tensor<?x4x?x32xf32> {attn.name = "context"}) {
  %key = attn.gather_pages %keys[%table] lengths(%n : tensor<?xi32>) : tensor<?x?x2x32xf32>, tensor<?x?xi32>
  %value = attn.gather_pages %values[%table] lengths(%n : tensor<?xi32>) : tensor<?x?x2x32xf32>, tensor<?x?xi32>
""" + ATTENTION

CSR = """
func.func @csr(%query: tensor<?x4x?x32xf32> {attn.name = "query"},
               %keys: tensor<?x?x2x32xf32> {attn.name = "keys"}, %values: tensor<?x?x2x32xf32> {attn.name = "values"},
               %indices: tensor<?xi32> {attn.name = "indices"}, %indptr: tensor<?xi32> {attn.name = "indptr"},
               %last: tensor<?xi32> {attn.name = "last"}) -> (tensor<?x4x?x32xf32> {attn.name = "context"}) {
  %n = attn.page_lengths %keys[%indices] offsets(%indptr : tensor<?xi32>) last(%last : tensor<?xi32>)
      : tensor<?x?x2x32xf32>, tensor<?xi32>
  %key = attn.gather_pages %keys[%indices] offsets(%indptr : tensor<?xi32>) : tensor<?x?x2x32xf32>, tensor<?xi32>
  %value = attn.gather_pages %values[%indices] offsets(%indptr : tensor<?xi32>) : tensor<?x?x2x32xf32>, tensor<?xi32>
""" + ATTENTION

FLOAT8_TABLE = """
func.func @float8(%query: tensor<?x4x?x32xf32> {attn.name = "query"},
                  %keys: tensor<?x?x2x32xf8E4M3FN> {attn.name = "keys"},
                  %values: tensor<?x?x2x32xf8E4M3FN> {attn.name = "values"},
                  %key_scales: tensor<?x?x2x1xf32> {attn.name = "key_scales"},
                  %value_scales: tensor<?x?x2x1xf32> {attn.name = "value_scales"},
                  %table: tensor<?x?xi32> {attn.name = "table"}, %n: tensor<?xi32> {attn.name = "lengths"})
    -> (tensor<?x4x?x32xf32> {attn.name = "context"}) {
""" + "".join(f"""
  %{name}_rows = attn.gather_pages %{name}s[%table] lengths(%n : tensor<?xi32>)
      : tensor<?x?x2x32xf8E4M3FN>, tensor<?x?xi32>
  %{name}_scale = attn.gather_pages %{name}_scales[%table] lengths(%n : tensor<?xi32>)
      : tensor<?x?x2x1xf32>, tensor<?x?xi32>
  %{name} = attn.dequantize %{name}_rows scales(%{name}_scale : tensor<?x2x?x1xf32>)
      : tensor<?x2x?x32xf8E4M3FN> -> tensor<?x2x?x32xf32>
""" for name in ("key", "value")) + ATTENTION


def normal(rng, *shape):
    return rng.standard_normal(shape, dtype=np.float32)


# ---------------------------------------------------------------------------
# Pools
# ---------------------------------------------------------------------------


class Pool:
    """Sequences in pages: `pages[b]` are those of sequence b, which may share the first ones of another."""

    def __init__(self, rng):
        self.page_size = int(rng.choice([1, 2, 3, 7, 16, 64, 128, int(rng.integers(1, 129))]))
        longest = int(rng.choice([10, 300, 3000]))
        self.lengths = rng.integers(0, longest + 1, int(rng.integers(1, 6)))
        counts = -(-self.lengths // self.page_size)
        numbers = rng.permutation(int(counts.sum()) + 3)
        ends = np.cumsum(counts)
        self.pages = [numbers[end - count:end] for count, end in zip(counts, ends)]
        for b in range(1, len(counts)):
            if rng.random() < 0.5:
                shared = int(rng.integers(0, min(counts[b - 1], counts[b]) + 1))
                self.pages[b] = np.concatenate([self.pages[b - 1][:shared], self.pages[b][shared:]])
        shape = (len(numbers), self.page_size, KV_HEADS, DIM)
        q_len = int(rng.choice([1, 1, 4, 17, 40]))
        self.arrays = {"query": normal(rng, len(counts), HEADS, q_len, DIM), "keys": normal(rng, *shape),
                       "values": normal(rng, *shape)}


def gathered(pool, pages, length):
    """[kv_heads, length, dim]"""
    return pool[pages].reshape(-1, KV_HEADS, DIM)[:length].swapaxes(0, 1)


def attend(query, key, value, seen):
    """Of one batch."""
    score = check.score(query[None], key[None]) * query.dtype.type(0.125)
    prob = check.softmax(np.where(seen, score, -np.inf).astype(score.dtype))
    return check.context(prob, value[None])[0]


def attend_to_pages(arrays, pages, lengths):
    query, context = arrays["query"], np.zeros_like(arrays["query"])
    for b, length in enumerate(lengths):
        if length == 0:
            continue
        key, value = (gathered(arrays[name], pages[b], length) for name in ("keys", "values"))
        i, k = np.ogrid[:query.shape[2], :length]
        context[b] = attend(query[b], key, value, k <= i + int(length) - query.shape[2])
    return context


# ---------------------------------------------------------------------------
# Kinds of specs: random arguments, whether they are taken, and the result
# ---------------------------------------------------------------------------


class Table:
    name, spec, hostile = "table", TABLE, ("table", "lengths")

    @staticmethod
    def inputs(rng):
        pool = Pool(rng)
        most = max(map(len, pool.pages)) + int(rng.integers(0, 3))
        table = rng.choice([-1, 2**31 - 1, -2**31, 0], (len(pool.pages), most)).astype(np.int32)
        for entries, pages in zip(table, pool.pages):
            entries[:len(pages)] = pages
        return pool.arrays | {"table": table, "lengths": pool.lengths.astype(np.int32)}

    @staticmethod
    def used(a):
        size = a["keys"].shape[1]
        return [entries[:-(-int(length) // size)] for entries, length in zip(a["table"], a["lengths"])]

    @classmethod
    def are_taken(cls, a):
        longest = a["table"].shape[1] * a["keys"].shape[1]
        if not all(0 <= length <= longest for length in a["lengths"]):
            return False
        return all(((0 <= pages) & (pages < len(a["keys"]))).all() for pages in cls.used(a))

    @classmethod
    def context(cls, a):
        return attend_to_pages(a, cls.used(a), a["lengths"])


class Float8Table(Table):
    """Rows that no sequence has are NaN."""

    name, spec = "float8", FLOAT8_TABLE

    @classmethod
    def inputs(cls, rng):
        arrays = super().inputs(rng)
        seen = np.zeros(arrays["keys"].shape[:2], bool)
        for pages, length in zip(cls.used(arrays), arrays["lengths"]):
            rows = np.arange(seen.shape[1] * len(pages)).reshape(len(pages), seen.shape[1]) < length
            seen[pages] |= rows
        for name in ("key", "value"):
            bits = rng.integers(0, 256, arrays[name + "s"].shape, np.uint8)
            bits[bits % 128 == FLOAT8_NAN] = 0
            arrays[name + "s"] = np.where(seen[..., None, None], bits, np.uint8(FLOAT8_NAN))
            arrays[name + "_scales"] = rng.uniform(0.5, 1, (*seen.shape, KV_HEADS, 1)).astype(np.float32) / 128
        return arrays

    @classmethod
    def context(cls, a):
        wide = {n + "s": FLOAT8[a[n + "s"]].astype(a["query"].dtype) * a[n + "_scales"] for n in ("key", "value")}
        return super().context(a | wide)


class Csr:
    name, spec, hostile = "csr", CSR, ("indices", "indptr", "last")

    @staticmethod
    def inputs(rng):
        pool = Pool(rng)
        counts = [len(pages) for pages in pool.pages]
        last = np.where(pool.lengths > 0, (pool.lengths - 1) % pool.page_size + 1, rng.choice([0, -5, 2**31 - 1]))
        return pool.arrays | {"indices": np.concatenate(pool.pages).astype(np.int32), "last": last.astype(np.int32),
                              "indptr": np.cumsum([0, *counts]).astype(np.int32)}

    @staticmethod
    def are_taken(a):
        counts, offsets = np.diff(a["indptr"].astype(np.int64)), a["indptr"]
        divide = offsets[0] == 0 and (counts >= 0).all() and offsets[-1] == len(a["indices"])
        are_pages = ((0 <= a["indices"]) & (a["indices"] < len(a["keys"]))).all()
        last = a["last"][counts > 0] if divide else np.ones(1)
        return bool(divide and are_pages and ((1 <= last) & (last <= a["keys"].shape[1])).all())

    @staticmethod
    def context(a):
        pages = [a["indices"][start:end] for start, end in zip(a["indptr"], a["indptr"][1:])]
        lengths = [(len(own) - 1) * a["keys"].shape[1] + int(last) if len(own) else 0
                   for own, last in zip(pages, a["last"])]
        return attend_to_pages(a, pages, lengths)


class Chosen:
    name, spec, hostile = "chosen", CHOSEN, ("lists",)

    @staticmethod
    def inputs(rng):
        slots, batch, blocks = int(rng.integers(1, 3001)), int(rng.integers(1, 4)), int(rng.integers(1, 4))
        top_k = int(rng.choice([1, 5, 64, 130, 600]))
        lists = rng.integers(0, slots, (batch, KV_HEADS, blocks, top_k))
        lists[rng.random(lists.shape) < rng.choice([0, 0.1, 1])] = -1
        return {"query": normal(rng, batch, HEADS, blocks, chosen.ROWS, DIM), "keys": normal(rng, slots, 1, KV_HEADS, DIM),
                "values": normal(rng, slots, 1, KV_HEADS, DIM), "lists": lists.astype(np.int32),
                "positions": rng.permutation(slots).astype(np.int32),
                "past": rng.integers(0, slots + 1, batch).astype(np.int32)}

    @staticmethod
    def are_taken(a):
        return bool((a["lists"] < len(a["keys"])).all())

    @staticmethod
    def context(a):
        return chosen.outputs(**a)["context"]


# ---------------------------------------------------------------------------
# The calls
# ---------------------------------------------------------------------------


def make_hostile(kind, arrays, rng):
    for _ in range(int(rng.integers(1, 4))):
        array = arrays[str(rng.choice(kind.hostile))].reshape(-1)
        if array.size:
            near = int(rng.choice([len(arrays["keys"]), array[int(rng.integers(0, array.size))]])) + int(rng.integers(-1, 2))
            array[int(rng.integers(0, array.size))] = rng.choice([-1, -2**31, 2**31 - 1, 0, np.clip(near, -2**31, 2**31 - 1)])
    return arrays


@np.errstate(all="ignore")
def call(library, kind, arrays, at_end):
    """Ends this process: with 0 where the result is right, or wrong arguments are refused."""
    ins = [guard(arrays[p.name], at_end) for p in library.inputs]
    out = guard(np.full_like(arrays["query"], 7), at_end)
    status = library.call(ins, [out], threads=2)
    if not kind.are_taken(arrays):
        os._exit(not calls.is_refused(library, status, " of attn."))
    if status != 0:
        print(library.error().decode(), flush=True)
        os._exit(1)
    exact, plain = (kind.context(check.as_type(arrays, element)) for element in (np.float64, np.float32))
    is_nan = np.isnan(exact)  # a hostile table may show rows of NaN
    largest = lambda x: np.abs(x[~is_nan]).max(initial=0)
    allowed = 2 * largest(plain - exact) + 4 * 2.0**-23 * largest(exact)
    os._exit(not (np.isnan(out) == is_nan).all() or not largest(out - exact) <= allowed)


def run(kind, options):
    """Whether each call of the kind is good."""
    with calls.compiled(kind.name, kind.spec, options.target) as library:
        for number in range(options.count + options.hostile):
            rng = np.random.default_rng([options.seed, number])
            arrays, is_hostile = kind.inputs(rng), number >= options.count
            if is_hostile:
                make_hostile(kind, arrays, rng)
            label = f"{kind.name} {number} page_size={arrays['keys'].shape[1]} {'hostile' if is_hostile else ''}"
            yield calls.is_good(lambda: call(library, kind, arrays, number % 2 == 0), label)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("target", nargs="?", default="host")
    parser.add_argument("--count", type=int, default=200 if os.environ.get("ATTNC_TEST_ALL") else 6, help="pools of each kind")
    parser.add_argument("--hostile", type=int, default=700 if os.environ.get("ATTNC_TEST_ALL") else 30,
                        help="hostile calls of each kind")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    calls.report([good for kind in (Table, Float8Table, Csr, Chosen) for good in run(kind, options)])
