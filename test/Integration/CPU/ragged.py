"""Compares attention over packed rows with numpy, sequence by sequence, called with guarded tensors.

    ragged.py [TARGET] [--calls N] [--seed S] [--only N | --share N] [--element f16|bf16]

Sequences are of random lengths: empty ones, decode steps and prompts in one call. Keys are packed,
in pages or in a cache. Offsets that are wrong anywhere are refused, and nothing is written then.
"""

import argparse
import dataclasses
import os

import numpy as np

import attention
import calls
import check
from calls import guard
from guarded import are_right, as_stored, round_to


@dataclasses.dataclass
class Case(calls.Labelled):
    """One spec and the sizes that it is called with."""

    keys: str = "packed"  # or pages, or cache
    total: int = 0  # queries; 0: open
    batch: int = 5
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 64
    value_dim: int = 64
    kv_len: int = 200  # of a cache; of all sequences, if keys are packed; of pages' tables
    page_size: int = 16
    element: str = "f32"
    index: str = "i32"
    mask: str = "causal(bottom_right)"
    lse: bool = False
    sink: bool = False
    bias: bool = False  # by head, query and key of a sequence
    q_len: int = 0  # the function's attn.q_len: one kernel computes all sequences


CASES = [
    Case(),
    Case(keys="pages", lse=True),
    Case(keys="cache", sink=True, q_len=100),
    Case(keys="pages", kv_len=2100, heads=8, head_dim=128, value_dim=128, page_size=64, q_len=1),  # keys in splits
    Case(keys="packed", mask="", kv_len=300, index="i64", q_len=10),
    Case(keys="pages", element="bf16", lse=True, kv_len=500, q_len=500),
    Case(keys="cache", element="f16", mask="window(20, 0, bottom_right)", index="i64", q_len=500),
    Case(keys="packed", total=150, batch=9, head_dim=80, value_dim=17, bias=True, q_len=500),
    Case(keys="pages", page_size=5, kv_heads=4, head_dim=30, lse=True, sink=True, q_len=20),
    Case(keys="cache", total=3, batch=3, kv_len=1100, heads=8, kv_heads=1, lse=True, q_len=1),
]


def types(case):
    m, e, i = case.total or "?", case.element, case.index
    keys = {"packed": lambda d: f"tensor<?x{case.kv_heads}x{d}x{e}>",
            "pages": lambda d: f"tensor<?x{case.page_size}x{case.kv_heads}x{d}x{e}>",
            "cache": lambda d: f"tensor<?x{case.kv_heads}x?x{d}x{e}>"}[case.keys]
    types = {"query": f"tensor<{m}x{case.heads}x{case.head_dim}x{e}>", "keys": keys(case.head_dim),
             "values": keys(case.value_dim), "offsets": f"tensor<?x{i}>"}
    types |= {"kv_offsets": f"tensor<?x{i}>"} if case.keys == "packed" else {"kv_len": f"tensor<?x{i}>"}
    if case.keys == "pages":
        types["table"] = "tensor<?x?xi32>"
    if case.sink:
        types["sink"] = f"tensor<1x{case.heads}x1x{e}>"
    if case.bias:
        types["bias"] = f"tensor<{case.heads}x?x?x{e}>"
    return types


def write_keys(case, name, result, dim):
    t, kind = types(case), f"tensor<?x{case.kv_heads}x?x{dim}x{case.element}>"
    if case.keys == "packed":
        return f"%{result} = attn.unpack_rows %{name} offsets(%kv_offsets) : {t[name]}, {t['kv_offsets']} -> {kind}"
    if case.keys == "pages":
        return (f"%{result} = attn.gather_pages %{name}[%table] lengths(%kv_len : {t['kv_len']}) : "
                f"{t[name]}, {t['table']} -> {kind}")
    return ""


def spec(case):
    t, e = types(case), case.element
    m = case.total or "?"
    arguments = ", ".join(f'%{n}: {type_} {{attn.name = "{n}"}}' for n, type_ in t.items())
    key, value = ("keys", "values") if case.keys == "cache" else ("key", "value")
    kv = f"tensor<?x{case.kv_heads}x?x{{}}x{e}>".format
    q, score = f"tensor<?x{case.heads}x{m}x{case.head_dim}x{e}>", f"tensor<?x{case.heads}x{m}x?x{e}>"
    context = f"tensor<?x{case.heads}x{m}x{case.value_dim}x{e}>"
    results = {"context": f"tensor<{m}x{case.heads}x{case.value_dim}x{e}>"}
    lse = f"tensor<?x{case.heads}x{m}x{e}>"
    if case.lse:
        results["lse"] = f"tensor<{m}x{case.heads}x{e}>"
    lengths = (f"kv_offsets(%kv_offsets : {t['kv_offsets']})" if case.keys == "packed" else
               f"kv_lengths(%kv_len : {t['kv_len']})")
    named = ", ".join(f'{type_} {{attn.name = "{n}"}}' for n, type_ in results.items())
    bias = f"""%biased = attn.modify_score %score {{
      ^bb0(%s: {e}, %b: index, %h: index, %i: index, %j: index):
        %bij = tensor.extract %bias[%h, %i, %j] : {t.get('bias')}
        %sum = arith.addf %s, %bij : {e}
        attn.yield %sum : {e}
      }} : {score}""" if case.bias else ""
    return f"""
    func.func @ragged({arguments}) -> ({named}) {f"attributes {{attn.q_len = {case.q_len}}}" if case.q_len else ""} {{
      %q = attn.unpack_rows %query offsets(%offsets) : {t['query']}, {t['offsets']} -> {q}
      {write_keys(case, "keys", "key", case.head_dim)}
      {write_keys(case, "values", "value", case.value_dim)}
      %score = attn.score %q, %{key} scale(0.125) : {q}, {kv(case.head_dim)} -> {score}
      {bias}
      %masked = attn.mask %{'biased' if case.bias else 'score'} {case.mask} q_offsets(%offsets : {t['offsets']}) {lengths} : {score}
      {f"%l = attn.lse %masked : {score} -> {lse}" if case.lse else ""}
      %prob = attn.softmax %masked {f"sink(%sink : {t['sink']})" if case.sink else ""} : {score}
      %context = attn.context %prob, %{value} : {score}, {kv(case.value_dim)} -> {context}
      %packed = attn.pack_rows %context offsets(%offsets) : {context}, {t['offsets']} -> {results['context']}
      {f"%pl = attn.pack_rows %l offsets(%offsets) : {lse}, {t['offsets']} -> {results['lse']}" if case.lse else ""}
      return %packed{", %pl" if case.lse else ""} : {", ".join(results.values())}
    }}"""


# ---------------------------------------------------------------------------
# Inputs and results
# ---------------------------------------------------------------------------


def divide(rng, total, batch, kind):
    """Offsets of `batch` sequences: of random lengths, one that has all rows, or single rows."""
    if kind == "one":
        whole = int(rng.integers(0, batch))
        return [0] * (whole + 1) + [total] * (batch - whole)
    if kind == "steps" and total >= batch:
        return [*range(batch), total]
    return [0, *sorted(int(x) for x in rng.integers(0, total + 1, batch - 1)), total]


def inputs(case, rng, offsets, kv_offsets):
    def normal(*shape):
        return rng.standard_normal(shape, dtype=np.float32)

    integers, batch = calls.TYPES[case.index], len(offsets) - 1
    lengths = np.diff(kv_offsets)
    arrays = {"query": normal(offsets[-1], case.heads, case.head_dim), "offsets": np.array(offsets, integers)}
    if case.keys == "packed":
        shape = (kv_offsets[-1], case.kv_heads)
        arrays["kv_offsets"] = np.array(kv_offsets, integers)
    elif case.keys == "cache":
        shape = (batch, case.kv_heads, case.kv_len)
        arrays["kv_len"] = np.minimum(lengths, case.kv_len).astype(integers)
    else:
        pages = -(-case.kv_len // case.page_size)
        shape = (max(batch * pages, 1), case.page_size, case.kv_heads)
        table = rng.permutation(batch * pages).reshape(batch, pages).astype(np.int32)
        arrays["kv_len"] = np.minimum(lengths, case.kv_len).astype(integers)
        for entries, length in zip(table, arrays["kv_len"]):
            entries[-(-length // case.page_size):] = -1
        arrays["table"] = table
    arrays |= {"keys": normal(*shape, case.head_dim), "values": normal(*shape, case.value_dim)}
    if case.sink:
        arrays["sink"] = normal(1, case.heads, 1)
    if case.bias:
        arrays["bias"] = normal(case.heads, offsets[-1], max(kv_offsets[-1], 1))
    return arrays


def get_rows(case, arrays, name, b):
    """The keys or values of a sequence, [kv_heads, length, dim]."""
    rows = arrays[name]
    if case.keys == "packed":
        return rows[arrays["kv_offsets"][b]:arrays["kv_offsets"][b + 1]].swapaxes(0, 1)
    length = arrays["kv_len"][b]
    if case.keys == "cache":
        return rows[b, :, :length]
    entries = arrays["table"][b, :-(-int(length) // case.page_size)]
    return rows[entries].reshape(-1, *rows.shape[2:])[:length].swapaxes(0, 1)


def outputs(case, **arrays):
    query, offsets = arrays["query"], arrays["offsets"]
    context = np.zeros((*query.shape[:2], case.value_dim), query.dtype)
    lse = np.full(query.shape[:2], -np.inf, query.dtype)
    for b in range(len(offsets) - 1):
        rows = slice(offsets[b], offsets[b + 1])
        q, key, value = query[rows].swapaxes(0, 1), get_rows(case, arrays, "keys", b), get_rows(case, arrays, "values", b)
        m, n = q.shape[1], key.shape[1]
        if m == 0 or n == 0:
            continue
        score = check.score(q[None], key[None]) * q.dtype.type(0.125)
        if case.bias:
            score = score + arrays["bias"][None, :, :m, :n]
        i, j = np.ogrid[:m, :n]
        distance = j - (i + n - m)
        seen = distance <= 0 if case.mask.startswith("causal") else (np.abs(distance + 10) <= 10 if case.mask else distance < n + m)
        score = np.where(seen, score, -np.inf).astype(score.dtype)
        with np.errstate(all="ignore"):
            if case.sink:
                sink = np.broadcast_to(arrays["sink"][..., None], (*score.shape[:3], 1))
                prob = check.softmax(np.concatenate([score, sink], -1))[..., :-1]
            else:
                prob = check.softmax(score)
            top = score.max(-1)
            total = np.exp(score - np.where(np.isfinite(top), top, 0)[..., None]).sum(-1)
            lse[rows] = (np.where(np.isfinite(top), top, 0) + np.log(total))[0].T
        context[rows] = check.context(prob, value[None])[0].swapaxes(0, 1)
    return {"context": context, "lse": lse}


# ---------------------------------------------------------------------------
# The calls
# ---------------------------------------------------------------------------


def call(library, case, arrays, refusal, at_end):
    """Ends this process: with 0 where the results are right, or the call is refused as expected."""
    arrays = {name: round_to(case.element, array) for name, array in arrays.items()}
    ins = [guard(as_stored(case.element, arrays[p.name]), at_end) for p in library.inputs]
    rows = arrays["query"].shape[:2]
    sizes = {"context": (*rows, case.value_dim), "lse": rows}
    outs = [guard(as_stored(case.element, np.full(sizes[p.name], 7, np.float32)), at_end)
            for p in library.outputs]
    before = [out.copy() for out in outs]
    status = library.call(ins, outs, threads=2)
    if refusal or status != 0:
        refused = calls.is_refused(library, status, refusal)
        unwritten = all(np.array_equal(a, b) for a, b in zip(before, outs))
        os._exit(not (refused and unwritten))
    exact = outputs(case, **check.as_type(arrays, np.float64))
    plain = outputs(case, **arrays)
    os._exit(not are_right(case, library, outs, exact, plain))


def is_good(library, case, arrays, refusal, at_end):
    lengths = {n: a.tolist() for n, a in arrays.items() if n in ("offsets", "kv_offsets", "kv_len")}
    return calls.is_good(lambda: call(library, case, arrays, refusal, at_end), f"[{case.label()}] {lengths} {refusal}")


def make(case, rng, kind, batch=None):
    batch = case.batch if batch is None else batch
    most = case.kv_len if case.keys == "packed" else case.kv_len * batch
    total = case.total or {"steps": batch, "one": 137}.get(kind, int(rng.integers(1, 200)))
    kv = int(rng.integers(most // 2, most + 1))
    return inputs(case, rng, divide(rng, total, batch, kind), divide(rng, kv, batch, kind))


def bad_calls(case, rng):
    """Inputs with one wrong offset, and what the message has to say."""
    names = ["offsets", "kv_offsets"] if case.keys == "packed" else ["offsets"]
    for name in names:
        for value in (-1, "more", "less", 2**31 - 1, -2**31):
            arrays = make(case, rng, "random")
            at = int(rng.integers(0, case.batch + 1))
            total = int(arrays[name][-1])
            wrong = {"more": total + 1, "less": int(arrays[name][at]) - 1}.get(value, value)
            if at > 0 and value == "less" and wrong >= arrays[name][at - 1] and at < case.batch:
                at, wrong = case.batch, total - 1
            arrays[name][at] = wrong
            yield arrays, f"of {name} of attn."


def calls_of(case, rng, count):
    """Inputs and what refuses them."""
    for kind in ("random", "one", "steps", "random"):
        yield make(case, rng, kind), ""
    for _ in range(count):
        yield make(case, rng, "random", int(rng.integers(1, 12)) if not case.total else None), ""
    yield from bad_calls(case, rng)
    if not case.total:  # no rows, no sequences, no offsets
        lengths = [0] * (case.batch + 1)
        yield inputs(case, rng, lengths, divide(rng, 100, case.batch, "random")), ""
        if case.keys == "packed":
            empty = inputs(case, rng, [0], [0])
            yield empty, ""
            some = inputs(case, rng, [0, 3], [0, 3])
            yield some | {"offsets": some["offsets"][:0], "kv_offsets": some["offsets"][:0]}, "expected at least one offset"
            yield some | {"kv_offsets": np.concatenate([some["kv_offsets"], [3]]).astype(calls.TYPES[case.index])}, "batch of"


def run(case, options):
    rng = np.random.default_rng(options.seed)
    with calls.compiled("ragged", spec(case), options.target) as library:
        return [is_good(library, case, *one, at_end) for one in calls_of(case, rng, options.calls)
                for at_end in (False, True)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("target", nargs="?", default="host")
    parser.add_argument("--calls", type=int, default=2, help="further random calls of each case")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="the number of one case")
    parser.add_argument("--share", type=int, default=3, help="run every so-manyth case (with ATTNC_TEST_ALL: all)")
    parser.add_argument("--element", choices=("f16", "bf16"), help="that of all cases, in place of their own")
    options = parser.parse_args()
    chosen = attention.sample(CASES, options.share) if options.only is None else [CASES[options.only]]
    if options.element:
        chosen = [dataclasses.replace(case, element=options.element) for case in chosen]
    calls.report([one for case in chosen for one in run(case, options)])
