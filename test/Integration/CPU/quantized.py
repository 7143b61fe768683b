"""Compares attention over narrower keys and values with numpy, called with guarded tensors.

    quantized.py [TARGET]

Scales of keys behind a sequence's last one are NaN, or infinite, and keys of f8E4M3FN are NaN; they must
not matter. A visible one makes its row NaN.
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

    stored: str = "i8"  # elements of keys and values
    key_blocks: int = 1  # scales of a key; 0 for none
    value_blocks: int = 1
    scale: str = "f32"
    q_len: int = 1
    kv_len: int = 150
    batch: int = 2
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 64
    value_dim: int = 64
    page_size: int = 0  # not in pages
    keys_first: bool = False  # heads before keys otherwise
    element: str = "f32"
    dynamic: bool = False
    causal: bool = False
    fused: bool = True  # else the widened keys are a result, too


CASES = [
    Case(key_blocks=2, value_blocks=2, scale="f16"),
    Case(heads=2, kv_len=3000, dynamic=True),  # keys in splits
    Case(page_size=7, kv_len=77, value_blocks=4, scale="f16", keys_first=True),
    Case(q_len=20, head_dim=80, value_dim=17, heads=2, dynamic=True, causal=True),
    Case(element="bf16", q_len=33, key_blocks=2, value_blocks=0),
    Case(),
    Case(keys_first=True, key_blocks=4, value_blocks=1, scale="bf16", kv_len=70, heads=16),
    Case(page_size=16, kv_len=144, dynamic=True),
    Case(q_len=49, causal=True, key_blocks=2, value_blocks=2),
    Case(q_len=130, page_size=64, kv_len=192, scale="f16", causal=True, key_blocks=4),
    Case(element="f16", scale="f16"),
    Case(stored="bf16", key_blocks=0, value_blocks=0),
    Case(stored="f8E4M3FN", kv_len=700, dynamic=True),
    Case(stored="f8E4M3FN", key_blocks=0, value_blocks=0, q_len=40, keys_first=True),
    Case(stored="f8E4M3FN", page_size=16, kv_len=160, element="bf16", key_blocks=2, heads=16, dynamic=True),
    Case(stored="f8E4M3FN", q_len=9, fused=False),
    Case(stored="f16", key_blocks=0, value_blocks=0, q_len=40, dynamic=True, keys_first=True),
    Case(stored="f16", key_blocks=0, value_blocks=0, page_size=16, kv_len=160),
    Case(q_len=9, fused=False, key_blocks=2),
]


def make_float8():
    """The numbers of f8E4M3FN, by their bits."""
    codes = np.arange(128)
    exponents, mantissas = codes >> 3, codes & 7
    numbers = np.where(exponents == 0, mantissas / 512, np.exp2(exponents - 7.0) * (1 + mantissas / 8))
    numbers[127] = np.nan
    return np.concatenate([numbers, -numbers])


FLOAT8, FLOAT8_NAN = make_float8(), 0x7F


def tensor(sizes, element):
    return f"tensor<{'x'.join(map(str, sizes))}x{element}>"


def sizes_of(case):
    """Of the arguments and the result."""
    rows = (case.kv_heads, case.page_size or case.kv_len)
    first = case.batch if not case.page_size else case.batch * case.kv_len // case.page_size + 1
    rows = (first, *(rows[::-1] if case.keys_first else rows))
    sizes = {"query": (case.batch, case.heads, case.q_len, case.head_dim),
             "keys": (*rows, case.head_dim), "values": (*rows, case.value_dim),
             "key_scales": (*rows, case.key_blocks), "value_scales": (*rows, case.value_blocks),
             "kv_len": (case.batch,), "table": (case.batch, case.kv_len // (case.page_size or 1)),
             "context": (case.batch, case.heads, case.q_len, case.value_dim)}
    unused = {"key_scales": not case.key_blocks, "value_scales": not case.value_blocks, "table": not case.page_size}
    return {name: size for name, size in sizes.items() if not unused.get(name)}


def element_of(case, name):
    return {"keys": case.stored, "values": case.stored, "key_scales": case.scale, "value_scales": case.scale,
            "kv_len": "i32", "table": "i32"}.get(name, case.element)


def types(case):
    def opened(name, sizes):
        known = {1: (), 2: (), 4: (3, 2 if case.keys_first and name not in ("query", "context") else 1)}[len(sizes)]
        return [size if dim in known or not case.dynamic else "?" for dim, size in enumerate(sizes)]

    return {name: tensor(opened(name, sizes), element_of(case, name)) for name, sizes in sizes_of(case).items()}


def write_rows(case, t, name):
    """The lines from stored rows to %key or %value, and their type."""
    width = case.head_dim if name == "key" else case.value_dim
    blocks = case.key_blocks if name == "key" else case.value_blocks
    n = "?" if case.dynamic else case.kv_len
    b = "?" if case.dynamic else case.batch

    def ordered(argument, element, columns):
        type_ = tensor((b, case.kv_heads, n, columns), element)
        if case.page_size:
            layout = "keys_first" if case.keys_first else "heads_first"
            return [f"%{argument}_rows = attn.gather_pages %{argument}[%table] lengths(%kv_len : {t['kv_len']}) "
                    f"layout({layout}) : {t[argument]}, {t['table']} -> {type_}"], type_
        if case.keys_first:
            return [f"%{argument}_rows = attn.transpose %{argument} [0, 2, 1, 3] : {t[argument]} -> {type_}"], type_
        return [], type_

    lines, stored = ordered(f"{name}s", case.stored, width)
    own, factors = ordered(f"{name}_scales", case.scale, blocks) if blocks else ([], "")
    rows = lambda argument: f"%{argument}_rows" if case.page_size or case.keys_first else f"%{argument}"
    wide = tensor((b, case.kv_heads, n, width), case.element)
    scales = f"scales({rows(name + '_scales')} : {factors}) " if blocks else ""
    return lines + own + [f"%{name} = attn.dequantize {rows(name + 's')} {scales}: {stored} -> {wide}"], wide


def spec(case):
    t = types(case)
    arguments = ", ".join(f'%{n}: {t[n]} {{attn.name = "{n}"}}' for n in t if n != "context")
    key_lines, key = write_rows(case, t, "key")
    value_lines, value = write_rows(case, t, "value")
    b, m, n = ("?", "?", "?") if case.dynamic else (case.batch, case.q_len, case.kv_len)
    score = tensor((b, case.heads, m, n), case.element)
    more = ("", "", "") if case.fused else (", %key", f", {key}", f', {key} {{attn.name = "key"}}')
    causal = " causal(bottom_right)" if case.causal else ""
    lines = "\n".join(key_lines + value_lines)
    return f"""
    func.func @quantized({arguments}) -> ({t['context']} {{attn.name = "context"}}{more[2]}) {{
      {lines}
      %score = attn.score %query, %key scale(0.125) : {t['query']}, {key} -> {score}
      %masked = attn.mask %score kv_lengths(%kv_len : {t['kv_len']}){causal} : {score}
      %prob = attn.softmax %masked : {score}
      %context = attn.context %prob, %value : {score}, {value} -> {t['context']}
      return %context{more[0]} : {t['context']}{more[1]}
    }}"""


def ordered(case, stored, table):
    """Rows of a pool, or of a cache, as [batch, heads, keys, width]."""
    rows = stored.swapaxes(1, 2) if case.keys_first else stored
    if not case.page_size:
        return rows
    rows = rows[table].swapaxes(1, 2)  # [batch, heads, pages, page_size, width]
    return rows.reshape(*rows.shape[:2], -1, rows.shape[-1])


def inputs(case, rng, lengths, hidden_scale):
    """As they are stored; scales behind the last key are `hidden_scale`."""
    arrays = {}
    for name, sizes in sizes_of(case).items():
        if name == "table":
            pages = rng.permutation(sizes_of(case)["keys"][0])[: np.prod(sizes)]
            arrays[name] = pages.reshape(sizes).astype(np.int32)
        elif name == "kv_len":
            arrays[name] = np.array(lengths, np.int32)
        elif element_of(case, name) == "i8":
            arrays[name] = rng.integers(-127, 128, sizes, np.int8)
        elif element_of(case, name) == "f8E4M3FN":
            arrays[name] = rng.integers(0, 256, sizes, np.uint8)
            arrays[name][np.isnan(FLOAT8[arrays[name]])] = 0
            if not case.key_blocks:
                arrays[name] &= 0xBF  # below 2: a score is no larger than others'
        elif name != "context":
            array = rng.standard_normal(sizes, dtype=np.float32)
            arrays[name] = round_to(element_of(case, name),
                                    (1 + np.abs(array)) / 128 if "scales" in name else array)
    for name in ("key_scales", "value_scales"):
        if name in arrays:
            hide(case, arrays, name, hidden_scale)
    for name in ("keys", "values"):
        if case.stored == "f8E4M3FN":
            hide(case, arrays, name, FLOAT8_NAN)
    return arrays


def hide(case, arrays, name, hidden_scale):
    by_key = arrays[name].swapaxes(1, 2) if case.keys_first else arrays[name]
    for b, length in enumerate(arrays["kv_len"]):
        for key in range(length, case.kv_len):
            if case.page_size:
                by_key[arrays["table"][b, key // case.page_size], :, key % case.page_size] = hidden_scale
            else:
                by_key[b, :, key] = hidden_scale


def widened(case, arrays, name, blocks, dtype):
    rows = ordered(case, arrays[name + "s"], arrays.get("table"))
    rows = (FLOAT8[rows] if rows.dtype == np.uint8 else rows).astype(dtype)
    if not blocks:
        return rows
    scales = ordered(case, arrays[name + "_scales"], arrays.get("table")).astype(dtype)
    return rows * np.repeat(scales, rows.shape[-1] // blocks, axis=-1)


def outputs(case, arrays, dtype):
    key = widened(case, arrays, "key", case.key_blocks, dtype)
    value = widened(case, arrays, "value", case.value_blocks, dtype)
    if dtype == np.float32:
        key, value = round_to(case.element, key), round_to(case.element, value)
    score = check.score(arrays["query"].astype(dtype), key) * dtype(0.125)
    q, k = np.ogrid[: case.q_len, : case.kv_len]
    visible = k < arrays["kv_len"][:, None, None, None]
    if case.causal:
        visible = visible & (k <= q + case.kv_len - case.q_len)
    prob = check.softmax(np.where(visible, score, -np.inf).astype(score.dtype))
    seen = visible.any((1, 2))[:, None, :, None]  # a hidden key counts for nothing
    return {"context": check.context(prob, np.where(seen, value, 0).astype(dtype)), "key": key}


def call(library, case, arrays, at_end):
    """Ends this process: with 0 where the results are right."""
    ins = [guard(as_stored(element_of(case, p.name), arrays[p.name]), at_end) for p in library.inputs]
    shapes = sizes_of(case) | {"key": (case.batch, case.kv_heads, case.kv_len, case.head_dim)}
    outs = [guard(as_stored(case.element, np.full(shapes[p.name], 7, np.float32)), at_end) for p in library.outputs]
    if library.call(ins, outs, threads=1) != 0:
        print(library.error().decode(), flush=True)
        os._exit(1)
    with np.errstate(all="ignore"):
        exact, plain = outputs(case, arrays, np.float64), outputs(case, arrays, np.float32)
    os._exit(not are_right(case, library, outs, exact, plain))


def is_good(library, case, arrays, at_end):
    return calls.is_good(lambda: call(library, case, arrays, at_end), f"[{case.label()}] {arrays['kv_len']}")


def calls_of(case, rng):
    yield inputs(case, rng, [case.kv_len] * case.batch, 0)
    for hidden_scale in (np.nan, np.inf):
        yield inputs(case, rng, [int(n) for n in rng.integers(1, case.kv_len + 1, case.batch)], hidden_scale)
    if case.page_size:
        return
    yield inputs(case, rng, [0] * case.batch, np.nan)
    for name in ("key_scales", "value_scales"):
        if name in sizes_of(case):
            arrays = inputs(case, rng, [case.kv_len] * case.batch, 0)
            arrays[name].reshape(-1)[5] = np.nan
            yield arrays
    for name in ("keys", "values"):
        if case.stored == "f8E4M3FN":
            arrays = inputs(case, rng, [case.kv_len] * case.batch, 0)
            arrays[name].reshape(-1)[5] = FLOAT8_NAN
            yield arrays


def run(case, target):
    rng = np.random.default_rng(0)
    with calls.compiled("quantized", spec(case), target) as library:
        return [is_good(library, case, arrays, at_end) for arrays in calls_of(case, rng) for at_end in (False, True)]


if __name__ == "__main__":
    calls.report([one for case in attention.sample(CASES) for one in run(case, *(sys.argv[1:] or ["host"]))])
