"""llama.cpp's flash attention on a CPU, ggml_flash_attn_ext, which `./dev bench` builds from its source in PyPI's
llama-cpp-python. It takes queries in f32, and rounds or quantizes them to the type of the keys; sums are in f16 where the
values are."""

import ctypes
import os

import numpy as np
from work import Attention, widen

LIBRARY = os.environ.get("ATTNC_BENCH_GGML", os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", "..", "build-ggml", "libggml_attention.so"))
if not os.path.exists(LIBRARY):
    raise ImportError(f"expected ./dev bench to have built {os.path.relpath(LIBRARY)}, found no such file")

_library = ctypes.CDLL(LIBRARY)
_library.attention_new.restype = ctypes.c_void_p
_library.attention_run.argtypes = [ctypes.c_void_p]
_library.attention_version.restype = ctypes.c_char_p
_KINDS = {"f32": b"f", "f16": b"h", "bf16": b"b", "q8_0": b"q"}

NAME = "llama.cpp"
VERSION = "ggml " + _library.attention_version().decode()
STORAGES = ("f16", "q8_0")


def takes(case):
    return isinstance(case, Attention) and case.variant.name in ("", "causal", "chunk", "softcap 30")


def blocks(rows, scales):
    """Rows of int8 and their scales as ggml's blocks: a scale in f16, and 32 elements."""
    shape = scales.shape
    return np.concatenate([scales[..., None].view(np.uint8), rows.reshape(*shape, 32).view(np.uint8)], axis=-1)


def cache(case, arrays):
    """Keys, values and the name of their type."""
    if case.storage == "q8_0":
        return *(blocks(arrays[n + "_rows"], arrays[n + "_scales"]) for n in ("key", "value")), "q8_0"
    if case.storage == "f16":
        return arrays["key_rows"], arrays["value_rows"], "f16"
    return arrays["key"], arrays["value"], case.element


def prepare(case, arrays):
    """A function that runs the case once and returns its result."""
    key, value, kind = cache(case, arrays)
    query = np.ascontiguousarray(widen(arrays["query"]), np.float32)
    result = np.empty((case.batch, case.q_len, case.heads, case.head_dim), np.float32)
    sizes = [(ctypes.c_int64 * 4)(case.batch, heads, length, case.head_dim) for heads, length in
             ((case.heads, case.q_len), (case.key_heads, case.keys), (case.key_heads, case.keys))]
    data = (ctypes.c_void_p * 3)(query.ctypes.data, key.ctypes.data, value.ctypes.data)
    mask = None
    if case.variant.visible:
        seen = np.broadcast_to(case.dense_mask(arrays), (1, 1, case.q_len, case.keys))
        mask = np.where(seen, np.float16(0), np.float16(-np.inf))
    handle = _library.attention_new(
        *sizes, _library.attention_type(ctypes.c_char(_KINDS[kind])), ctypes.c_float(case.head_dim**-0.5),
        ctypes.c_float(30 if "softcap" in case.variant.name else 0), data,
        ctypes.c_void_p(mask.ctypes.data if mask is not None else None), ctypes.c_void_p(result.ctypes.data))

    def call(_borrowed=(query, key, value, mask, data)):
        if _library.attention_run(handle):
            raise RuntimeError("expected ggml to compute the graph")
        return result.swapaxes(1, 2)

    return call
