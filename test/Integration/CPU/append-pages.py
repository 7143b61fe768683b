"""Appends rows to keys in pages, called with guarded tensors, and compares the pool with numpy's.

    append-pages.py [TARGET]

Tables, lengths and counts are random; the entries that no row goes to hold garbage. In place,
nothing but the pages of the rows may be touched. Wrong entries, lengths and counts are refused, and
the pool stays as it was.
"""

import dataclasses
import os
import sys

import numpy as np

import calls
from calls import PAGE, guard, libc


@dataclasses.dataclass
class Case(calls.Labelled):
    """One spec and the sizes that it is called with."""

    page_size: int = 16
    max_pages: int = 7
    new: int = 1
    batch: int = 3
    heads: int = 2
    head_dim: int = 64
    num_pages: int = 30
    layout: str = "keys_first"
    element: str = "f32"
    index: str = "i32"
    dynamic: bool = False
    counts: bool = False



CASES = [
    Case(),
    Case(new=20, counts=True),
    Case(new=40, layout="heads_first", dynamic=True, counts=True),
    Case(new=5, page_size=1, max_pages=12, num_pages=70, index="i64", batch=5),
    Case(new=100, page_size=128, max_pages=2, element="f16", head_dim=30, dynamic=True),
    Case(new=49, page_size=7, max_pages=13, num_pages=45, layout="heads_first", element="bf16", index="i64",
         counts=True, dynamic=True, head_dim=17),
    Case(batch=40, num_pages=41, dynamic=True),
    Case(new=20, element="i8", counts=True, dynamic=True),
    Case(heads=1, new=20, counts=True),  # a page is one of the machine's
]


def types(case):
    b, m, n = ("?", "?", "?") if case.dynamic else (case.batch, case.new, case.max_pages)
    size, pages = ("?", "?") if case.dynamic else (case.page_size, case.num_pages)
    rows = (size, case.heads) if case.layout == "keys_first" else (case.heads, size)
    return {
        "pool": f"tensor<{pages}x{rows[0]}x{rows[1]}x{case.head_dim}x{case.element}>",
        "table": f"tensor<{b}x{n}x{case.index}>",
        "rows": f"tensor<{b}x{case.heads}x{m}x{case.head_dim}x{case.element}>",
        "length": f"tensor<{b}x{case.index}>",
    } | ({"counts": f"tensor<{b}x{case.index}>"} if case.counts else {})


def spec(case):
    t = types(case)
    arguments = ", ".join(f'%{name}: {type_} {{attn.name = "{name}"}}' for name, type_ in t.items())
    counts = f"counts(%counts : {t['counts']}) " if case.counts else ""
    return f"""
    func.func @append({arguments}) -> ({t['pool']} {{attn.name = "pages"}}) {{
      %pages = attn.append_pages %pool[%table], %rows, %length {counts}layout({case.layout})
          : {t['pool']}, {t['table']}, {t['rows']}, {t['length']}
      return %pages : {t['pool']}
    }}"""


def random_bits(case, rng, shape):
    type_ = calls.TYPES[case.element]
    return rng.integers(0, 256, (*shape, np.dtype(type_).itemsize), np.uint8).view(type_)[..., 0]


def inputs(case, rng, length, count):
    integers = calls.TYPES[case.index]
    rows = (case.page_size, case.heads)
    rows = rows if case.layout == "keys_first" else rows[::-1]
    table = rng.choice([-1, -2**31, case.num_pages, 2**31 - 1, 0], (case.batch, case.max_pages))
    pages = iter(rng.permutation(case.num_pages))
    for b in range(case.batch):
        for i in written(case, length[b], count[b]):
            table[b, i] = next(pages)
    arrays = {
        "pool": random_bits(case, rng, (case.num_pages, *rows, case.head_dim)),
        "table": table.astype(integers),
        "rows": random_bits(case, rng, (case.batch, case.heads, case.new, case.head_dim)),
        "length": np.array(length, integers),
    }
    return arrays | ({"counts": np.array(count, integers)} if case.counts else {})


def written(case, length, count):
    """The entries of a sequence that rows go to."""
    return range(length // case.page_size, -(-(length + count) // case.page_size)) if count else range(0)


def appended(case, pool, table, rows, length, counts=None):
    result = pool.copy()
    by_key = result if case.layout == "keys_first" else result.swapaxes(1, 2)
    for b, first in enumerate(length):
        for t in range(case.new if counts is None else counts[b]):
            by_key[table[b, (first + t) // case.page_size], (first + t) % case.page_size] = rows[b, :, t]
    return result


def hide_others(case, pool, arrays, count):
    """Makes the pages that no row goes to inaccessible, if they are the machine's."""
    if pool.nbytes != case.num_pages * PAGE or pool.size == 0 or pool.ctypes.data % PAGE != 0:
        return []
    table, length = arrays["table"], arrays["length"]
    mine = {int(table[b, i]) for b in range(case.batch) for i in written(case, int(length[b]), count[b])}
    others = [page for page in range(case.num_pages) if page not in mine]
    for page in others:
        assert libc.mprotect(pool[page].ctypes.data, PAGE, 0) == 0
    return others


def call(library, case, arrays, count, refusal, at_end, in_place):
    """Ends this process: with 0 where the pool is right, or the call is refused as expected."""
    ins = [guard(arrays[p.name], at_end) for p in library.inputs]
    pool = ins[[p.name for p in library.inputs].index("pool")]
    out = pool if in_place else guard(np.zeros_like(pool), at_end)
    before, hidden = pool.copy(), hide_others(case, pool, arrays, count) if in_place and not refusal else []
    status = library.call(ins, [out], threads=2)
    for page in hidden:
        libc.mprotect(pool[page].ctypes.data, PAGE, 3)
    if refusal or status != 0:
        if not calls.is_refused(library, status, refusal):
            os._exit(1)
        os._exit(not np.array_equal(before.view(np.uint8), pool.view(np.uint8)))
    os._exit(out.size > 0 and not np.array_equal(out.view(np.uint8), appended(case, **arrays).view(np.uint8)))


def is_good(library, case, arrays, count, refusal, *how):
    return calls.is_good(lambda: call(library, case, arrays, count, refusal, *how),
                         f"[{case.label()}] {arrays['length']} {count} {refusal} {how}")


def good_calls(case, rng):
    """Lengths from 0 to the last that leave room, at random, and on either side of a page's end."""
    longest = case.page_size * case.max_pages
    for kind in range(5):
        count = [int(rng.integers(0, case.new + 1)) if case.counts else case.new for _ in range(case.batch)]
        room = [longest - n for n in count]
        length = [[0] * case.batch, room, [min(case.page_size - 1 + b % 2, n) for b, n in enumerate(room)]]
        yield length[kind] if kind < 3 else [int(rng.integers(0, n + 1)) for n in room], count
    if case.counts:
        yield [longest] * case.batch, [0] * case.batch


def bad_calls(case, rng):
    """Inputs with one wrong element, and what the message has to say."""
    count, longest = [case.new] * case.batch, case.page_size * case.max_pages
    length = [int(n) for n in rng.integers(0, longest - case.new + 1, case.batch)]
    for page in (-1, case.num_pages, -2**31, 2**31 - 1):
        arrays = inputs(case, rng, length, count)
        b = int(rng.integers(0, case.batch))
        i = rng.choice(written(case, length[b], case.new))
        arrays["table"][b, i] = page
        yield arrays, f"expected element [{b}, {i}] of table of attn.append_pages to be a page of the pool"
    arrays = inputs(case, rng, length, count)
    first, b = sorted(rng.choice(case.batch, 2, replace=False))
    i = rng.choice(written(case, length[b], case.new))
    arrays["table"][b, i] = arrays["table"][first, rng.choice(written(case, length[first], case.new))]
    yield arrays, f"expected element [{b}, {i}] of table of attn.append_pages to be a page that no other entry"
    for name, values in (("length", (-1, longest - case.new + 1, 2**31 - 1)), ("counts", (-1, case.new + 1))):
        for value in values if name in types(case) else ():
            arrays = inputs(case, rng, length, count)
            arrays[name][b] = value
            yield arrays, f"expected element {b} of {name}"


def calls_of(case, rng):
    """A case, inputs, counts and what refuses them."""
    for length, count in good_calls(case, rng):
        yield case, inputs(case, rng, length, count), count, ""
    for arrays, refusal in bad_calls(case, rng):
        yield case, arrays, None, refusal
    if case.dynamic:  # no rows, no sequences, no pages; a call with an empty result computes nothing
        for none, refusal in (("new", ""), ("batch", ""), ("max_pages", "expected element 0 of length"),
                              ("page_size", ""), ("num_pages", "")):
            empty = dataclasses.replace(case, **{none: 0})
            count = [empty.new] * empty.batch
            arrays = inputs(dataclasses.replace(case, batch=empty.batch), rng, [0] * empty.batch, count)
            keep = dict(table=np.s_[:, :empty.max_pages], rows=np.s_[:, :, :empty.new])
            keep["pool"] = {"num_pages": np.s_[:0], "page_size": np.s_[:, :0] if case.layout == "keys_first"
                            else np.s_[:, :, :0]}.get(none, np.s_[:])
            yield empty, {name: array[keep.get(name, np.s_[:])].copy() for name, array in arrays.items()}, count, refusal


def run(case, target):
    rng = np.random.default_rng(0)
    with calls.compiled("append", spec(case), target) as library:
        return [is_good(library, *one, at_end, in_place) for one in calls_of(case, rng)
                for at_end in (False, True) for in_place in (False, True)]


if __name__ == "__main__":
    calls.report([one for case in CASES for one in run(case, *(sys.argv[1:] or ["host"]))])
