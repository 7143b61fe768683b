"""Attention with functions as score and mask: called, as a spec's text, and as a C library."""

import contextlib
import dataclasses
import math
import numbers
import os
import threading

from . import _compile
from ._elements import FLOATS, check_device, describe, side_by_side
from ._progress import show_progress
from ._sizes import Sizes
from ._spec import Attention, SpecWriter
from ._trace import trace

_CORNERS = ("top_left", "bottom_right")
# Numbers of query rows that attnc makes different kernels for. Each is compiled when it is first called.
_Q_LENS = 1, 16, 128, 1024
_kernels = {}
_compiling = threading.Lock()


def attention(query, key, value, *, score=None, mask=None, scale=None, softcap=None, window=None, causal=None,
              kv_lengths=None, sink=None, return_lse=False, out=None, threads=0):
    """softmax(score) @ value for arrays (batch, heads, length, head_dim), the score being in this order

        s = scale * query @ key.T          `scale` is 1 / sqrt(head_dim) by default
        s = softcap * tanh(s / softcap)
        s = score(s, b, h, q, k)
        s = -inf unless causal, within the window, k < kv_lengths[b] and mask(b, h, q, k)

    `score` and `mask` are functions of traced values: of the score, and of the positions in batch,
    heads of query, query and key. They may read arrays, `slope[h]`, and are compiled once for
    all sizes and numbers of these, but for few query rows and for many when these are first called. `causal` is "top_left" or "bottom_right": whether the first
    rows or the last ones of query and key are aligned. `window` is (left, right), the number of
    keys to see on either side, aligned as `causal` or as a third element says. `sink`, of shape
    (heads,), is an extra score in each row's softmax denominator. `return_lse` asks for the log-sum-exp of the scores,
    without the sink, too. `out` and `threads` are as a kernel's."""
    call = attend
    if hasattr(query, "new_empty"):
        from ._of_torch import attend as call  # which torch.compile leaves alone
    return call(query, key, value, out, threads, score=score, mask=mask, scale=scale, softcap=softcap, window=window,
                causal=causal, kv_lengths=kv_lengths, sink=sink, return_lse=return_lse)


def attend(query, key, value, out, threads, **options):
    built, inputs = build(query, key, value, **options)
    if out is None and built.element == "bf16" and not hasattr(query, "new_empty"):
        raise TypeError("out: expected an array for a result of bf16, which numpy doesn't have")
    return get_kernel(built)(*inputs, out=out, threads=threads)


def spec(query, key, value, *, name="attention", **options):
    """The text that `attention` compiles for these arrays and options: what attnc.compile and the
    program attnc take. `name` is the function's. Of arrays, shape and dtype are enough."""
    _compile.check_name(name)
    built, _ = build(query, key, value, **options)
    return _Text(SpecWriter(dataclasses.replace(built, q_len=None), name).write())


class _Text(str):
    """Readable in an interactive session, too."""

    __repr__ = str.__str__


def export(query, key, value, folder, *, name="attention", target=None, emit=None, **options):
    """Writes what `attention` compiles for these arrays and options as a C library into `folder`:
    libNAME.a, NAME.h with the order of the arguments, NAME.json, dlpack.h, and NAME.mlir, the spec.
    `target` is one of Halide's names, by default this machine; `emit` is --emit of attnc compile."""
    text = spec(query, key, value, name=name, **options)
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name + ".mlir")
    with open(path, "w") as file:
        file.write(text)
    _compile.run_tool("compile", path, "-o", os.fspath(folder), *(["--target", target] if target else []),
                      *(["--emit", emit] if emit else []))


def get_kernel(built):
    """The kernel of an attention, compiled once."""
    return find_kernel(SpecWriter(built, "attention").write(), show_progress(built))


def find_kernel(text, shown=contextlib.nullcontext()):
    """The kernel of a spec; compiled once, within `shown`."""
    if text not in _kernels:
        with _compiling:
            if text not in _kernels:
                with shown:
                    _kernels[text] = _compile.compile(text)
    return _kernels[text]


def find_q_len(rows):
    """The number of query rows whose kernel serves so many."""
    return next((most for most in _Q_LENS if rows <= most), _Q_LENS[-1])


def build(query, key, value, *, score=None, mask=None, scale=None, softcap=None, window=None, causal=None,
           kv_lengths=None, sink=None, return_lse=False):
    """The attention, and the arrays of its arguments in order."""
    shapes, element = _check_operands(query=query, key=key, value=value)
    sizes = Sizes(shapes)
    lengths = None if kv_lengths is None else sizes.check_lengths(kv_lengths)
    built = Attention(
        element=element, heads=(sizes.heads, sizes.kv_heads), dims=(sizes.head_dim, sizes.value_dim),
        scale=sizes.head_dim**-0.5 if scale is None else _check_number("scale", scale),
        softcap=None if softcap is None else _check_positive("softcap", softcap),
        score=None if score is None else trace("score", score), forms=_write_forms(causal, window, lengths),
        mask=None if mask is None else trace("mask", mask), lengths=lengths,
        sink=None if sink is None else sizes.check_sink(sink, element), lse=bool(return_lse),
        q_len=find_q_len(shapes["query"][2]))
    sizes.check_captured(built)
    others = [array for array in (kv_lengths, sink) if array is not None] + [array.source for array in built.captured()]
    return built, [query, key, value, *map(side_by_side, others)]


def _check_operands(**operands):
    """Their shapes, and the element type of all."""
    shapes, first = {}, None
    for name, array in operands.items():
        shapes[name], element = describe(name, array)
        if len(shapes[name]) != 4:
            raise ValueError(f"{name}: expected 4 dims (batch, heads, length, head_dim), found shape {shapes[name]}")
        if element not in FLOATS:
            raise TypeError(f"{name}: expected f16, bf16, f32 or f64, found {element}")
        first = first or element
        if element != first:
            raise TypeError(f"{name}: expected {first} as in query, found {element}")
        check_device(name, array)
    return shapes, first


def _check_number(name, number):
    if not isinstance(number, numbers.Real):
        raise TypeError(f"{name}: expected a number, found {number!r}")
    if not math.isfinite(number):
        raise ValueError(f"{name}: expected a finite number, found {number!r}")
    return float(number)


def _check_positive(name, number):
    if _check_number(name, number) <= 0:
        raise ValueError(f"{name}: expected a number above 0, found {number!r}")
    return float(number)


def _write_forms(causal, window, lengths):
    """The masks that have a short form in specs."""
    if causal is not None and causal not in _CORNERS:
        raise ValueError(f'causal: expected "top_left" or "bottom_right", found {causal!r}')
    forms = [f"causal({causal})"] if causal else []
    forms += [_write_window(window, causal or "top_left")] if window is not None else []
    return tuple(forms + ([f"kv_lengths(%kv_lengths : tensor<?x{lengths}>)"] if lengths else []))


def _write_window(window, corner):
    parts = (*window, corner)[:3] if isinstance(window, (tuple, list)) and len(window) in (2, 3) else (None, None, None)
    left, right, corner = parts
    if not all(isinstance(part, numbers.Integral) for part in (left, right)) or corner not in _CORNERS:
        raise ValueError('window: expected (left, right), or these and "top_left" or "bottom_right", '
                         f"found {window!r}")
    if not (0 <= left < 2**30 and 0 <= right < 2**30):
        raise ValueError(f"window: expected numbers of keys from 0 to {2**30 - 1}, found {window!r}")
    return f"window({int(left)}, {int(right)}{', bottom_right' if corner == 'bottom_right' else ''})"
