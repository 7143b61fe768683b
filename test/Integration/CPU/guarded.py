"""Calls libraries with tensors that begin and end at pages that nobody may touch.

    guarded.py [TARGET]

What is called is a row's edge cases: lengths of 0, masks of all false, documents without a key,
windows off the end, no keys or no rows at all. An access outside a tensor ends the child process
that makes the call, and is reported with the case.
"""

import dataclasses
import os
import sys

import numpy as np

import attention
import calls
import check
from attention import Case
from calls import guard

# ---------------------------------------------------------------------------
# What is called
# ---------------------------------------------------------------------------

STATIC = Case(q_len=65, kv_len=100, batch=3)
OPEN = dataclasses.replace(STATIC, dynamic=True)
DECODE = Case(q_len=1, kv_len=130, batch=3, heads=4, kv_heads=2)
OPEN_SIZES = [(65, 5), (1, 1), (3, 0), (65, 0), (0, 7), (40, 100)]


def change(case, **fields):
    return dataclasses.replace(case, **fields)


def specs():
    """A case a library."""
    lengths, some = (1, 1, 1), (STATIC, OPEN, DECODE)
    for case in some:
        yield change(case, kv_lengths=lengths)
        yield change(case, mask_tensor=True)
        yield change(case, documents=True)
        yield change(case, bias=True, kv_lengths=lengths)
    for case in (STATIC, OPEN):
        yield change(case, mask="window(20, 0, bottom_right)")
        yield change(case, mask="block(40)", kv_lengths=lengths, value_dim=17)
        yield change(case, head_dim=80, kv_lengths=lengths, all_stages=True)
    for element, case in (("f16", STATIC), ("bf16", STATIC), ("bf16", DECODE)):
        yield change(case, kv_lengths=lengths, mask_tensor=True, element=element)
    yield OPEN
    yield change(OPEN, documents=True, mask="causal(top_left)", element="bf16", value_dim=17)
    yield change(DECODE, dynamic=True, mask_tensor=True)
    yield change(DECODE, kv_len=0)
    yield change(STATIC, kv_len=0, bias=True)


def sizes(case):
    if not case.dynamic:
        return [case]
    return [change(case, q_len=1 if case.q_len == 1 else m, kv_len=n) for m, n in OPEN_SIZES]


def edges(case):
    """The same sizes with other lengths, and what the inputs of the mask become."""
    arrays = attention.inputs(change(case, element="f32"))
    n = case.kv_len
    yield arrays
    if case.kv_lengths:
        for lengths in ((0, 0, 0), (n, 0, 0), (0, 0, n), (-5, n // 2, 2**31 - 1)):
            yield arrays | {"kv_len": np.array(lengths, np.int32)}
    if case.mask_tensor:
        yield arrays | {"mask": np.zeros_like(arrays["mask"])}
        for batch, key in ((0, 0), (-1, -1)):  # one batch sees its first key, or its last
            mask = np.zeros_like(arrays["mask"])
            mask[batch, ..., key:][..., :1] = True
            yield arrays | {"mask": mask}
    if case.documents:
        for batch in (0, -1):
            ids = arrays["key_ids"].copy()
            ids[batch] = -1
            yield arrays | {"key_ids": ids}
        yield arrays | {"key_ids": np.full_like(arrays["key_ids"], -1)}


# ---------------------------------------------------------------------------
# The calls
# ---------------------------------------------------------------------------


def round_to(element, array):
    """As f32, rounded to what `element` holds (bf16 towards zero)."""
    if array.dtype != np.float32 or element == "f32":
        return array
    if element == "f16":
        return array.astype(np.float16).astype(np.float32)
    return (array.view(np.int32) & -65536).view(np.float32)


def as_stored(element, array):
    if array.dtype != np.float32 or element == "f32":
        return array
    return array.astype(np.float16) if element == "f16" else (array.view(np.int32) >> 16).astype(np.int16)


def as_f32(element, array):
    return (array.astype(np.int32) << 16).view(np.float32) if element == "bf16" else array.astype(np.float32)


def is_right(case, name, found, exact, plain):
    """FlashAttention's rule, where the plain computation rounds its result."""
    eps = {"f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7}[case.element]
    finite = np.isfinite(exact)
    if not np.array_equal(found[~finite], exact[~finite].astype(np.float32), equal_nan=True):
        return False
    largest = np.abs(exact[finite]).max(initial=0)
    allowed = 2 * np.abs(plain - exact)[finite].max(initial=0) + 4 * eps * largest
    return bool((np.abs(found - exact)[finite] <= allowed).all())


def are_right(case, library, outputs, exact, plain):
    return all(is_right(case, p.name, as_f32(case.element, output), exact[p.name], plain[p.name])
               for p, output in zip(library.outputs, outputs))


def call(library, case, arrays, at_end):
    """Ends this process: with 0 where the results are right."""
    arrays = {name: round_to(case.element, array) for name, array in arrays.items()}
    with np.errstate(all="ignore"):
        exact = attention.outputs(case, **check.as_type(arrays, np.float64))
        plain = attention.outputs(case, **arrays)
    inputs = [guard(as_stored(case.element, arrays[p.name]), at_end) for p in library.inputs]
    outputs = [guard(as_stored(case.element, np.full(exact[p.name].shape, 7, np.float32)), at_end)
               for p in library.outputs]
    if library.call(inputs, outputs, threads=1) != 0:
        print("refused:", library.error().decode(), flush=True)
        os._exit(1)
    os._exit(not are_right(case, library, outputs, exact, plain))


def is_good(library, case, arrays, at_end):
    small = {n: a.tolist() for n, a in arrays.items() if 0 < a.size < 8}
    return calls.is_good(lambda: call(library, case, arrays, at_end),
                         f"{case.label()} {'end' if at_end else 'start'} {small}")


def run(case, target):
    spec = attention.spec(change(case, element="f32")).replace("f32", case.element)
    with calls.compiled("attention", spec, target) as library:
        return [is_good(library, sized, arrays, at_end) for sized in sizes(case)
                for arrays in edges(sized) for at_end in (False, True)]


if __name__ == "__main__":
    calls.report([one for case in attention.sample(specs()) for one in run(case, *(sys.argv[1:] or ["host"]))])
