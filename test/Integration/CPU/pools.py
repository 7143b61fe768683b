"""Compares attention over random pools of pages with numpy, called with guarded tensors: block tables,
those of keys in f8E4M3FN, tables in CSR, lists of chosen keys, and pools that rows are appended to first.

    pools.py [TARGET] [--count N] [--hostile N] [--seed S]

Page sizes of 1 to 128, lengths of 0 to 3,000, prefixes that sequences share. A hostile call has a few
elements of its tables changed: it is refused, or its result is right. A refused call appends nothing.
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
    %before = arith.subi %kv_len, %q_len : index
    %end = arith.addi %i, %before : index
    %seen = arith.cmpi sle, %k, %end : index
    attn.yield %seen : i1
  } : tensor<?x4x?x?xf32>
  %prob = attn.softmax %masked : tensor<?x4x?x?xf32>
  %context = attn.context %prob, %value : tensor<?x4x?x?xf32>, tensor<?x2x?x32xf32>
"""
RETURN = """
  return %context : tensor<?x4x?x32xf32>
}"""

TABLE = """
func.func @table(%query: tensor<?x4x?x32xf32> {attn.name = "query"},
                 %keys: tensor<?x?x2x32xf32> {attn.name = "keys"}, %values: tensor<?x?x2x32xf32> {attn.name = "values"},
                 %table: tensor<?x?xi32> {attn.name = "table"}, %n: tensor<?xi32> {attn.name = "lengths"})
    -> (tensor<?x4x?x32xf32> {attn.name = "context"}) {
  %key = attn.gather_pages %keys[%table] lengths(%n : tensor<?xi32>) : tensor<?x?x2x32xf32>, tensor<?x?xi32>
  %value = attn.gather_pages %values[%table] lengths(%n : tensor<?xi32>) : tensor<?x?x2x32xf32>, tensor<?x?xi32>
""" + ATTENTION + RETURN

CSR = """
func.func @csr(%query: tensor<?x4x?x32xf32> {attn.name = "query"},
               %keys: tensor<?x?x2x32xf32> {attn.name = "keys"}, %values: tensor<?x?x2x32xf32> {attn.name = "values"},
               %indices: tensor<?xi32> {attn.name = "indices"}, %indptr: tensor<?xi32> {attn.name = "indptr"},
               %last: tensor<?xi32> {attn.name = "last"}) -> (tensor<?x4x?x32xf32> {attn.name = "context"}) {
  %n = attn.page_lengths %keys[%indices] offsets(%indptr : tensor<?xi32>) last(%last : tensor<?xi32>)
      : tensor<?x?x2x32xf32>, tensor<?xi32>
  %key = attn.gather_pages %keys[%indices] offsets(%indptr : tensor<?xi32>) : tensor<?x?x2x32xf32>, tensor<?xi32>
  %value = attn.gather_pages %values[%indices] offsets(%indptr : tensor<?xi32>) : tensor<?x?x2x32xf32>, tensor<?xi32>
""" + ATTENTION + RETURN

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
""" for name in ("key", "value")) + ATTENTION + RETURN

# The layouts of pools that rows are appended to.
LAYOUTS = {"keys": "keys_first", "values": "heads_first", "key_scales": "keys_first", "value_scales": "heads_first"}


def append_spec(name, pools, tables, entries, lengths=""):
    """`pools` are the names of pools and the elements of one row, `entries` what finds a pool's pages."""
    arguments, results, lines, rows = ["%query: tensor<?x4x?x32xf32>"], {"context": "tensor<?x4x?x32xf32>"}, "", {}
    read = {} if "key_scales" in pools else {"keys": "key", "values": "value"}
    for pool, row in pools.items():
        type_ = f"tensor<?x{'?x2' if LAYOUTS[pool] == 'keys_first' else '2x?'}x{row}>"
        rows[pool] = f"tensor<?x2x?x{row}>"
        arguments += [f"%{pool}: {type_}", f"%new_{pool}: {rows[pool]}"]
        results[f"all_{pool}"] = type_
        lines += f"""
  %all_{pool} = attn.append_pages %{pool}{entries}, %new_{pool}, %past counts(%counts : tensor<?xi32>)
      layout({LAYOUTS[pool]}) : {type_}, {tables["table"]}, {rows[pool]}, tensor<?xi32>
  %{read.get(pool, pool + "_rows")} = attn.gather_pages %all_{pool}{entries}{lengths} layout({LAYOUTS[pool]}) : {type_}, {tables["table"]}"""
    for one in () if read else ("key", "value"):
        lines += f"""
  %{one} = attn.dequantize %{one}s_rows scales(%{one}_scales_rows : {rows[f"{one}_scales"]})
      : {rows[f"{one}s"]} -> tensor<?x2x?x32xf32>"""
    arguments += [f"%{table}: {type_}" for table, type_ in tables.items()]
    arguments += ["%past: tensor<?xi32>", "%counts: tensor<?xi32>"]
    return f"""
func.func @{name}({", ".join(arguments)})
    -> ({", ".join(f'{type_} {{attn.name = "{result}"}}' for result, type_ in results.items())}) {{
  %n = attn.map %past, %counts {{
  ^bb0(%length: i32, %count: i32):
    %sum = arith.addi %length, %count : i32
    attn.yield %sum : i32
  }} : tensor<?xi32>, tensor<?xi32> -> tensor<?xi32>{lines}{ATTENTION}
  return {", ".join("%" + result for result in results)} : {", ".join(results.values())}
}}"""


APPEND = append_spec("append", {"keys": "32xf32", "values": "32xf32"}, {"table": "tensor<?x?xi32>"}, "[%table]",
                     " lengths(%n : tensor<?xi32>)")
APPEND_FLOAT8 = append_spec(
    "append_float8",
    {"keys": "32xf8E4M3FN", "values": "32xf8E4M3FN", "key_scales": "1xf32", "value_scales": "1xf32"},
    {"table": "tensor<?xi32>", "indptr": "tensor<?xi32>"}, "[%table] offsets(%indptr : tensor<?xi32>)")


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

    def in_table(self, rng):
        most = max(map(len, self.pages)) + int(rng.integers(0, 3))
        table = rng.choice([-1, 2**31 - 1, -2**31, 0], (len(self.pages), most)).astype(np.int32)
        for entries, pages in zip(table, self.pages):
            entries[:len(pages)] = pages
        return {"table": table}

    def in_csr(self, name):
        return {name: np.concatenate(self.pages).astype(np.int32),
                "indptr": np.cumsum([0, *map(len, self.pages)]).astype(np.int32)}


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


def keys_first(arrays, name):
    """A view of a pool that rows are appended to."""
    return arrays[name] if LAYOUTS[name] == "keys_first" else arrays[name].swapaxes(1, 2)


def written(pages, past, count, size):
    """The pages of a sequence that rows are appended to."""
    return pages[past // size:-(-(past + count) // size)] if count > 0 else pages[:0]


def append(arrays, all_pages):
    """The pools with their new rows."""
    after = {name: arrays[name].copy() for name in LAYOUTS if name in arrays}
    for name in after:
        pool, new = keys_first(after, name), arrays["new_" + name]
        for b, (pages, past, count) in enumerate(zip(all_pages, arrays["past"], arrays["counts"])):
            for t in range(count):
                entry, row = divmod(int(past) + t, pool.shape[1])
                pool[pages[entry], row] = new[b, :, t]
    return after


# ---------------------------------------------------------------------------
# Kinds of specs: random arguments, whether they are taken, and the result
# ---------------------------------------------------------------------------


class Kind:
    @staticmethod
    def pools(a):
        """What pools hold after the call that it appends to."""
        return {}


class Table(Kind):
    name, spec, hostile = "table", TABLE, ("table", "lengths")

    @staticmethod
    def inputs(rng):
        pool = Pool(rng)
        return pool.arrays | pool.in_table(rng) | {"lengths": pool.lengths.astype(np.int32)}

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


def float8(rng, shape):
    """Numbers and the scales of rows."""
    bits = rng.integers(0, 256, shape, np.uint8)
    bits[bits % 128 == FLOAT8_NAN] = 0
    return bits, rng.uniform(0.5, 1, (*shape[:-1], 1)).astype(np.float32) / 128


def make_float8(rng, arrays, all_pages, lengths):
    """Replaces keys and values. Rows that no sequence has are NaN."""
    seen = np.zeros(arrays["keys"].shape[:2], bool)
    for pages, length in zip(all_pages, lengths):
        rows = np.arange(seen.shape[1] * len(pages)).reshape(len(pages), seen.shape[1]) < length
        seen[pages] |= rows
    for name in ("key", "value"):
        bits, arrays[name + "_scales"] = float8(rng, arrays[name + "s"].shape)
        arrays[name + "s"] = np.where(seen[..., None, None], bits, np.uint8(FLOAT8_NAN))


def widen(arrays, dtype):
    return {n + "s": FLOAT8[arrays[n + "s"]].astype(dtype) * arrays[n + "_scales"] for n in ("key", "value")}


class Float8Table(Table):
    name, spec = "float8", FLOAT8_TABLE

    @classmethod
    def inputs(cls, rng):
        arrays = super().inputs(rng)
        make_float8(rng, arrays, cls.used(arrays), arrays["lengths"])
        return arrays

    @classmethod
    def context(cls, a):
        return super().context(a | widen(a, a["query"].dtype))


def divides(offsets, total):
    """Whether a call takes the offsets."""
    return bool(offsets[0] == 0 and (np.diff(offsets.astype(np.int64)) >= 0).all() and offsets[-1] == total)


class Csr(Kind):
    name, spec, hostile = "csr", CSR, ("indices", "indptr", "last")

    @staticmethod
    def inputs(rng):
        pool = Pool(rng)
        last = np.where(pool.lengths > 0, (pool.lengths - 1) % pool.page_size + 1, rng.choice([0, -5, 2**31 - 1]))
        return pool.arrays | pool.in_csr("indices") | {"last": last.astype(np.int32)}

    @staticmethod
    def are_taken(a):
        counts = np.diff(a["indptr"].astype(np.int64))
        are_pages = ((0 <= a["indices"]) & (a["indices"] < len(a["keys"]))).all()
        divide = divides(a["indptr"], len(a["indices"]))
        last = a["last"][counts > 0] if divide else np.ones(1)
        return bool(divide and are_pages and ((1 <= last) & (last <= a["keys"].shape[1])).all())

    @staticmethod
    def context(a):
        pages = [a["indices"][start:end] for start, end in zip(a["indptr"], a["indptr"][1:])]
        lengths = [(len(own) - 1) * a["keys"].shape[1] + int(last) if len(own) else 0
                   for own, last in zip(pages, a["last"])]
        return attend_to_pages(a, pages, lengths)


class Append(Kind):
    """The last rows of sequences are appended, but where two would append to one page."""

    name, spec, hostile = "append", APPEND, ("table", "past", "counts")

    @classmethod
    def inputs(cls, rng):
        pool = Pool(rng)
        most, counts, taken = int(rng.choice([1, 1, 5, 40])), [], set()
        for pages, length in zip(pool.pages, pool.lengths.tolist()):
            count = int(rng.integers(0, min(length, most) + 1))
            own = set(written(pages, length - count, count, pool.page_size).tolist())
            counts.append(0 if own & taken else count)
            taken |= own
        counts = np.array(counts)
        arrays = pool.arrays | cls.listed(pool, rng) | {
            "past": (pool.lengths - counts).astype(np.int32), "counts": counts.astype(np.int32)}
        return cls.add_rows(rng, arrays, (len(counts), KV_HEADS, most, DIM))

    @staticmethod
    def listed(pool, rng):
        return pool.in_table(rng)

    @staticmethod
    def add_rows(rng, arrays, shape):
        return arrays | {"new_keys": normal(rng, *shape), "new_values": normal(rng, *shape),
                         "values": arrays["values"].swapaxes(1, 2).copy()}

    @staticmethod
    def pages(a):
        return list(a["table"])

    @classmethod
    def used(cls, a):
        size = a["keys"].shape[1]
        lengths = a["past"].astype(np.int64) + a["counts"]
        return [pages[:-(-length // size)] for pages, length in zip(cls.pages(a), lengths)]

    @classmethod
    def are_taken(cls, a):
        size, appended = a["keys"].shape[1], []
        for pages, past, count in zip(cls.pages(a), a["past"].tolist(), a["counts"].tolist()):
            if not (0 <= count <= a["new_keys"].shape[2] and 0 <= past <= len(pages) * size - count):
                return False
            appended += written(pages, past, count, size).tolist()
        are_pages = all(((0 <= pages) & (pages < len(a["keys"]))).all() for pages in cls.used(a))
        return are_pages and len(set(appended)) == len(appended)

    @classmethod
    def pools(cls, a):
        return append(a, cls.pages(a))

    @classmethod
    def context(cls, a):
        after = a | cls.pools(a)
        by_key = cls.widen(after | {name: keys_first(after, name) for name in LAYOUTS if name in after})
        return attend_to_pages(a | by_key, cls.used(a), a["past"] + a["counts"])

    @staticmethod
    def widen(a):
        return {"keys": a["keys"], "values": a["values"]}


class AppendFloat8(Append):
    """In CSR, to rows in f8E4M3FN with scales."""

    name, spec, hostile = "append_float8", APPEND_FLOAT8, ("table", "indptr", "past", "counts")

    @staticmethod
    def listed(pool, rng):
        return pool.in_csr("table")

    @classmethod
    def add_rows(cls, rng, arrays, shape):
        make_float8(rng, arrays, cls.pages(arrays), arrays["past"])
        for name in ("key", "value"):
            arrays[f"new_{name}s"], arrays[f"new_{name}_scales"] = float8(rng, shape)
        return arrays | {name: arrays[name].swapaxes(1, 2).copy() for name in ("values", "value_scales")}

    @classmethod
    def are_taken(cls, a):
        are_pages = ((0 <= a["table"]) & (a["table"] < len(a["keys"]))).all()
        return bool(divides(a["indptr"], len(a["table"])) and are_pages and super().are_taken(a))

    @staticmethod
    def pages(a):
        return [a["table"][start:end] for start, end in zip(a["indptr"], a["indptr"][1:])]

    @staticmethod
    def widen(a):
        return widen(a, a["query"].dtype)


class Chosen(Kind):
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


def is_right(kind, arrays, context):
    exact, plain = (kind.context(check.as_type(arrays, element)) for element in (np.float64, np.float32))
    is_nan = np.isnan(exact)  # a hostile table may show rows of NaN
    largest = lambda x: np.abs(x[~is_nan]).max(initial=0)
    allowed = 2 * largest(plain - exact) + 4 * 2.0**-23 * largest(exact)
    return (np.isnan(context) == is_nan).all() and largest(context - exact) <= allowed


def hold(outs, pools):
    return all(np.array_equal(outs["all_" + name].view(np.uint8), pool.view(np.uint8)) for name, pool in pools.items())


@np.errstate(all="ignore")
def call(library, kind, arrays, at_end, in_place):
    """Ends this process: with 0 where the result is right, or wrong arguments are refused."""
    ins = [guard(arrays[p.name], at_end) for p in library.inputs]
    outs = {}
    for p in library.outputs:
        like = arrays["query" if p.name == "context" else p.name.removeprefix("all_")]
        is_input = in_place and p.in_place is not None
        outs[p.name] = ins[p.in_place] if is_input else guard(np.full_like(like, 7), at_end)
    status = library.call(ins, list(outs.values()), threads=2)
    if not kind.are_taken(arrays):
        kept = {name: arrays[name] for name in LAYOUTS if in_place and "all_" + name in outs}
        os._exit(not calls.is_refused(library, status, " of attn.") or not hold(outs, kept))
    if status != 0:
        print(library.error().decode(), flush=True)
        os._exit(1)
    os._exit(not hold(outs, kind.pools(arrays)) or not is_right(kind, arrays, outs["context"]))


def run(kind, options):
    """Whether each call of the kind is good."""
    with calls.compiled(kind.name, kind.spec, options.target) as library:
        for number in range(options.count + options.hostile):
            rng = np.random.default_rng([options.seed, number])
            arrays, is_hostile = kind.inputs(rng), number >= options.count
            if is_hostile:
                make_hostile(kind, arrays, rng)
            label = f"{kind.name} {number} page_size={arrays['keys'].shape[1]} {'hostile' if is_hostile else ''}"
            yield calls.is_good(lambda: call(library, kind, arrays, number % 2 == 0, number % 4 < 2), label)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("target", nargs="?", default="host")
    parser.add_argument("--count", type=int, default=200 if os.environ.get("ATTNC_TEST_ALL") else 6, help="pools of each kind")
    parser.add_argument("--hostile", type=int, default=700 if os.environ.get("ATTNC_TEST_ALL") else 30,
                        help="hostile calls of each kind")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    calls.report([good for kind in (Table, Float8Table, Csr, Append, AppendFloat8, Chosen) for good in run(kind, options)])
