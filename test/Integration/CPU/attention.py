"""Writes specs for many shapes, masks and spellings of attention, runs them
through attnc, and compares each with numpy.

usage: attention.py PART   (a name of PARTS below)
"""

import dataclasses
import os
import sys
import tempfile

import check
import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from sample import sample  # noqa: E402

# Lengths that are one, fewer than a tile, odd, and many tiles and a bit.
LENGTHS = [(1, 1), (7, 5), (49, 129), (129, 49), (1001, 1001)]


@dataclasses.dataclass
class Case:
    """One spec and the sizes it runs with."""

    q_len: int = 49
    kv_len: int = 129
    head_dim: int = 64
    value_dim: int = 0  # head_dim when 0
    batch: int = 2
    heads: int = 2
    kv_heads: int = 0  # heads when 0
    dynamic: bool = False  # batch and lengths are `?`
    scale: float = 0.125
    scale_on: str = "score"  # score, modify_score or prob
    gain: float = 1.0  # of the query: large scores
    bias: bool = False
    softcap: float = 0.0
    mask: str = ""  # the short form of attn.mask; "" for none
    mask_as: str = "mask"  # mask, region, select or bias
    kv_lengths: tuple = ()  # a value for each batch; masked values hold NaN
    documents: bool = False  # ids of queries and keys, some keys in no query's document
    mask_tensor: bool = False  # a mask of the caller's, with rows and batches that see nothing
    all_stages: bool = False  # score, masked score and prob are results too
    element: str = "f32"  # what every float tensor holds
    nan_guard: bool = False  # probs that are NaN become 0, and rows of the query are NaN
    sink: bool = False  # one for each head, of which one is far above all scores, one NaN
    lse: bool = False  # the lse is a result too

    def __post_init__(self):
        self.value_dim = self.value_dim or self.head_dim
        self.kv_heads = self.kv_heads or self.heads

    def label(self):
        changed = [f for f in dataclasses.fields(self) if f.name not in ("value_dim", "kv_heads")]
        words = [f"{f.name}={getattr(self, f.name)}" for f in changed if getattr(self, f.name) != f.default]
        if self.value_dim != self.head_dim:
            words.append(f"value_dim={self.value_dim}")
        if self.kv_heads != self.heads:
            words.append(f"kv_heads={self.kv_heads}")
        return "[" + " ".join(words) + "]"


# ---------------------------------------------------------------------------
# The spec
# ---------------------------------------------------------------------------

REGION = "^bb0(%x: f32, %batch: index, %head: index, %q: index, %k: index):"


def types(case):
    """The tensor types of a case by name."""
    b, m, n = ("?", "?", "?") if case.dynamic else (case.batch, case.q_len, case.kv_len)
    return {
        "query": f"tensor<{b}x{case.heads}x{m}x{case.head_dim}xf32>",
        "key": f"tensor<{b}x{case.kv_heads}x{n}x{case.head_dim}xf32>",
        "value": f"tensor<{b}x{case.kv_heads}x{n}x{case.value_dim}xf32>",
        "score": f"tensor<{b}x{case.heads}x{m}x{n}xf32>",
        "context": f"tensor<{b}x{case.heads}x{m}x{case.value_dim}xf32>",
        "bias": f"tensor<{case.heads}x{m}x{n}xf32>",
        "mask_bias": f"tensor<{m}x{n}xf32>",
        "kv_len": f"tensor<{b}xi32>",
        "query_ids": f"tensor<{b}x{m}xi32>",
        "key_ids": f"tensor<{b}x{n}xi32>",
        "mask": f"tensor<{b}x1x{m}x{n}xi1>",
        "sink": f"tensor<1x{case.heads}x1xf32>",
        "lse": f"tensor<{b}x{case.heads}x{m}xf32>",
    }


def modify(op, result, operand, body, type_):
    return [f"%{result} = attn.{op} %{operand} {{", REGION, *body, "attn.yield %r : f32", f"}} : {type_}"]


def visible(case):
    """Ops that compute %m, whether (q, k) takes part in the mask."""
    if case.mask == "causal(top_left)":
        return ["%m = arith.cmpi sle, %k, %q : index"]
    assert case.mask == "window(3, 5)", case.mask
    return [
        "%d = arith.subi %k, %q : index",
        "%lo = arith.constant -3 : index",
        "%hi = arith.constant 5 : index",
        "%ge = arith.cmpi sge, %d, %lo : index",
        "%le = arith.cmpi sle, %d, %hi : index",
        "%m = arith.andi %ge, %le : i1",
    ]


def write_mask(case, score, t):
    """Lines of the mask in the spelling of the case."""
    if case.mask_as == "mask":
        forms = case.mask
        if case.kv_lengths:
            forms += f" kv_lengths(%kv_len : {t['kv_len']})"
        if case.documents:
            forms += f" documents(%query_ids, %key_ids : {t['query_ids']}, {t['key_ids']})"
        if case.mask_tensor:
            forms += f" tensor(%mask : {t['mask']})"
        return [f"%masked = attn.mask %{score} {forms} : {t['score']}"]
    if case.mask_as == "region":
        head = "^bb0(%batch: index, %head: index, %q: index, %k: index):"
        return [f"%masked = attn.mask %{score} {{", head, *visible(case), "attn.yield %m : i1", f"}} : {t['score']}"]
    if case.mask_as == "select":
        body = visible(case) + ["%inf = arith.constant 0xFF800000 : f32",
                                "%r = arith.select %m, %x, %inf : f32"]
    else:
        body = [f"%b = tensor.extract %mask_bias[%q, %k] : {t['mask_bias']}", "%r = arith.addf %x, %b : f32"]
    return modify("modify_score", "masked", score, body, t["score"])


def has_mask(case):
    return bool(case.mask or case.kv_lengths or case.documents or case.mask_tensor)


def spec(case):
    """The text of the spec."""
    t = types(case)
    lines = []
    scale = f" scale({case.scale!r})" if case.scale_on == "score" else ""
    score = "score"
    lines.append(f"%score = attn.score %query, %key{scale} : {t['query']}, {t['key']} -> {t['score']}")
    if case.scale_on == "modify_score":
        lines += modify("modify_score", "scaled", score,
                        [f"%c = arith.constant {case.scale!r} : f32", "%r = arith.mulf %x, %c : f32"], t["score"])
        score = "scaled"
    if case.softcap:
        lines += modify("modify_score", "capped", score,
                        [f"%c = arith.constant {case.softcap!r} : f32", "%y = arith.divf %x, %c : f32",
                         "%z = math.tanh %y : f32", "%r = arith.mulf %z, %c : f32"], t["score"])
        score = "capped"
    if case.bias:
        lines += modify("modify_score", "biased", score,
                        [f"%b = tensor.extract %bias[%head, %q, %k] : {t['bias']}",
                         "%r = arith.addf %x, %b : f32"], t["score"])
        score = "biased"
    if has_mask(case):
        lines += write_mask(case, score, t)
        score = "masked"
    sink = f" sink(%sink : {t['sink']})" if case.sink else ""
    lines.append(f"%prob = attn.softmax %{score}{sink} : {t['score']}")
    if case.lse:
        lines.append(f"%lse = attn.lse %{score} : {t['score']} -> {t['lse']}")
    prob = "prob"
    if case.scale_on == "prob":
        lines += modify("modify_prob", "scaled", prob,
                        [f"%c = arith.constant {case.scale!r} : f32", "%r = arith.mulf %x, %c : f32"], t["score"])
        prob = "scaled"
    if case.nan_guard:
        lines += modify("modify_prob", "guarded", prob,
                        ["%nan = arith.cmpf uno, %x, %x : f32", "%zero = arith.constant 0.0 : f32",
                         "%r = arith.select %nan, %zero, %x : f32"], t["score"])
        prob = "guarded"
    lines.append(f"%context = attn.context %{prob}, %value : {t['score']}, {t['value']} -> {t['context']}")

    results = {"context": ("context", t["context"])}
    if case.all_stages:
        results |= {"score": ("score", t["score"]), "last_score": (score, t["score"]), "prob": (prob, t["score"])}
    if case.lse:
        results["lse"] = ("lse", t["lse"])
    arguments = ", ".join(f'%{n}: {t[n]} {{attn.name = "{n}"}}' for n in inputs(case))
    named = ", ".join(f'{type_} {{attn.name = "{n}"}}' for n, (_, type_) in results.items())
    values = ", ".join(f"%{v}" for v, _ in results.values()) + " : " + ", ".join(y for _, y in results.values())
    return f"func.func @attention({arguments}) -> ({named}) {{\n" + "\n".join(lines) + f"\nreturn {values}\n}}\n"


# ---------------------------------------------------------------------------
# The same in numpy
# ---------------------------------------------------------------------------


def visible_in_numpy(case):
    q, k = np.ogrid[: case.q_len, : case.kv_len]
    d = k - (q + case.kv_len - case.q_len)
    return {
        "": np.ones((case.q_len, case.kv_len), bool),
        "causal(top_left)": k <= q,
        "causal(bottom_right)": d <= 0,
        "window(3, 5)": (k - q >= -3) & (k - q <= 5),
        "window(20, 0, bottom_right)": (d >= -20) & (d <= 0),
        "block(40)": q // 40 == k // 40,
    }[case.mask]


def inputs(case):
    """Random inputs; values that no query may see hold NaN."""
    rng = np.random.default_rng(0)
    normal = lambda *shape: rng.standard_normal(shape, dtype=np.float32)
    arrays = {
        "query": normal(case.batch, case.heads, case.q_len, case.head_dim) * np.float32(case.gain),
        "key": normal(case.batch, case.kv_heads, case.kv_len, case.head_dim),
        "value": normal(case.batch, case.kv_heads, case.kv_len, case.value_dim),
    }
    if case.nan_guard:
        arrays["query"][..., ::3, :] = np.nan
    if case.bias:
        arrays["bias"] = normal(case.heads, case.q_len, case.kv_len)
    if case.mask_as == "bias":
        arrays["mask_bias"] = np.where(visible_in_numpy(case), 0, -np.inf).astype(np.float32)
    if case.kv_lengths:
        arrays["kv_len"] = np.array(case.kv_lengths, np.int32)
        for b, length in enumerate(case.kv_lengths):
            arrays["value"][b, :, max(length, 0):] = np.nan
    if case.documents:
        for name, length in (("query_ids", case.q_len), ("key_ids", case.kv_len)):
            arrays[name] = np.sort(rng.integers(0, 6, (case.batch, length), np.int32), axis=-1)
    if case.sink:
        arrays["sink"] = 3 * normal(1, case.heads, 1)
        arrays["sink"].flat[:2] = 200, np.nan
    if case.mask_tensor:
        arrays["mask"] = rng.random((case.batch, 1, case.q_len, case.kv_len)) < 0.2
        arrays["mask"][..., : case.q_len // 2, : case.kv_len // 3] = False
        arrays["mask"][0, :, : case.q_len // 3] = False
        arrays["mask"][-1, ..., case.kv_len // 2 :] = False
        for value, unseen in zip(arrays["value"], ~arrays["mask"].any((1, 2))):
            value[:, unseen] = np.nan
    return check.as_type(arrays, {"f16": np.float16, "f32": np.float32, "f64": np.float64}[case.element])


def softmax_beside(sink, score):
    """One more score that has no value; nothing of it comes to a masked key."""
    column = np.broadcast_to(sink[..., None].astype(score.dtype), (*score.shape[:-1], 1))
    prob = check.softmax(np.concatenate([score, column], axis=-1))[..., :-1]
    return np.where(score == -np.inf, 0, prob).astype(score.dtype)


def outputs(case, query, key, value, bias=None, mask_bias=None, kv_len=None, query_ids=None,
            key_ids=None, mask=None, sink=None):
    score = check.score(query, key)
    results = {}
    if case.scale_on == "score":
        score = score * case.scale
    last = score
    if case.scale_on == "modify_score":
        last = last * case.scale
    if case.softcap:
        last = case.softcap * np.tanh(last / case.softcap)
    if bias is not None:
        last = last + bias
    seen = visible_in_numpy(case)
    if kv_len is not None:
        seen = seen & (np.arange(case.kv_len) < kv_len[:, None, None, None])
    if query_ids is not None:
        seen = seen & (query_ids[:, None, :, None] == key_ids[:, None, None, :])
    if mask is not None:
        seen = seen & mask
    if has_mask(case):
        last = np.where(seen, last, -np.inf).astype(last.dtype)
    prob = check.softmax(last) if sink is None else softmax_beside(sink, last)
    if case.scale_on == "prob":
        prob = prob * case.scale
    if case.nan_guard:
        prob = np.nan_to_num(prob, nan=0.0)
    results["context"] = check.context(prob, value)
    if case.all_stages:
        results |= {"score": score, "last_score": last, "prob": prob}
    if case.lse:
        results["lse"] = check.log_sum_exp(last)
    return results


# ---------------------------------------------------------------------------
# The cases
# ---------------------------------------------------------------------------


def static_lengths():
    for heads, (m, n) in zip((1, 2, 3, 4, 1), LENGTHS):
        yield Case(m, n, heads=heads, batch=1)


def dynamic_lengths():
    for heads in (1, 4):
        for m, n in LENGTHS:
            yield Case(m, n, heads=heads, dynamic=True)


def head_dims():
    for d in (1, 17, 31, 80, 128, 256):
        yield Case(head_dim=d, scale=d**-0.5)


def value_dims():
    for d, v in ((64, 17), (17, 64), (80, 1), (1, 128), (128, 96)):
        yield Case(head_dim=d, value_dim=v, dynamic=True)


def causal():
    for mask in ("causal(top_left)", "causal(bottom_right)"):
        for m, n in LENGTHS:
            yield Case(m, n, mask=mask, dynamic=True)
        yield Case(129, 129, mask=mask, head_dim=80)
        yield Case(7, 5, mask=mask, head_dim=17)
        yield Case(49, 7, mask=mask)


def windows():
    for m, n in LENGTHS:
        yield Case(m, n, mask="window(3, 5)", dynamic=True)
    yield Case(mask="window(3, 5)")


def padded():
    for m, n in LENGTHS:
        yield Case(m, n, batch=4, kv_lengths=(n, 0, (n + 1) // 2, 1), dynamic=True)
    yield Case(batch=3, kv_lengths=(128, 0, 65), head_dim=31)
    yield Case(129, 129, batch=3, kv_lengths=(129, 0, 64), mask="causal(top_left)")
    yield Case(7, 129, batch=2, kv_lengths=(200, -1), mask="causal(bottom_right)", dynamic=True)


def searched():
    """Masks whose bounds are found by a look at them."""
    for m, n in LENGTHS:
        yield Case(m, n, documents=True, dynamic=True)
        yield Case(m, n, mask_tensor=True, dynamic=True)
        yield Case(m, n, mask="block(40)", dynamic=True)
    yield Case(129, 129, documents=True, mask="causal(top_left)")
    yield Case(1001, 1001, mask_tensor=True, batch=3, kv_lengths=(1001, 0, 130))
    yield Case(mask_tensor=True, bias=True)
    yield Case(1, 129, heads=4, kv_heads=2, mask_tensor=True)
    # The second look at values that are not finite has to see the very same scores.
    yield Case(1, 129, gain=1e10, mask_tensor=True)
    yield Case(3, 70, gain=1e10, head_dim=192, mask_tensor=True, dynamic=True)


def scores():
    for dynamic in (False, True):
        yield Case(bias=True, dynamic=dynamic)
        yield Case(softcap=5.0, gain=10.0, dynamic=dynamic)
    yield Case(129, 129, bias=True, softcap=5.0, mask="causal(top_left)", dynamic=True)
    yield Case(bias=True, kv_lengths=(100, 0), head_dim=80)
    yield Case(gain=1e4)
    yield Case(gain=1e3, head_dim=192, value_dim=16, bias=True)
    yield Case(129, 129, gain=1e4, mask="causal(top_left)", dynamic=True)


def nan_guards():
    yield Case(nan_guard=True)
    yield Case(129, 129, nan_guard=True, scale_on="prob", mask="causal(top_left)", dynamic=True)
    yield Case(1, 131, nan_guard=True, heads=4, kv_heads=2, dynamic=True)
    yield Case(nan_guard=True, all_stages=True)


def groups():
    for heads, kv_heads in ((4, 2), (4, 1)):
        yield Case(heads=heads, kv_heads=kv_heads)
        yield Case(129, 129, heads=heads, kv_heads=kv_heads, mask="causal(top_left)", dynamic=True)
    yield Case(heads=4, kv_heads=2, value_dim=17, kv_lengths=(77, 0))


def many_heads():
    """Few rows of so many heads that share keys that they fill vectors."""
    yield Case(1, 131, heads=32, kv_heads=2, mask="causal(bottom_right)", dynamic=True)
    yield Case(2, 3100, heads=32, kv_heads=1, mask_tensor=True, gain=1e10)
    yield Case(1, 2500, heads=48, kv_heads=1, sink=True, lse=True, dynamic=True)
    yield Case(3, 200, heads=16, kv_heads=1, mask_tensor=True, lse=True)
    yield Case(5, 2200, heads=16, kv_heads=1, kv_lengths=(2200, 0), dynamic=True)
    yield Case(4, 65, heads=64, kv_heads=1, mask="window(3, 5)", value_dim=17)
    yield Case(2, 70, heads=16, kv_heads=1, head_dim=30, bias=True, softcap=5.0)
    yield Case(7, 2100, heads=16, kv_heads=1, documents=True, dynamic=True)
    yield Case(3, 131, heads=16, kv_heads=1, head_dim=144, nan_guard=True)
    yield Case(2, 1131, heads=16, kv_heads=1, element="f16", kv_lengths=(100, 0), dynamic=True)


def decode():
    """Few rows: heads that share keys and values are one tile."""
    for heads, kv_heads in ((4, 4), (6, 2), (8, 1), (10, 1)):
        yield Case(1, 131, heads=heads, kv_heads=kv_heads, dynamic=True)
        yield Case(3, 131, heads=heads, kv_heads=kv_heads, mask="causal(bottom_right)", scale=-0.125)
    yield Case(1, 1, heads=4, kv_heads=2)
    yield Case(2, 130, heads=4, kv_heads=2, bias=True, softcap=5.0, gain=10.0, value_dim=80)
    yield Case(1, 200, batch=4, heads=4, kv_heads=2, kv_lengths=(200, 0, 64, 1), dynamic=True)
    yield Case(4, 65, heads=6, kv_heads=2, scale_on="prob", value_dim=17, mask="window(3, 5)")
    yield Case(1, 129, gain=1e4, head_dim=128, dynamic=True)
    # Keys in parts: the last one shorter, some without keys, of hidden ones, or of no weight.
    yield Case(1, 2500, heads=4, kv_heads=2, dynamic=True)
    yield Case(1, 3000, batch=3, heads=2, kv_lengths=(3000, 0, 1100), dynamic=True)
    yield Case(3, 4100, heads=2, mask="causal(bottom_right)", value_dim=17, gain=30.0)
    yield Case(2, 3100, heads=2, kv_heads=1, mask_tensor=True, gain=1e10)


def variants():
    """Around the q_lens where a call goes over to another kernel."""
    for q_len in (2, 16, 17, 32, 33, 128, 129):
        yield Case(q_len, 70, dynamic=True, batch=1)


def spellings():
    for mask_as in ("region", "select", "bias"):
        yield Case(129, 129, mask="causal(top_left)", mask_as=mask_as, dynamic=True)
        yield Case(49, 49, mask="window(3, 5)", mask_as=mask_as)
    yield Case(scale_on="modify_score")
    yield Case(scale_on="prob")
    yield Case(129, 129, scale_on="prob", mask="causal(top_left)", bias=True, dynamic=True)


def elements():
    for element in ("f16", "f64"):
        yield Case(element=element, dynamic=True, head_dim=80, bias=True, softcap=5.0)
        yield Case(129, 129, element=element, mask="causal(top_left)", heads=4, kv_heads=2, value_dim=17)
        yield Case(1, 131, element=element, heads=4, kv_heads=2, kv_lengths=(100, 0), dynamic=True)
        yield Case(element=element, all_stages=True, scale_on="prob", mask_tensor=True)


def lse():
    """The lse beside the context, of each kernel and mask."""
    for m, n in LENGTHS:
        yield Case(m, n, lse=True, mask="causal(bottom_right)", sink=True, dynamic=True)
    yield Case(lse=True, head_dim=80, value_dim=17, scale=-0.125)
    yield Case(129, 129, lse=True, mask="causal(top_left)", bias=True, softcap=5.0, gain=10.0)
    yield Case(129, 129, lse=True, mask="window(3, 5)", sink=True)
    yield Case(lse=True, batch=3, kv_lengths=(128, 0, 65), sink=True, dynamic=True)
    yield Case(lse=True, documents=True, heads=4, kv_heads=2, scale_on="prob", dynamic=True)
    yield Case(1001, 1001, lse=True, mask_tensor=True, batch=3, kv_lengths=(1001, 0, 130))
    yield Case(129, 129, lse=True, gain=1e4, mask="causal(top_left)", dynamic=True)
    yield Case(lse=True, nan_guard=True, sink=True)
    yield Case(lse=True, all_stages=True)
    # Few rows, and keys in splits.
    yield Case(1, 131, lse=True, heads=6, kv_heads=2, sink=True)
    yield Case(3, 131, lse=True, heads=6, kv_heads=2, mask="causal(bottom_right)", scale=-0.125)
    yield Case(1, 200, lse=True, batch=4, heads=4, kv_heads=2, kv_lengths=(200, 0, 64, 1), dynamic=True)
    yield Case(1, 2500, lse=True, heads=4, kv_heads=2, sink=True, dynamic=True)
    yield Case(1, 3000, lse=True, batch=3, heads=2, kv_lengths=(3000, 0, 1100), sink=True, dynamic=True)
    yield Case(3, 4100, lse=True, heads=2, mask="causal(bottom_right)", value_dim=17, gain=30.0)
    yield Case(2, 3100, lse=True, heads=2, kv_heads=1, mask_tensor=True, gain=1e10)
    for element in ("f16", "f64"):
        yield Case(element=element, lse=True, dynamic=True, head_dim=80, bias=True, softcap=5.0)
        yield Case(1, 131, element=element, lse=True, heads=4, kv_heads=2, kv_lengths=(100, 0), sink=True)


def unfused():
    yield Case(all_stages=True)
    yield Case(all_stages=True, dynamic=True, heads=4, kv_heads=2, value_dim=17)
    yield Case(all_stages=True, batch=3, kv_lengths=(128, 0, 65), bias=True, dynamic=True)
    yield Case(129, 129, all_stages=True, mask="causal(top_left)", scale_on="prob", softcap=5.0)
    yield Case(7, 5, all_stages=True, head_dim=1, mask="causal(bottom_right)")


PARTS = {part.__name__: part for part in (
    static_lengths, dynamic_lengths, head_dims, value_dims, causal, windows, padded, searched, scores,
    nan_guards, groups, many_heads, decode, variants, spellings, elements, lse, unfused)}


def run(case):
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "spec.mlir")
        text = spec(case).replace("f32", case.element)
        with open(path, "w") as file:
            file.write(text)
        good = check.check(case.label(), path, inputs(case), lambda **arrays: outputs(case, **arrays))
    if not good:
        print(text)
    return good


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in PARTS:
        sys.exit(__doc__ + "\nparts: " + " ".join(PARTS))
    sys.exit(not all([run(case) for case in sample(PARTS[sys.argv[1]]())]))
