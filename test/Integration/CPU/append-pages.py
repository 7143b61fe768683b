"""Appends rows to keys in pages, called with guarded tensors, and compares the pool with numpy's.

    append-pages.py [TARGET]

Tables, in rows and in CSR, lengths and counts are random; the entries that no row goes to hold
garbage. Rows are those of a batch, or packed. In place, nothing but the pages of the rows may be touched.
Wrong entries, offsets, lengths and counts are refused, and the pool stays as it was.
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
    csr: bool = False  # max_pages is a mean then
    packed: bool = False  # sequences have up to `new` rows, behind each other

    @property
    def counts_rows(self):
        """Whether sequences have different numbers of rows."""
        return self.counts or self.packed


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
    Case(csr=True),
    Case(new=40, layout="heads_first", dynamic=True, counts=True, csr=True),
    Case(new=20, page_size=7, element="f16", index="i64", head_dim=17, batch=5, num_pages=45, dynamic=True, csr=True),
    Case(heads=1, new=50, counts=True, csr=True, dynamic=True),
    Case(new=20, packed=True),
    Case(new=49, page_size=7, max_pages=13, num_pages=45, layout="heads_first", element="i8", index="i64",
         head_dim=17, dynamic=True, packed=True),
    Case(new=5, page_size=1, max_pages=12, num_pages=70, batch=5, dynamic=True, packed=True),
    Case(new=3, batch=40, num_pages=90, dynamic=True, packed=True),
    Case(heads=1, new=50, dynamic=True, packed=True, csr=True),
]


def types(case):
    b, m, n = ("?", "?", "?") if case.dynamic else (case.batch, case.new, case.max_pages)
    size, pages = ("?", "?") if case.dynamic else (case.page_size, case.num_pages)
    rows = (size, case.heads) if case.layout == "keys_first" else (case.heads, size)
    entries, ends = ("?", "?") if case.dynamic else (case.batch * case.max_pages, case.batch + 1)
    all_types = {
        "pool": f"tensor<{pages}x{rows[0]}x{rows[1]}x{case.head_dim}x{case.element}>",
        "table": f"tensor<{entries if case.csr else f'{b}x{n}'}x{case.index}>",
        "offsets": f"tensor<{ends}x{case.index}>",
        "rows": f"tensor<{'1' if case.packed else b}x{case.heads}x{'?' if case.packed else m}"
                f"x{case.head_dim}x{case.element}>",
        "length": f"tensor<{b}x{case.index}>",
        "counts": f"tensor<{b}x{case.index}>",
        "row_offsets": f"tensor<{ends}x{case.index}>",
    }
    left_out = {name for name, given in (("offsets", case.csr), ("counts", case.counts), ("row_offsets", case.packed))
                if not given}
    return {name: type_ for name, type_ in all_types.items() if name not in left_out}


def spec(case):
    t = types(case)
    arguments = ", ".join(f'%{name}: {type_} {{attn.name = "{name}"}}' for name, type_ in t.items())
    counts = f"counts(%counts : {t['counts']}) " if case.counts else ""
    counts += f"row_offsets(%row_offsets : {t['row_offsets']}) " if case.packed else ""
    offsets = f" offsets(%offsets : {t['offsets']})" if case.csr else ""
    return f"""
    func.func @append({arguments}) -> ({t['pool']} {{attn.name = "pages"}}) {{
      %pages = attn.append_pages %pool[%table]{offsets}, %rows, %length {counts}layout({case.layout})
          : {t['pool']}, {t['table']}, {t['rows']}, {t['length']}
      return %pages : {t['pool']}
    }}"""


def random_bits(case, rng, shape):
    type_ = calls.TYPES[case.element]
    return rng.integers(0, 256, (*shape, np.dtype(type_).itemsize), np.uint8).view(type_)[..., 0]


def draw_entries(case, rng, least):
    """The number of entries of each sequence."""
    if not case.csr or case.batch == 0:
        return [case.max_pages] * case.batch
    rest = case.batch * (case.max_pages - least)
    return [int(least + n) for n in np.diff(np.sort([0, *rng.integers(0, rest + 1, case.batch - 1), rest]))]


def place(case, arrays, b, i):
    """Of entry i of sequence b in the table."""
    return (int(arrays["offsets"][b]) + i,) if case.csr else (b, i)


def inputs(case, rng, entries, length, count):
    integers = calls.TYPES[case.index]
    rows = (case.page_size, case.heads)
    rows = rows if case.layout == "keys_first" else rows[::-1]
    shape = sum(entries) if case.csr else (case.batch, case.max_pages)
    table = rng.choice([-1, -2**31, case.num_pages, 2**31 - 1, 0], shape)
    rows_of = (1, case.heads, sum(count)) if case.packed else (case.batch, case.heads, case.new)
    arrays = {
        "pool": random_bits(case, rng, (case.num_pages, *rows, case.head_dim)),
        "table": table.astype(integers),
        "offsets": np.cumsum([0, *entries]).astype(integers),
        "rows": random_bits(case, rng, (*rows_of, case.head_dim)),
        "length": np.array(length, integers),
        "counts": np.array(count, integers),
        "row_offsets": np.cumsum([0, *count]).astype(integers),
    }
    pages = iter(rng.permutation(case.num_pages))
    for b in range(case.batch):
        for i in written(case, length[b], count[b]):
            arrays["table"][place(case, arrays, b, i)] = next(pages)
    return {name: arrays[name] for name in types(case)}


def written(case, length, count):
    """The entries of a sequence that rows go to."""
    return range(length // case.page_size, -(-(length + count) // case.page_size)) if count else range(0)


def appended(case, arrays):
    result, counts = arrays["pool"].copy(), arrays.get("counts", [case.new] * case.batch)
    if case.packed:
        counts = np.diff(arrays["row_offsets"])
    by_key = result if case.layout == "keys_first" else result.swapaxes(1, 2)
    for b, first in enumerate(arrays["length"]):
        for t in range(counts[b]):
            i, row = divmod(int(first) + t, case.page_size)
            at = (0, slice(None), arrays["row_offsets"][b] + t) if case.packed else (b, slice(None), t)
            by_key[arrays["table"][place(case, arrays, b, i)], row] = arrays["rows"][at]
    return result


def hide_others(case, pool, arrays, count):
    """Makes the pages that no row goes to inaccessible, if they are the machine's."""
    if pool.nbytes != case.num_pages * PAGE or pool.size == 0 or pool.ctypes.data % PAGE != 0:
        return []
    mine = {int(arrays["table"][place(case, arrays, b, i)]) for b in range(case.batch)
            for i in written(case, int(arrays["length"][b]), count[b])}
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
    os._exit(out.size > 0 and not np.array_equal(out.view(np.uint8), appended(case, arrays).view(np.uint8)))


def is_good(library, case, arrays, count, refusal, *how):
    return calls.is_good(lambda: call(library, case, arrays, count, refusal, *how),
                         f"[{case.label()}] {arrays['length']} {count} {refusal} {how}")


def good_calls(case, rng):
    """Lengths from 0 to the last that leave room, at random, and on either side of a page's end."""
    for kind in range(5):
        entries = draw_entries(case, rng, 0 if case.counts_rows else -(-case.new // case.page_size))
        keys = [case.page_size * n for n in entries]
        count = [int(rng.integers(0, min(case.new, n) + 1)) if case.counts_rows else case.new for n in keys]
        room = [most - n for most, n in zip(keys, count)]
        length = [[0] * case.batch, room, [min(case.page_size - 1 + b % 2, n) for b, n in enumerate(room)]]
        yield entries, length[kind] if kind < 3 else [int(rng.integers(0, n + 1)) for n in room], count
    if case.counts_rows:
        yield entries, keys, [0] * case.batch


def bad_calls(case, rng):
    """Inputs with one wrong element, and what the message has to say."""
    entries = draw_entries(case, rng, -(-case.new // case.page_size))
    room = [case.page_size * n - case.new for n in entries]
    length, count = [int(rng.integers(0, n + 1)) for n in room], [case.new] * case.batch

    def draw_written(b):
        return place(case, arrays, b, int(rng.choice(written(case, length[b], case.new))))

    def describe(at):
        return f"expected element {at[0] if case.csr else list(at)} of table of attn.append_pages to be a page"

    for page in (-1, case.num_pages, -2**31, 2**31 - 1):
        arrays = inputs(case, rng, entries, length, count)
        at = draw_written(int(rng.integers(0, case.batch)))
        arrays["table"][at] = page
        yield arrays, describe(at) + " of the pool"
    arrays = inputs(case, rng, entries, length, count)
    first, b = (int(n) for n in sorted(rng.choice(case.batch, 2, replace=False)))
    at = draw_written(b)
    arrays["table"][at] = arrays["table"][draw_written(first)]
    yield arrays, describe(at) + " that no other entry"
    wrong = [(name, b, value) for name, values in (("length", (-1, room[b] + 1, 2**31 - 1)), ("counts", (-1, case.new + 1)))
             for value in values]
    for name, total in (("offsets", sum(entries)), ("row_offsets", case.batch * case.new)):
        wrong += [(name, *one) for one in ((0, 1), (0, -1), (b, -1), (b, 2**31 - 1), (case.batch, total - 1),
                                           (case.batch, total + 1))]
    for name, i, value in wrong:
        if name in types(case):
            arrays = inputs(case, rng, entries, length, count)
            arrays[name][i] = value
            yield arrays, f"expected element {i} of {name}"


def empty_calls(case, rng):
    """No rows, no sequences, no pages; a call with an empty result computes nothing."""
    new = case.new
    for none, count, refusal in (("new", 0, ""), ("batch", new, ""), ("max_pages", new, "expected element 0 of length"),
                                 ("max_pages", 0, ""), ("page_size", new, ""), ("num_pages", new, "")):
        empty = dataclasses.replace(case, **{none: 0})
        if count < empty.new and not case.counts_rows:
            continue
        full = dataclasses.replace(case, batch=empty.batch)
        count = [count] * empty.batch
        entries = draw_entries(full, rng, -(-new // case.page_size))
        arrays = inputs(full, rng, entries, [0] * empty.batch, count)
        if none == "max_pages" and case.csr:
            arrays["offsets"][:] = 0
        no_keys = np.s_[:, :0] if case.layout == "keys_first" else np.s_[:, :, :0]
        keep = dict(pool={"num_pages": np.s_[:0], "page_size": no_keys}.get(none, np.s_[:]))
        if not case.packed:
            keep["rows"] = np.s_[:, :, :empty.new]
        if none == "max_pages":
            keep["table"] = np.s_[:0] if case.csr else np.s_[:, :0]
        yield empty, {name: array[keep.get(name, np.s_[:])].copy() for name, array in arrays.items()}, count, refusal


def calls_of(case, rng):
    """A case, inputs, counts and what refuses them."""
    for entries, length, count in good_calls(case, rng):
        yield case, inputs(case, rng, entries, length, count), count, ""
    for arrays, refusal in bad_calls(case, rng):
        yield case, arrays, None, refusal
    if case.dynamic:
        yield from empty_calls(case, rng)


def run(case, target):
    rng = np.random.default_rng(0)
    with calls.compiled("append", spec(case), target) as library:
        return [is_good(library, *one, at_end, in_place) for one in calls_of(case, rng)
                for at_end in (False, True) for in_place in (False, True)]


if __name__ == "__main__":
    calls.report([one for case in CASES for one in run(case, *(sys.argv[1:] or ["host"]))])
