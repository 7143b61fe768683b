"""Compares attention over pages with numpy, called with guarded tensors.

    pages.py [TARGET]

Pools, tables and lengths are random; the entries of the table behind a sequence's last key hold
garbage. Wrong entries before it, and wrong lengths, are refused.
"""

import dataclasses
import os
import sys

import numpy as np

import attention
import calls
import check
from calls import guard
from guarded import are_right, as_stored, round_to


@dataclasses.dataclass
class Case(calls.Labelled):
    """One spec and the sizes that it is called with."""

    page_size: int = 16
    max_pages: int = 7
    q_len: int = 1
    batch: int = 3
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 64
    value_dim: int = 64
    num_pages: int = 30
    layout: str = "keys_first"
    element: str = "f32"
    index: str = "i32"
    dynamic: bool = False  # all sizes but those of heads
    causal: bool = False
    fused: bool = True  # else the gathered keys are a result, too



CASES = [
    Case(),
    Case(layout="heads_first", dynamic=True),
    Case(page_size=1, max_pages=70),
    Case(page_size=128, max_pages=20, index="i64"),  # keys in splits
    Case(page_size=7, max_pages=13, dynamic=True, element="f16"),
    Case(page_size=64, element="bf16"),
    Case(q_len=49, causal=True),
    Case(q_len=49, page_size=5, max_pages=41, layout="heads_first", causal=True),
    Case(q_len=130, page_size=64, max_pages=3, element="f16", causal=True, index="i64"),
    Case(q_len=33, page_size=16, max_pages=8, element="bf16", dynamic=True, value_dim=17),
    Case(q_len=20, page_size=3, max_pages=30, head_dim=80, heads=2, dynamic=True, causal=True),
    Case(q_len=9, head_dim=30, layout="heads_first"),
    Case(q_len=9, fused=False, index="i64"),
    Case(q_len=9, fused=False, layout="heads_first", dynamic=True, element="f16"),
]


def types(case):
    b, m, e = ("?", "?", case.element) if case.dynamic else (case.batch, case.q_len, case.element)
    pages, size, count = ("?", "?", "?") if case.dynamic else (case.num_pages, case.page_size, case.max_pages)
    rows = (size, case.kv_heads) if case.layout == "keys_first" else (case.kv_heads, size)
    n = "?" if case.dynamic else case.page_size * case.max_pages
    return {
        "query": f"tensor<{b}x{case.heads}x{m}x{case.head_dim}x{e}>",
        "keys": f"tensor<{pages}x{rows[0]}x{rows[1]}x{case.head_dim}x{e}>",
        "values": f"tensor<{pages}x{rows[0]}x{rows[1]}x{case.value_dim}x{e}>",
        "table": f"tensor<{b}x{count}x{case.index}>",
        "kv_len": f"tensor<{b}x{case.index}>",
        "key": f"tensor<{b}x{case.kv_heads}x{n}x{case.head_dim}x{e}>",
        "value": f"tensor<{b}x{case.kv_heads}x{n}x{case.value_dim}x{e}>",
        "score": f"tensor<{b}x{case.heads}x{m}x{n}x{e}>",
        "context": f"tensor<{b}x{case.heads}x{m}x{case.value_dim}x{e}>",
    }


def write_mask(case, t):
    if not case.causal:
        return f"attn.mask %score kv_lengths(%kv_len : {t['kv_len']}) : {t['score']}"
    return f"""attn.mask %score {{
    ^bb0(%batch: index, %head: index, %q: index, %k: index):
      %c2 = arith.constant 2 : index
      %length = tensor.extract %kv_len[%batch] : {t['kv_len']}
      %n = arith.index_cast %length : {case.index} to index
      %m = tensor.dim %query, %c2 : {t['query']}
      %past = arith.subi %n, %m : index
      %last = arith.addi %q, %past : index
      %seen = arith.cmpi sle, %k, %last : index
      attn.yield %seen : i1
    }} : {t['score']}"""


def spec(case):
    t = types(case)
    arguments = ", ".join(f'%{n}: {t[n]} {{attn.name = "{n}"}}'
                          for n in ("query", "keys", "values", "table", "kv_len"))

    def gather(pool, result):
        return (f"attn.gather_pages %{pool}[%table] lengths(%kv_len : {t['kv_len']}) layout({case.layout}) : "
                f"{t[pool]}, {t['table']} -> {t[result]}")

    more = ("", "", "") if case.fused else (", %key", f", {t['key']}", f', {t["key"]} {{attn.name = "key"}}')
    return f"""
    func.func @paged({arguments}) -> ({t['context']} {{attn.name = "context"}}{more[2]}) {{
      %key = {gather("keys", "key")}
      %value = {gather("values", "value")}
      %score = attn.score %query, %key scale(0.125) : {t['query']}, {t['key']} -> {t['score']}
      %masked = {write_mask(case, t)}
      %prob = attn.softmax %masked : {t['score']}
      %context = attn.context %prob, %value : {t['score']}, {t['value']} -> {t['context']}
      return %context{more[0]} : {t['context']}{more[1]}
    }}"""


def inputs(case, rng, lengths):
    def normal(*shape):
        return rng.standard_normal(shape, dtype=np.float32)

    integers = calls.TYPES[case.index]
    rows = (case.page_size, case.kv_heads)
    rows = rows if case.layout == "keys_first" else rows[::-1]
    table = rng.integers(0, case.num_pages, (case.batch, case.max_pages)).astype(integers)
    for entries, length in zip(table, lengths):
        hidden = entries[-(-length // max(case.page_size, 1)):]
        hidden[...] = rng.choice([-1, -2**31, case.num_pages, 2**31 - 1, 0], hidden.shape)
    return {
        "query": normal(case.batch, case.heads, case.q_len, case.head_dim),
        "keys": normal(case.num_pages, *rows, case.head_dim),
        "values": normal(case.num_pages, *rows, case.value_dim),
        "table": table,
        "kv_len": np.array(lengths, integers),
    }


def gathered(case, pool, table, lengths):
    pages = np.arange(case.max_pages) * case.page_size < lengths[:, None]
    rows = pool[np.where(pages, table, 0)]  # [batch, max_pages, page's rows, width]
    if case.layout == "keys_first":
        rows = rows.swapaxes(2, 3)
    rows = rows.swapaxes(1, 2)
    return rows.reshape(case.batch, case.kv_heads, -1, pool.shape[-1])


def outputs(case, query, keys, values, table, kv_len):
    key, value = gathered(case, keys, table, kv_len), gathered(case, values, table, kv_len)
    score = check.score(query, key) * query.dtype.type(0.125)
    q, k = np.ogrid[: case.q_len, : score.shape[-1]]
    last = kv_len[:, None, None, None].astype(np.int64) - (case.q_len - q if case.causal else 1)
    prob = check.softmax(np.where(k <= last, score, -np.inf).astype(score.dtype))
    return {"context": check.context(prob, value), "key": key}


# ---------------------------------------------------------------------------
# The calls
# ---------------------------------------------------------------------------


def call(library, case, arrays, refusal, at_end):
    """Ends this process: with 0 where the results are right, or the call is refused as expected."""
    arrays = {name: round_to(case.element, array) for name, array in arrays.items()}
    ins = [guard(as_stored(case.element, arrays[p.name]), at_end) for p in library.inputs]
    sizes = {"context": (case.batch, case.heads, case.q_len, case.value_dim),
             "key": (case.batch, case.kv_heads, case.page_size * case.max_pages, case.head_dim)}
    outs = [guard(as_stored(case.element, np.full(sizes[p.name], 7, np.float32)), at_end)
            for p in library.outputs]
    status = library.call(ins, outs, threads=1)
    if refusal or status != 0:
        os._exit(not calls.is_refused(library, status, refusal))
    exact = outputs(case, **check.as_type(arrays, np.float64))
    plain = outputs(case, **arrays)
    os._exit(not are_right(case, library, outs, exact, plain))


def is_good(library, case, arrays, refusal, at_end):
    return calls.is_good(lambda: call(library, case, arrays, refusal, at_end),
                         f"[{case.label()}] {arrays['kv_len']} {refusal}")


def good_calls(case, rng):
    """Lengths at random, none, all, and on either side of a page's end."""
    longest = case.page_size * case.max_pages
    yield [0] * case.batch
    yield [longest] * case.batch
    for _ in range(2):
        yield [int(n) for n in rng.integers(0, longest + 1, case.batch)]
    yield [min(longest, case.page_size + i) for i in range(case.batch)]


def bad_calls(case, rng):
    """Inputs with one wrong element, and what the message has to say."""
    longest = case.page_size * case.max_pages
    for page in (-1, case.num_pages, -2**31, 2**31 - 1):
        arrays = inputs(case, rng, [longest] * case.batch)
        b, i = int(rng.integers(0, case.batch)), int(rng.integers(0, case.max_pages))
        arrays["table"][b, i] = page
        yield arrays, f"expected element [{b}, {i}] of table"
    for length in (-1, longest + 1, 2**31 - 1):
        arrays = inputs(case, rng, [longest] * case.batch)
        b = int(rng.integers(0, case.batch))
        arrays["kv_len"][b] = length
        yield arrays, f"expected element {b} of kv_len"


def calls_of(case, rng):
    """A case, inputs and what refuses them."""
    for lengths in good_calls(case, rng):
        yield case, inputs(case, rng, lengths), ""
    for arrays, refusal in bad_calls(case, rng):
        yield case, arrays, refusal
    if case.dynamic:  # without keys
        for none, refusal in (("page_size", "expected a page_size of at least 1"), ("max_pages", "")):
            empty = dataclasses.replace(case, **{none: 0})
            yield empty, inputs(empty, rng, [0] * case.batch), refusal
        empty = dataclasses.replace(case, num_pages=0)
        arrays = inputs(case, rng, [0] * case.batch)
        for name in ("keys", "values"):
            arrays[name] = arrays[name][:0]
        yield empty, arrays, "expected element [0, 0] of table"


def run(case, target):
    rng = np.random.default_rng(0)
    with calls.compiled("paged", spec(case), target) as library:
        return [is_good(library, *one, at_end) for one in calls_of(case, rng) for at_end in (False, True)]


if __name__ == "__main__":
    calls.report([one for case in attention.sample(CASES) for one in run(case, *(sys.argv[1:] or ["host"]))])
