"""Fused attention as kernels of a GPU, run on the CPU and compared with numpy.

usage: attention.py PART   (a name of PARTS below; for OpenCL unless ATTNC_CHECK_TARGET says else)

Lengths are open, so that one kernel serves all cases of a kind.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "CPU"))
os.environ.setdefault("ATTNC_CHECK_TARGET", "host-opencl")

from attention import Case, run, sample  # noqa: E402

LENGTHS = [(7, 5), (49, 129), (129, 49), (300, 300)]


def head_dims():
    for d in (32, 64, 80, 128):
        for m, n in LENGTHS:
            yield Case(m, n, head_dim=d, scale=d**-0.5, dynamic=True)
    yield Case(7, 50, head_dim=17, value_dim=80, dynamic=True)
    yield Case(7, 50, head_dim=256, dynamic=True)


def masks():
    for mask in ("causal(top_left)", "causal(bottom_right)", "window(3, 5)"):
        for m, n in LENGTHS:
            yield Case(m, n, mask=mask, dynamic=True)


def padded():
    """Rows that see nothing, and masked values that are NaN."""
    for m, n in LENGTHS:
        yield Case(m, n, batch=4, kv_lengths=(n, 0, (n + 1) // 2, 1), dynamic=True)
    yield Case(129, 129, batch=3, kv_lengths=(129, 0, 64), mask="causal(top_left)", dynamic=True)


def seen():
    """Masks whose bounds are not known."""
    for m, n in LENGTHS[:2]:
        yield Case(m, n, documents=True, dynamic=True)
        yield Case(m, n, mask_tensor=True, dynamic=True)
        yield Case(m, n, mask="block(40)", dynamic=True)


def scores():
    for m, n in LENGTHS[:3]:
        yield Case(m, n, bias=True, dynamic=True)
        yield Case(m, n, softcap=5.0, gain=10.0, mask="causal(top_left)", dynamic=True)
    yield Case(gain=1e4, dynamic=True)
    yield Case(129, 129, scale_on="prob", mask="causal(top_left)", dynamic=True)
    # Keys and values lie side by side, in a smaller tile.
    yield Case(40, 16, head_dim=128, value_dim=80, nan_guard=True)


def groups():
    for heads, kv_heads in ((4, 2), (4, 1)):
        for m, n in LENGTHS[1:3]:
            yield Case(m, n, heads=heads, kv_heads=kv_heads, dynamic=True)
        yield Case(129, 129, heads=heads, kv_heads=kv_heads, mask="causal(top_left)", dynamic=True)


def decode():
    """A row of few: several blocks share its keys, and a tile the rows of a head of keys."""
    for heads, kv_heads in ((4, 4), (6, 2), (8, 1)):
        for n in (1, 64, 131, 300):
            yield Case(1, n, heads=heads, kv_heads=kv_heads, dynamic=True)
    yield Case(1, 300, heads=4, kv_heads=2, head_dim=128, dynamic=True)
    yield Case(3, 131, heads=6, kv_heads=2, mask="causal(bottom_right)", scale=-0.125)
    yield Case(1, 200, batch=4, heads=4, kv_heads=2, kv_lengths=(200, 0, 64, 1), dynamic=True)
    yield Case(2, 130, heads=4, kv_heads=2, bias=True, softcap=5.0, gain=10.0)
    # Fewer value dims side by side than threads.
    yield Case(2, 130, heads=4, kv_heads=2, bias=True, softcap=5.0, gain=10.0, value_dim=80)


def elements():
    """Elements that are made f32 when they are read."""
    yield Case(129, 129, element="f16", mask="causal(top_left)", heads=4, kv_heads=2, value_dim=17)
    yield Case(1, 131, element="f16", heads=4, kv_heads=2, kv_lengths=(100, 0))


def lse():
    """The lse beside the context, of the kernel that computes it and of the one that merges."""
    for m, n in LENGTHS:
        yield Case(m, n, lse=True, mask="causal(bottom_right)", dynamic=True)
    yield Case(49, 130, lse=True, batch=3, kv_lengths=(130, 0, 64), sink=True, dynamic=True)
    yield Case(lse=True, heads=4, kv_heads=2, bias=True, softcap=5.0, gain=10.0, value_dim=17)
    yield Case(1, 300, lse=True, heads=6, kv_heads=2, sink=True, dynamic=True)
    yield Case(1, 200, lse=True, batch=4, heads=4, kv_heads=2, kv_lengths=(200, 0, 64, 1), dynamic=True)
    yield Case(3, 131, lse=True, heads=6, kv_heads=2, mask="causal(bottom_right)", scale=-0.125)
    yield Case(1, 131, element="f16", lse=True, heads=4, kv_heads=2, kv_lengths=(100, 0), sink=True)


def kinds():
    """Some of each, for the code of another device."""
    for m, n in ((70, 129), (2, 131)):
        yield Case(m, n, dynamic=True, mask="causal(bottom_right)", heads=4, kv_heads=2)
    yield Case(49, 130, dynamic=True, batch=3, kv_lengths=(130, 0, 64), head_dim=128)
    yield Case(1, 131, batch=2, heads=6, kv_heads=2, kv_lengths=(131, 0), bias=True, softcap=5.0, gain=10.0)
    yield Case(33, 60, mask_tensor=True, head_dim=80, value_dim=17)
    yield Case(gain=1e4, mask="window(3, 5)")
    yield Case(70, 129, element="f16")
    yield Case(2, 131, lse=True, sink=True, heads=4, kv_heads=2)


def short_elements():
    """Elements of 16 bits, which CUDA's tensor cores multiply."""
    short = {"element": "f16", "dynamic": True}
    for d in (16, 64, 80, 96, 128):
        for m, n in LENGTHS[::3] + [(33, 1)]:
            yield Case(m, n, head_dim=d, scale=d**-0.5, **short)
    for mask in ("causal(top_left)", "causal(bottom_right)", "window(3, 5)"):
        for m, n in LENGTHS[1:3]:
            yield Case(m, n, mask=mask, heads=4, kv_heads=2, lse=True, **short)
    yield Case(49, 129, batch=4, kv_lengths=(129, 0, 64, 1), lse=True, **short)
    yield Case(49, 129, documents=True, **short)
    yield Case(49, 129, mask_tensor=True, head_dim=128, value_dim=48, **short)
    yield Case(129, 49, bias=True, softcap=5.0, gain=10.0, mask="causal(top_left)", **short)
    yield Case(40, 16, nan_guard=True, element="f16")
    yield Case(gain=1e3, **short)


def short_decode():
    """Few rows of 16 bits on tensor cores: heads that share keys in a tile, keys in parts."""
    short = {"element": "f16", "dynamic": True}
    for heads, kv_heads in ((4, 4), (6, 2), (10, 1)):
        for n in (1, 64, 131, 300):
            yield Case(1, n, heads=heads, kv_heads=kv_heads, lse=True, **short)
    yield Case(1, 1000, batch=1, heads=32, kv_heads=8, head_dim=128, scale=0.09, **short)
    yield Case(3, 131, heads=6, kv_heads=2, mask="causal(bottom_right)", scale=-0.125, element="f16")
    yield Case(1, 200, batch=4, heads=4, kv_heads=2, kv_lengths=(200, 0, 64, 1), lse=True, **short)
    yield Case(2, 130, heads=4, kv_heads=2, bias=True, softcap=5.0, gain=10.0, value_dim=80, element="f16")
    yield Case(1, 300, heads=4, kv_heads=2, sink=True, lse=True, **short)
    yield Case(1, 131, heads=4, kv_heads=2, nan_guard=True, **short)
    yield Case(1, 131, heads=4, kv_heads=2, gain=1e3, lse=True, **short)
    # Two of the three heads of a group, 20 rows each.
    yield Case(20, 131, heads=6, kv_heads=1, mask="causal(bottom_right)", lse=True, element="f16")


PARTS = {part.__name__: part
         for part in (head_dims, masks, padded, seen, scores, groups, decode, elements, lse, kinds,
                      short_elements, short_decode)}


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in PARTS:
        sys.exit(__doc__ + "\nparts: " + " ".join(PARTS))
    sys.exit(not all([run(case) for case in sample(PARTS[sys.argv[1]]())]))
